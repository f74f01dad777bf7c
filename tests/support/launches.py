"""GPU time of torch's operators, found by trying every operator for every GPU operation."""

from collections import defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Event = dict[str, Any]
OperatorRow = tuple[str, int, int | None, int | None]

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")


def nanoseconds(us: int | Decimal | None) -> int | None:
    """Return the nearest whole nanoseconds."""
    return None if us is None else int((Decimal(us) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


def thread(value: object) -> int | None:
    """Return a thread's number; in traces of 2021 it is text."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) else None


def operator_rows(events: list[Event]) -> list[OperatorRow]:
    """Return name, count, host time and GPU time of the operators, and of what none launched."""
    operators = [event for event in events if event.get("cat") == "cpu_op"]
    gpu = [event for event in events if event.get("cat") in GPU]
    launches = [_launch(events, operation) for operation in gpu]
    known = any(launch is not None for launch in launches)
    device: dict[str | None, int] = defaultdict(int)
    unowned = 0
    for operation, launch in zip(gpu, launches, strict=True):
        owner = _innermost(operators, launch) if launch else None
        device[owner] += nanoseconds(operation["dur"]) or 0
        unowned += owner is None
    rows: list[OperatorRow] = []
    for name in dict.fromkeys(event["name"] for event in operators):
        group = [event for event in operators if event["name"] == name]
        total = sum(nanoseconds(event["dur"]) or 0 for event in group)
        clear = known and all(thread(event.get("tid")) is not None for event in group)
        rows.append((name, len(group), total, device[name] if clear else None))
    return [*rows, ("unattributed", unowned, None, device[None])] if gpu else rows


def _launch(events: list[Event], operation: Event) -> tuple[int, int] | None:
    """Return thread and start of the first call with the operation's correlation."""
    number = _correlation(operation)
    calls = [
        (nanoseconds(event["ts"]) or 0, thread(event.get("tid")))
        for event in events
        if event.get("cat") in CALLS and _correlation(event) == number
    ]
    placed = [(tid, start) for start, tid in calls if tid is not None]
    return min(placed, key=lambda call: call[1]) if number is not None and placed else None


def _correlation(event: Event) -> int | None:
    return (event.get("args") or {}).get("correlation")


def _innermost(operators: list[Event], launch: tuple[int, int]) -> str | None:
    around = list(_around(operators, *launch))
    return max(around)[-1] if around else None


def _around(operators: list[Event], tid: int, at: int) -> Iterator[tuple[int, int, int, str]]:
    for index, event in enumerate(operators):
        start = nanoseconds(event["ts"]) or 0
        end = start + (nanoseconds(event["dur"]) or 0)
        if thread(event.get("tid")) == tid and start <= at <= end:
            yield start, -end, index, event["name"]
