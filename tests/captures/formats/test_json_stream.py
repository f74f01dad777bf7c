"""Pieces of a list are what the plain json module reads, wherever blocks and pieces end."""

import itertools
import json
import random
import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.captures.formats import json_stream
from harness.captures.formats.json_stream import ListDecoder, Piece, pieces
from harness.ground.errors import CaptureError

Object = dict[str, Any]
EVENTS = [{"name": "a},{b", "args": {"grid": [1, 2]}}, {"s": '"\\"'}, {"l": [{}, {"x": [{}, {}]}]}]
TEXT = json.dumps({"head": {"events": [{"no": 1}]}, "events": EVENTS, "tail": [{}, {}]}).encode()


def stream(text: bytes, block: int = json_stream.BLOCK) -> list[Piece[Object]]:
    """Read the list at "events", given in blocks of ``block`` bytes; only objects fit."""

    def blocks() -> Iterator[bytes]:
        for start in range(0, len(text), block):
            yield text[start : start + block]

    decoder: ListDecoder[Object] = ListDecoder(Object, lambda _: None)
    with patch.object(json_stream, "BLOCK", block):
        return list(pieces(blocks(), "events", decoder))


def read(text: bytes, block: int = json_stream.BLOCK) -> list[Object]:
    return [item for piece in stream(text, block) for item in piece.items]


def plain(text: bytes) -> list[Object]:
    """The same by the json module; ValueError for what RFC 8259 does not allow."""

    def no_constant(name: str) -> None:
        raise ValueError(name)

    found = json.loads(text.decode(), parse_constant=no_constant)
    events = found if isinstance(found, list) else found["events"]
    if not isinstance(events, list):
        raise TypeError
    return [event for event in events if isinstance(event, dict)]


fragments = st.sampled_from(
    ["},{", "}, {", '"', "\\", '\\"', "[", "]", "{", "}", ",", '"events": [', "\n", "é", "😀", "x"]
)
texts = st.lists(fragments, max_size=6).map("".join)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=5)
others = st.dictionaries(texts.filter(lambda key: key != "events"), values, max_size=3)
blanks = st.text(" \t\r\n", max_size=3)


@given(
    events=st.lists(objects | values, max_size=8),
    before=others,
    after=others,
    root_is_list=st.booleans(),
    indent=st.none() | st.sampled_from([0, 2, "\t"]),
    separators=st.tuples(
        st.tuples(blanks, blanks).map(",".join), st.tuples(blanks, blanks).map(":".join)
    ),
    ascii_only=st.booleans(),
    block=st.integers(1, 200),
)
@settings(max_examples=150, deadline=None)
def test_any_json_is_read_as_the_json_module_reads_it(
    events: Any,
    before: Any,
    after: Any,
    root_is_list: Any,
    indent: Any,
    separators: Any,
    ascii_only: Any,
    block: int,
) -> None:
    document = events if root_is_list else {**before, "events": events, **after}
    dumped = json.dumps(document, indent=indent, separators=separators, ensure_ascii=ascii_only)
    text = dumped.encode()
    assert read(text, block) == plain(text)


@pytest.mark.parametrize("block", [1, 7, 64, 10_000])
def test_each_value_is_found_at_its_offset(block: int) -> None:
    found = [place for piece in stream(TEXT, block) for place in piece.values()]
    assert [json.loads(text) for _, text in found] == EVENTS
    for offset, text in found:
        assert TEXT[offset : offset + len(text)] == text


def test_a_piece_is_about_a_block_long_however_long_the_list() -> None:
    event = b'{"name": "%d", "nested": [{"a": 1}, {"a": 2}]},' % 7
    text = b'{"events": [' + event * 20_000 + b"{}]}"
    sizes = [len(piece.text) for piece in stream(text, 10_000)]
    assert sum(sizes) >= len(text) - 100
    assert max(sizes) <= 2 * 10_000


def test_a_text_cut_anywhere_is_refused() -> None:
    for end in range(len(TEXT)):
        with pytest.raises(CaptureError):
            read(TEXT[:end], 16)


def test_changed_bytes_are_read_as_the_json_module_reads_them_or_refused() -> None:
    chance = random.Random(7)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(4000):
        text = bytearray(TEXT)
        for _ in range(chance.randint(1, 2)):
            text[chance.randrange(len(text))] = chance.choice(b'{}[],:"\\ 0e-\n\x00\xffu')
        try:
            expected = plain(bytes(text))
        except (ValueError, KeyError, TypeError):
            with pytest.raises(CaptureError):
                read(bytes(text), chance.choice([3, 50, 1000]))
            outcomes["refused"] += 1
        else:
            assert read(bytes(text), chance.choice([3, 50, 1000])) == expected
            outcomes["read"] += 1
    assert min(outcomes.values()) > 100


