"""Pickles as data: what plain ones hold, against pickle itself; hostile ones refused unrun."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.captures.formats import pickle_guard
from harness.captures.formats.compressed import blocks
from harness.ground.errors import CaptureError
from tests.support.hostile_pickles import DAMAGED, running
from tests.support.paths import DATA

HERE = Path("snapshot.pickle")
GRAPH = DATA / "memory/graph.pickle.zst"

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
plain = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner)
        | st.tuples(inner, inner, inner, inner)
    ),
)


@given(data=plain, protocol=st.integers(2, 5))
def test_plain_data_comes_through_as_pickle_wrote_it(data: Any, protocol: int) -> None:
    assert pickle_guard.load(pickle.dumps(data, protocol), HERE) == data


def test_a_real_snapshot_is_what_pickle_reads() -> None:
    data = b"".join(blocks(GRAPH, 1 << 20))
    assert pickle_guard.load(data, HERE) == pickle.loads(data)  # noqa: S301 - recorded for these tests


def test_shared_parts_stay_shared() -> None:
    part = [1]
    found = pickle_guard.load(pickle.dumps([part, part]), HERE)
    assert found[0] is found[1]


def test_what_would_run_code_is_refused_and_does_not_run(tmp_path: Path) -> None:
    sentinel = tmp_path / "ran"
    for how, data in running(str(sentinel)).items():
        with pytest.raises(CaptureError, match=r"plain data|pickle.s end"):
            pickle_guard.load(data, HERE)
        assert not sentinel.exists(), how


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_refused(data: bytes) -> None:
    with pytest.raises(CaptureError, match=r"^snapshot\.pickle: "):
        pickle_guard.load(data, HERE)


def test_every_cut_is_refused() -> None:
    whole = pickle.dumps({"segments": [{"a": 1, "b": (2, 3.5)}] * 3, "é": b"raw"}, 4)
    for length in range(len(whole)):
        with pytest.raises(CaptureError):
            pickle_guard.load(whole[:length], HERE)


def test_a_huge_memo_index_takes_no_memory() -> None:
    assert pickle_guard.load(b"\x80\x02Nr\xff\xff\xff\x7f.", HERE) is None


def test_depth_and_cycles_are_no_danger() -> None:
    deep = pickle_guard.load(b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b".", HERE)
    assert len(deep) == 1
    cycle = pickle_guard.load(b"\x80\x02]q\x00h\x00a.", HERE)
    assert cycle[0] is cycle


def test_a_program_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_guard, "_MOST_OPERATIONS", 100)
    with pytest.raises(CaptureError, match="more than 100 operations"):
        pickle_guard.load(b"\x80\x02" + b"N" * 200 + b".", HERE)


def test_an_escape_that_python_no_longer_knows_is_no_warning() -> None:
    with pytest.raises(CaptureError, match="more than plain data"):
        pickle_guard.load(b"S'\\('\n.", HERE)


@pytest.mark.parametrize("content", [b"}Na.", b"h\x07.", b"\x85."])
def test_parts_that_do_not_fit_are_told_in_words(content: bytes) -> None:
    with pytest.raises(CaptureError, match=r"a damaged pickle: its parts do not fit$"):
        pickle_guard.load(b"\x80\x02" + content, HERE)
