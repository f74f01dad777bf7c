"""Serving engines with known answers, on a clock that only they move."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.captures.load.read import read
from harness.evidence.tables import Tables
from harness.probe.load.driver import FILE, Clock, Recording, Slo, drive
from harness.probe.load.workload import LENGTHS, poisson, requests
from tests.support.paths import DATA

SAMPLE = DATA / "load" / "poisson.json.gz"
"""A recording of :func:`sample`: python -m tests.support.serving."""


class Virtual(Clock):
    """A clock that jumps."""

    def __init__(self) -> None:
        self.time = 0

    def now_ns(self) -> int:
        return self.time

    def sleep_ns(self, duration: int) -> None:
        assert duration > 0
        self.time += duration


@dataclass
class Stepped:
    """What a step brought."""

    tokens: list[tuple[str, int]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    record: dict[str, float | str] = field(default_factory=dict)
    admitted: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)


class OneByOne:
    """A server of one request at a time; ``service(now)`` is how long it takes from then, in ns."""

    def __init__(self, clock: Virtual, service: Callable[[int], int]) -> None:
        self._clock, self._service = clock, service
        self._waiting: deque[str] = deque()

    def submit(self, name: str, _prompt: Sequence[int], _most_new: int) -> None:
        self._waiting.append(name)

    def step(self) -> Stepped:
        name = self._waiting.popleft()
        self._clock.time += self._service(self._clock.time)
        return Stepped([(name, 1)], [name], {"kind": "prefill"}, [name])


class Batching:
    """Prefills one prompt a step while ``most`` do not run, else decodes all of them.

    Every 100th step it puts the youngest off for a step.
    """

    def __init__(self, clock: Virtual, most: int = 8) -> None:
        self._clock, self._most, self._steps = clock, most, 0
        self._waiting: deque[tuple[str, int, int]] = deque()
        self._left: dict[str, int] = {}
        self._off: str | None = None

    def submit(self, name: str, prompt: Sequence[int], most_new: int) -> None:
        self._waiting.append((name, len(prompt), most_new))

    def step(self) -> Stepped:
        self._steps += 1
        if self._waiting and len(self._left) < self._most:
            name, prompt, most_new = self._waiting.popleft()
            self._clock.time += 5_000_000 + 20_000 * prompt
            self._left[name] = most_new
            stepped = Stepped(admitted=[name], record={"kind": "prefill", "tokens": prompt})
            return self._emitted(stepped, [name])
        stepped = Stepped(record={"kind": "decode", "tokens": len(self._left), "host_us": 300.0})
        if self._off:
            stepped.admitted, self._off = [self._off], None
        elif self._steps % 100 == 0 and len(self._left) > 1:
            self._off = list(self._left)[-1]
            stepped.preempted = [self._off]
        self._clock.time += 10_000_000 + 200_000 * len(self._left)
        return self._emitted(stepped, [name for name in self._left if name != self._off])

    def _emitted(self, stepped: Stepped, names: list[str]) -> Stepped:
        stepped.record |= {"requests": len(names), "kv_blocks": 8 * len(self._left)}
        for name in names:
            stepped.tokens.append((name, 1))
            self._left[name] -= 1
            if not self._left[name]:
                del self._left[name]
                stepped.ended.append(name)
        return stepped


def sample() -> Recording:
    """Return 40 requests of a published trace on the batching engine."""
    clock = Virtual()
    lengths = LENGTHS["azure-conversation-2023"]
    return drive(Batching(clock), requests(40, poisson(2), lengths, 1), clock)


def tables(recording: Recording, folder: Path, slo: Slo | None = None) -> Tables:
    """Return a recording as it is read again from the file that it leaves."""
    recording.save(folder, slo, kv_blocks=64, load="a load")
    return read(folder / FILE)


if __name__ == "__main__":
    SAMPLE.parent.mkdir(exist_ok=True)
    sample().save(SAMPLE.parent, Slo(1000, 50), 64, "poisson, 2/s, azure-conversation-2023, seed 1")
    (SAMPLE.parent / FILE).rename(SAMPLE)