FAULTS = {  # the fault stands after the ~
    "unquoted key": b'{"a": 1, ~b: 2}',
    "control character": b'{"a": "x~\x01y"}',
    "line feed in a string": b'{"a": "x~\ny"}',
    "backslash": b'{"a": "C:\\~path"}',
    "unescaped quotes": b'{"a": "f "~oo" bar"}',
    "invalid UTF-8": b'{"a": "~\xff"}',
    "NaN": b'{"a": ~NaN}',
    "no comma": b'{"a": 1 ~"b": 2}',
    "leading zero": b'{"a": 0~1}',
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("block", [20, 300, 100_000])
def test_a_fault_is_told_with_its_offset(fault: Any, block: int) -> None:
    good = b'{"name": "k", "args": {"l": [{}, {}]}},\n' * 100
    text = b'{"events": [' + good + fault + b",\n" + good + b"{}]}"
    offset = text.index(b"~")
    with pytest.raises(CaptureError) as error:
        read(text.replace(b"~", b""), block)
    told = re.match(r"byte (\d+): (not valid JSON: \w+|invalid UTF-8)", str(error.value))
    assert told is not None
    assert abs(int(told[1]) - offset) <= 2


NOT_A_LIST = {
    "empty": b"",
    "blank": b"  \n",
    "a number": b"17",
    "a string": b'"events"',
    "UTF-16": "[]".encode("utf-16"),
    "no such key": b'{"other": [{}]}',
    "the key inside": b'{"other": {"events": [{}]}}',
    "null": b'{"events": null}',
    "an object": b'{"events": {"a": {}}}',
    "twice": b'{"events": [{}], "events": []}',
    "trailing comma": b"[{},]",
    "leading comma": b"[,{}]",
    "two texts": b"[{}] [{}]",
    "trailing garbage": b'{"events": [{}]} x',
    "fault before": b'{"a": tru, "events": [{}]}',
    "fault after": b'{"events": [{}], "a": 1.}',
    "wrong bracket": b'{"events": [{}}}',
    "lone surrogate": b'[{"a": "\\ud800"}]',
    "deep": b'[{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}]",
    "deep before": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b', "events": [{}]}',
    "deep and open": b"[" * 100_000,
    "invalid UTF-8 before": b'{"a": "\xff", "events": [{}]}',
}


@pytest.mark.parametrize("text", NOT_A_LIST.values(), ids=NOT_A_LIST)
@pytest.mark.parametrize("block", [5, 1 << 20])
def test_what_is_no_such_list_is_refused_in_one_line(text: bytes, block: int) -> None:
    if block < len(text) // 100:
        block = len(text) // 100
    with pytest.raises(CaptureError) as error:
        read(text, block)
    assert "\n" not in str(error.value)


TOLD = {  # of NOT_A_LIST
    "empty": "byte 0: the JSON ends early",
    "blank": "byte 3: the JSON ends early",
    "a number": "byte 0: neither a JSON object nor a list",
    "UTF-16": "byte 0: neither a JSON object nor a list",
    "the key inside": "JSON without 'events'",
    "null": "byte 11: 'events' is not a list",
    "an object": "byte 11: 'events' is not a list",
    "twice": "'events' is there twice",
    "two texts": "byte 6: not valid JSON: trailing characters",
    "fault before": "byte 7: not valid JSON: invalid character",
    "fault after": "byte 24: not valid JSON: invalid number",
    "wrong bracket": "byte 14: not valid JSON: expected ',' or ']'",
    "deep": "byte 1: JSON nested too deeply",
    "deep before": "byte 1005: JSON nested too deeply",
    "invalid UTF-8 before": "byte 7: invalid UTF-8",
}


@pytest.mark.parametrize(("what", "told"), TOLD.items(), ids=TOLD)
def test_what_is_no_such_list_is_told_with_its_offset(what: str, told: str) -> None:
    with pytest.raises(CaptureError) as error:
        read(NOT_A_LIST[what], 1 << 12)
    assert str(error.value) == told


@pytest.mark.parametrize(
    "text",
    [
        b'{"events": [{"a": "' + b"x" * 9000 + b'"}]}',
        b'{"events": [{"a": [' + b"{}, " * 3000 + b"{}]}]}",
        b'{"events": [{}' + b" " * 9000 + b"]}",
        b'{"head": "' + b"x" * 9000 + b'", "events": [{}]}',
        b'{"events": [{}], "tail": "' + b"x" * 9000 + b'"}',
    ],
)
def test_no_value_may_be_longer_than_the_limit(text: bytes) -> None:
    with patch.object(json_stream, "LIMIT", 8000), pytest.raises(CaptureError, match="no end"):
        read(text, 500)
    assert read(text, 500) == plain(text)


def test_an_endless_text_is_given_up_at_the_limit() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        yield b"["
        for _ in itertools.count():
            taken += 1
            yield b" " * 1000

    decoder: ListDecoder[Object] = ListDecoder(Object, lambda _: None)
    with patch.object(json_stream, "LIMIT", 50_000), pytest.raises(CaptureError):
        list(pieces(endless(), "events", decoder))
    assert taken < 100


def test_a_byte_order_mark_is_skipped() -> None:
    assert read(b"\xef\xbb\xbf" + TEXT) == EVENTS
