"""The scheduler, by simulation: a cache that says which tokens each place was computed from."""

import importlib
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import battery
from tests.support.paths import ROOT

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(ROOT / "problems"))
    schedule = importlib.import_module("workloads.engine.schedule")
    options_of = importlib.import_module("workloads.engine.options").Options

REQUESTS = 100_000
LADDER: dict[str, dict[str, Any]] = {
    "static": {"batching": "static", "reservation": "whole", "chunked": False, "ahead": False},
    "whole": {"reservation": "whole", "chunked": False, "ahead": False, "reuse_prefixes": False},
    "paged": {"chunked": False, "ahead": False},
    "chunked": {"token_budget": 24, "ahead": False},
    "ahead": {"token_budget": 24},
    "offload": {"token_budget": 24, "offload": True},
}
BLOCKS, HOST_BLOCKS, SIZE, RUNNING = 30, 40, 4, 12


class Simulation:
    """An engine whose model is a hash: the next token is a function of all tokens before it."""

    def __init__(self, switches: dict[str, Any], seed: int) -> None:
        defaults = {"token_budget": 40, "block": SIZE, "most_running": RUNNING}
        self.options = options_of(**(defaults | switches))
        self.scheduler = schedule.Scheduler(self.options, BLOCKS, HOST_BLOCKS)
        self.random = random.Random(seed)
        self.cache: dict[tuple[int, int], int] = {}
        self.host: dict[tuple[int, int], int] = {}
        self.flight: list[Any] = []
        self.live: dict[str, Any] = {}
        self.seen: Counter[str] = Counter()

    def step(self) -> None:
        plan = self.scheduler.plan()
        self.seen["preempted"] += len(plan.preempted)
        self.seen["steps"] += 1
        self.check(plan)
        for block, host in plan.saves:
            self.move(self.cache, block, self.host, host)
        for host, block in plan.loads:
            self.move(self.host, host, self.cache, block)
        for row in plan.rows:
            self.compute(row)
        sampled = [row.request for row in plan.rows if row.samples]
        if self.options.ahead:
            sampled, self.flight = self.flight, sampled
        for request in sampled:
            self.read(request)

    def read(self, request: Any) -> None:
        if request.ended:
            return
        request.output.append(after(prefix(request.tokens())))
        if len(request.output) == request.most_new:
            self.scheduler.end(request)
            del self.live[request.name]
            self.seen["ended"] += 1

    def compute(self, row: Any) -> None:
        """Read the cache before the row as attention would, and write the row's places."""
        request = row.request
        tokens = [*request.prompt, *continuation(request)]
        state = 0
        for at in range(row.start + row.count):
            state = hash((state, tokens[at]))
            place = request.blocks[at // SIZE], at % SIZE
            if at < row.start:
                assert self.cache[place] == state, f"{request.name} reads what it did not write"
            else:
                self.cache[place] = state

    def check(self, plan: Any) -> None:
        scheduler, blocks = self.scheduler, self.scheduler.blocks
        rows = Counter(row.request.name for row in plan.rows)
        assert not rows or max(rows.values()) == 1
        assert len(scheduler.running) <= RUNNING
        if self.options.chunked:
            assert plan.tokens <= self.options.token_budget
        held = {block for request in scheduler.running for block in request.blocks}
        assert len(held) + blocks.free == BLOCKS
        assert 0 not in held
        if not self.options.reuse_prefixes:
            assert len(held) == sum(len(request.blocks) for request in scheduler.running)
        saved = [block for request in scheduler.waiting for block in request.saved]
        assert len(set(saved)) + scheduler.host.free == HOST_BLOCKS
        slots = [request.slot for request in scheduler.running]
        assert len(set(slots)) == len(slots)
        # Who waits came after all who run, but for those that were put off.
        first = min((one.order for one in scheduler.waiting if not one.preempted), default=None)
        assert first is None or all(one.order < first for one in scheduler.running)

    def move(self, source: Any, one: int, target: Any, other: int) -> None:
        for offset in range(SIZE):
            if (one, offset) in source:
                target[other, offset] = source[one, offset]


def prefix(tokens: list[int]) -> int:
    """Return the state that the tokens lead to."""
    state = 0
    for token in tokens:
        state = hash((state, token))
    return state


def after(state: int) -> int:
    """Return the token that the model says after a state."""
    return state % 1009


def continuation(request: Any) -> Iterator[int]:
    """Yield what the model says after the prompt, as far as it is promised."""
    state = prefix(request.prompt)
    for _ in range(request.promised):
        token = after(state)
        yield token
        state = hash((state, token))


def drawn(random_: random.Random, number: int) -> Any:
    """Return a request, one in three of which begins as others do."""
    shared = [7] * random_.choice([0, 0, 8])
    prompt = shared + [random_.randrange(1009) for _ in range(random_.randint(1, 24))]
    return schedule.Request(str(number), prompt, random_.randint(1, 10))


@pytest.mark.slow
@pytest.mark.parametrize("rung", LADDER)
def test_no_request_is_lost_and_no_cache_leaks(rung: str) -> None:
    simulation = Simulation(LADDER[rung], battery.SEED)
    total = REQUESTS // len(LADDER)
    submitted = cancelled = 0
    while submitted < total or simulation.live:
        for _ in range(simulation.random.choice([0, 0, 1, 3])):
            if submitted < total and len(simulation.live) < 40:
                request = drawn(simulation.random, submitted)
                simulation.scheduler.submit(request)
                simulation.live[request.name] = request
                submitted += 1
        if simulation.live and simulation.random.random() < 0.01:
            name = simulation.random.choice([*simulation.live])
            simulation.scheduler.end(simulation.live.pop(name))
            cancelled += 1
        simulation.step()
        assert simulation.seen["steps"] < 60 * total, "requests starve"
    simulation.step()
    assert simulation.seen["ended"] == total - cancelled
    assert simulation.scheduler.blocks.free == BLOCKS
    assert simulation.scheduler.host.free == HOST_BLOCKS
    assert not simulation.scheduler.running
    preempts = LADDER[rung].get("reservation") != "whole"
    assert (simulation.seen["preempted"] > 0) == preempts


@pytest.mark.parametrize(
    ("switches", "told"),
    [
        ({"token_budget": 8, "most_running": 16}, "token_budget of most_running"),
        ({"batching": "static"}, "chunked=False"),
        ({"block": 0}, "1 or more"),
        ({"temperature": -1.0}, "0 or more"),
    ],
)
def test_switches_that_contradict_are_refused(switches: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        options_of(**switches)


def test_a_request_that_cannot_fit_is_refused() -> None:
    scheduler = schedule.Scheduler(options_of(block=4), 3)
    with pytest.raises(ValueError, match="needs 4 blocks, the cache has 3"):
        scheduler.submit(schedule.Request("long", [1] * 10, 3))
    with pytest.raises(ValueError, match="at least one new token"):
        scheduler.submit(schedule.Request("none", [1], 0))
    assert not scheduler.plan().rows


def test_a_prompt_that_begins_like_another_skips_its_whole_blocks() -> None:
    scheduler = schedule.Scheduler(options_of(block=4), 20)
    first = schedule.Request("first", [*range(10)], 5)
    scheduler.submit(first)
    scheduler.plan()
    second = schedule.Request("second", [*range(8), 77, 78], 5)
    scheduler.submit(second)
    rows = {row.request.name: row for row in scheduler.plan().rows}
    assert (rows["second"].start, rows["second"].count) == (8, 2)
    assert second.blocks[:2] == first.blocks[:2]
    assert second.reused == 8
    scheduler.end(first)
    # A prompt that is known whole still computes its last token, whose logits are wanted.
    third = schedule.Request("third", [*range(8)], 5)
    scheduler.submit(third)
    rows = {row.request.name: row for row in scheduler.plan().rows}
    assert (rows["third"].start, rows["third"].count) == (4, 4)
