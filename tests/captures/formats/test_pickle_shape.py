"""What the C unpickler is given: torch's snapshots, and nothing that looks up, calls or hangs."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.captures.formats import pickle_shape
from harness.captures.formats.compressed import blocks
from tests.support.hostile_pickles import DAMAGED, running
from tests.support.snapshots import PICKLES

scalars = st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 62) | st.floats() | st.text()
keys = st.text() | st.integers() | st.tuples(st.integers(0, 9), st.integers(0, 9)) | st.none()
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner),
)
pool = st.tuples(st.integers(0, 255), st.integers(0, 255))
frame = st.fixed_dictionaries(
    {"filename": st.text(), "line": st.integers(0, 99_999), "name": st.text()}
)
FRAMES = [{"filename": "a.py", "line": 1, "name": "f"}, {"filename": "b", "line": 2, "name": "g"}]
stacks = st.lists(frame | st.sampled_from(FRAMES), max_size=4)
number = st.integers(-(1 << 31), (1 << 63) - 1)
event = st.fixed_dictionaries(
    {"action": st.sampled_from(["alloc", "snapshot"]), "addr": number, "frames": stacks},
    optional={"size": number, "pool": pool, "on": st.booleans(), "note": st.none()},
)
segment = st.fixed_dictionaries(
    {"segment_pool_id": pool, "blocks": st.lists(event), "frames": stacks}
)
snapshots = st.fixed_dictionaries(
    {"segments": st.lists(segment), "device_traces": st.lists(st.lists(event))}
)


def program(data: bytes) -> bytes:
    unframed = pickle_shape.without_frames(data)
    assert unframed is not None
    return unframed


def keys_of(data: Any, seen: set[int]) -> list[Any]:
    """Return the keys of all mappings in data that may share parts and hold itself."""
    if id(data) in seen or not isinstance(data, dict | list | tuple):
        return []
    seen.add(id(data))
    inner = list(data.values()) if isinstance(data, dict) else list(data)
    found = list(data) if isinstance(data, dict) else []
    return found + [key for part in inner for key in keys_of(part, seen)]


@given(data=snapshots, protocol=st.integers(4, 5))
def test_snapshots_fit_and_are_what_pickle_reads(data: Any, protocol: int) -> None:
    made = program(pickle.dumps(data, protocol))
    assert pickle_shape.fits(made)
    assert pickle_shape.load(made) == data


@pytest.mark.parametrize("path", PICKLES, ids=lambda path: path.name)
def test_the_snapshots_of_torch_fit(path: Any) -> None:
    data = b"".join(blocks(path, 1 << 20))
    assert pickle_shape.fits(program(data))
    assert pickle_shape.load(program(data)) == pickle.loads(data)  # noqa: S301 - of these tests


def test_long_lists_and_large_files_fit() -> None:
    data = {"device_traces": [[{"n": n, "frames": [FRAMES[n % 2]] * 30} for n in range(5001)]]}
    made = program(pickle.dumps(data))
    assert pickle_shape.fits(made)
    assert pickle_shape.load(made) == data


@given(data=anything)
def test_in_what_fits_no_number_is_a_key(data: Any) -> None:
    made = program(pickle.dumps(data, 4))
    if pickle_shape.fits(made):
        assert all(isinstance(key, str) for key in keys_of(pickle_shape.load(made), set()))


@given(data=snapshots, changes=st.lists(st.tuples(st.integers(0), st.binary(max_size=6))))
def test_in_what_was_tampered_with_and_fits_no_number_is_a_key(
    data: Any, changes: list[tuple[int, bytes]]
) -> None:
    made = bytearray(program(pickle.dumps(data, 4)))
    for place, patch in changes:
        place %= len(made)
        made[place : place + len(patch)] = patch
    if not pickle_shape.fits(bytes(made)):
        return
    try:
        found = pickle_shape.load(bytes(made))
    except (pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError):
        return
    pairs = (str, tuple)  # of numbers below 256
    assert all(isinstance(key, pairs) for key in keys_of(found, set()))


def test_what_would_run_code_does_not_fit() -> None:
    for how, data in running("/nonexistent/ran").items():
        for prefix in (b"", b"\x80\x04"):
            unframed = pickle_shape.without_frames(prefix + data)
            assert unframed is None or not pickle_shape.fits(unframed), how


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_what_hangs_or_fills_memory_does_not_fit(data: bytes) -> None:
    tail = data.removeprefix(b"\x80\x02").removeprefix(b"\x80\x04")
    if pickle_shape.fits(tail):
        with pytest.raises((pickle.UnpicklingError, TypeError, IndexError, EOFError, KeyError)):
            pickle_shape.load(tail)


def test_memory_is_not_taken_by_an_index() -> None:
    assert not pickle_shape.fits(b"Nr\xff\xff\xff\x7f.")
