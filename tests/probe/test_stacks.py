"""Stacks that are written once."""

from harness.probe.stacks import Stacks

PYTHON = {"filename": "/a/b.py", "line": 3, "name": "f"}
OTHER = PYTHON | {"line": 4}
NATIVE = {"filename": "alloc.cpp", "line": 0, "name": "malloc"}


def test_a_stack_is_kept_once_however_often_it_is_named() -> None:
    stacks = Stacks()
    records = [
        {"size": 1, "frames": [NATIVE, PYTHON]},
        {"size": 2, "frames": [OTHER]},
        {"size": 3, "frames": [PYTHON]},
    ]
    assert [stacks.shared(record, record) for record in records] == [
        {"size": 1, "stack": 0},
        {"size": 2, "stack": 1},
        {"size": 3, "stack": 0},
    ]
    assert stacks.all == [[PYTHON], [OTHER]]


def test_only_what_is_asked_for_is_kept_and_long_stacks_are_cut() -> None:
    stacks = Stacks()
    deep = [PYTHON | {"line": line} for line in range(40)]
    assert stacks.shared({"size": 1, "gone": 2, "frames": deep}, ("size", "absent")) == {
        "size": 1,
        "stack": 0,
    }
    assert stacks.all == [deep[:12]]


def test_without_a_python_frame_there_is_no_stack() -> None:
    stacks = Stacks()
    for record in ({"size": 1}, {"size": 1, "frames": []}, {"size": 1, "frames": [NATIVE]}):
        assert stacks.shared(record, record) == {"size": 1}
    assert stacks.all == []
