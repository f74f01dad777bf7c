"""Tuners are noticed by the events that they time with, whatever library they are of."""

from typing import Any

from harness.probe.timed_events import before_each


class Native:
    """As torch's own base class: it is made by ``__new__`` alone."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False) -> Any:
        made = super().__new__(cls)
        made.asked = (enable_timing, blocking)  # type: ignore[attr-defined]
        return made


class Event(Native):
    asked: tuple[bool, bool]

    def __new__(cls, enable_timing: bool = False, blocking: bool = False) -> Any:
        return super().__new__(cls, enable_timing=enable_timing, blocking=blocking)


def test_only_an_event_that_measures_time_is_told_and_all_are_made() -> None:
    told: list[str] = []
    before_each(Event, lambda: told.append("timed"))
    events = [Event(), Event(blocking=True), Event(enable_timing=False), Event(False, True)]
    assert told == []
    events += [Event(enable_timing=True), Event(True, True)]
    assert told == ["timed", "timed"]
    asked = [(False, False), (False, True), (False, False), (False, True), (True, False)]
    assert [event.asked for event in events] == [*asked, (True, True)]
    assert all(type(event) is Event for event in events)
