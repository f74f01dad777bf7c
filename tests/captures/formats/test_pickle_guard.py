"""Pickles as data: what plain ones hold, against pickle itself; hostile ones refused unrun."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.captures import sniff
from harness.captures.formats import pickle_guard
from harness.errors import CaptureError
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
    with sniff.opened(GRAPH) as path:
        data = path.read_bytes()
    assert pickle_guard.load(data, HERE) == pickle.loads(data)  # noqa: S301 - recorded for these tests


def test_shared_parts_stay_shared() -> None:
    part = [1]
    found = pickle_guard.load(pickle.dumps([part, part]), HERE)
    assert found[0] is found[1]


class Runs:
    """An object whose unpickling would do as ``__reduce__`` says."""

    def __init__(self, *code: Any) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return self.code


class Holder:
    """An object with state."""

    state: Any


def running(sentinel: str) -> dict[str, bytes]:
    """Pickles that make ``sentinel`` in one of the ways there are."""
    touch = Runs(open, (sentinel, "w"))
    name = sentinel.encode()
    text = b"X" + len(name).to_bytes(4, "little") + name
    holder = Holder()
    holder.state = touch
    made = {f"REDUCE by protocol {n}": pickle.dumps(touch, n) for n in range(6)}
    made |= {
        "REDUCE within a snapshot": pickle.dumps({"segments": [touch]}),
        "REDUCE as a key": pickle.dumps({(1, touch): 1}, 2),
        "BUILD of an object": pickle.dumps(holder),
        "two pickles": pickle.dumps({}) + pickle.dumps(touch),
        "GLOBAL": b"\x80\x02cbuiltins\nopen\n" + text + b"X\x01\x00\x00\x00w\x86R.",
        "INST": b"(S'" + name + b"'\nS'w'\nibuiltins\nopen\n.",
        "OBJ": b"\x80\x02(cbuiltins\nopen\n" + text + b"X\x01\x00\x00\x00wo.",
        "NEWOBJ": b"\x80\x02cio\nFileIO\n" + text + b"X\x01\x00\x00\x00w\x86\x81.",
        "STACK_GLOBAL": b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93" + text + b"\x85R.",
        "os.system": b"cos\nsystem\n(S'touch " + name + b"'\ntR.",
        "codecs": b"\x80\x02c_codecs\nencode\n" + text + b"X\x06\x00\x00\x00latin1\x86R.",
    }
    return made


# Tuples of tuples that share their parts: 2⁶⁰ of them for whoever hashes the outermost.
SHARED = b")q\x00" + b"".join(b"h%ch%c\x86q%c" % (n, n, n + 1) for n in range(60))

DAMAGED = {
    "EXT1": b"\x80\x02\x82\x01.",
    "PERSID": b"Ptouch\n.",
    "BINPERSID": b"\x80\x02NQ.",
    "NEXT_BUFFER": b"\x80\x05\x97.",
    "BUILD": b"\x80\x04}}b.",
    "a key that takes for ever to hash": b"\x80\x02}" + SHARED + b"Ns.",
    "a key that is no text": b"\x80\x02}K\x01Ns.",
    "a key without a value": b"\x80\x02}(X\x01\x00\x00\x00au.",
    "text of 2⁶³ bytes": b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "text of 4 GB": b"\x80\x02X\xff\xff\xff\xffabc.",
    "a number of 2 GB": b"\x80\x02\x8b\xff\xff\xff\x7f.",
    "bad UTF-8": b"\x80\x04X\x02\x00\x00\x00\xff\xfe.",
    "marks without end": b"\x80\x04" + b"(" * 1000,
    "no stop": b"\x80\x04N",
    "an empty stack": b"\x80\x04.",
    "two values": b"\x80\x04NN.",
    "no mark": b"\x80\x04]e.",
    "a tuple of nothing": b"\x80\x04\x86.",
    "an item for no list": b"\x80\x04NNa.",
    "a memo never written": b"\x80\x04h\x07.",
    "nothing": b"",
    "no pickle": b"{}",
}


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
