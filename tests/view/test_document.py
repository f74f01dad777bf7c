"""The document of a page: numbers packed without loss, texts that cannot become markup."""

import base64
import json
import re
import zlib
from array import array
from typing import Any

import pytest

from harness.evidence.subject import Subject
from harness.extract import door
from harness.ground.errors import UsageError
from harness.view import document, lanes, packing, panel
from tests.support.paths import DATA
from tests.support.programs import US, Program
from tests.support.subjects import subject

HOSTILE = "</script><img src=x onerror=alert(1)>&lt;\u2028"


def unpacked(column: str, code: str) -> list[float]:
    return list(array(code, zlib.decompress(base64.b64decode(column))))


def embedded(page: str) -> Any:
    """Return the document that a page's script reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def program(name: str = "kernel") -> Subject:
    made = Program(start=3_000_000_000_000)
    for _ in range(10):
        made.launch(100 * US, name)
    return subject("made", made.tables())


def test_columns_hold_every_event_to_the_nanosecond() -> None:
    subject = door.capture(DATA / "nsys/streams.sqlite.zst")
    capture = subject.captures["nsys"]
    timeline = lanes.timeline(capture)
    packed = packing.packed(timeline)
    starts = unpacked(packed["columns"]["start"], "d")
    durations = unpacked(packed["columns"]["duration"], "d")
    names = unpacked(packed["columns"]["name"], "i")
    origin = timeline.steady[0][0]
    place = 0
    for lane, described in zip(timeline.lanes, packed["lanes"], strict=True):
        count = described["count"]
        rows = lane.events.select("start_ns", "duration_ns", "name").rows()
        mine = slice(place, place + count)
        shown = zip(starts[mine], durations[mine], names[mine], strict=True)
        assert [
            (start + origin, duration, packed["texts"][int(name)])
            for start, duration, name in shown
        ] == rows
        place += count
    assert place == len(starts) == timeline.count


def test_an_operation_and_its_launching_call_share_a_number() -> None:
    packed = packing.packed(lanes.timeline(program().captures["nsys"]))
    shared = unpacked(packed["columns"]["correlation"], "i")
    assert sorted(shared[:10]) == sorted(shared[-10:]) == list(range(10))


def test_no_text_of_a_capture_ends_the_script() -> None:
    page = document.page([program(HOSTILE)])
    assert page.count("</script>") == 2
    assert HOSTILE in embedded(page)["panels"][0]["timeline"]["texts"]
    labelled = Subject(HOSTILE, program().captures)
    assert "<img" not in document.page([labelled])


def test_a_page_names_no_other_host() -> None:
    page = document.page([program()])
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|src=|@import|url\(", page)


def test_more_events_than_a_browser_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel, "MOST_EVENTS", 19)
    with pytest.raises(UsageError, match=r"29 events, a page holds 19 \(record fewer steps\)"):
        document.page([program()])


def test_a_memory_snapshot_is_drawn_by_pool() -> None:
    subject = door.capture(DATA / "memory/stack_013_graphs.json.gz")
    (shown,) = embedded(document.page([subject]))["panels"]
    figure = base64.b64decode(shown["memory"].removeprefix("data:image/svg+xml;base64,")).decode()
    assert "reserved: default" in figure
    assert shown["timeline"] is None
    (pool, *_) = shown["tables"]["Memory by pool"]
    assert pool["live bytes"] <= pool["allocated_bytes"] <= pool["reserved_bytes"]


def test_a_page_says_of_what_time_its_shares_are() -> None:
    (shown,) = embedded(document.page([program()]))["panels"]
    assert shown["step"] == (
        "10 steps of 0.101 ms (period of 1 kernel) · GPU busy 99.1 % · capture: complete"
    )
