"""Loads on the engine of problems/workloads, with a device in miniature on a clock of its own.

The scheduler is the engine's; only the device and the host's time are made. A step takes the longer
of reading the weights and computing its tokens (a roofline), and reading the keys and values of its
requests besides. So the diagnosis' law of a step is not the one that made it.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from harness.captures.load.kind import KIND
from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, empty
from harness.probe.load.driver import FILE, Recording, Slo, drive
from harness.probe.load.workload import (
    LENGTHS,
    Arrivals,
    Lengths,
    at_once,
    bursts,
    fixed,
    poisson,
    requests,
)
from tests.support.paths import ROOT
from tests.support.serving import Stepped, Virtual

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(ROOT / "problems"))
    schedule = importlib.import_module("workloads.engine.schedule")
    options_of = importlib.import_module("workloads.engine.options").Options


@dataclass(frozen=True)
class Device:
    """Times in µs; those of a model of 8e9 parameters on an H100, to one digit."""

    weights: float = 6000.0
    token: float = 30.0
    """Computing one: 200 tokens take as long as reading the weights."""
    cached: float = 0.04
    """Reading keys and values of one."""
    launch: float = 200.0
    plan: float = 100.0
    planned: float = 5.0
    """Scheduling a step, and a request of it more."""

    def step_us(self, plan: Any) -> float:
        """Return how long the device takes for a plan."""
        held = sum(row.start + row.count for row in plan.rows)
        return float(max(self.weights, self.token * plan.tokens) + self.cached * held)


@dataclass(frozen=True)
class Program:
    """A load, and what the engine does with it; ``switches`` are the engine's options."""

    arrivals: Arrivals
    lengths: tuple[Lengths, Lengths]
    number: int = 60
    blocks: int = 4000
    switches: dict[str, Any] = field(default_factory=dict)
    device: Device = Device()
    slo: Slo | None = None
    host_blocks: int = 0
    says: tuple[str, ...] = ("kind", "requests", "tokens", "kv_blocks", "host_us", "plan_us")

    def recording(self) -> Recording:
        """Return what comes of it."""
        clock = Virtual()
        load = requests(self.number, self.arrivals, self.lengths, seed=1)
        return drive(Engine(self, clock), load, clock, limit_s=36_000)

    def capture(self, folder: Path) -> Capture:
        """Return the capture as it is read from the file that the driver leaves."""
        self.recording().save(folder, self.slo, self.blocks, "a load")
        read = KIND.read(folder / FILE)
        return Capture("the load", {name: empty(name) for name in SCHEMAS} | read, {})


class Engine:
    """The engine without a model: its scheduler, and a device that takes its time."""

    def __init__(self, program: Program, clock: Virtual) -> None:
        self.device, self.clock, self.says = program.device, clock, program.says
        self.options = options_of(**({"reuse_prefixes": False} | program.switches))
        self.scheduler = schedule.Scheduler(self.options, program.blocks, program.host_blocks)
        self.flight: tuple[list[Any], int] = ([], 0)
        self.free = 0

    def submit(self, name: str, prompt: Sequence[int], most_new: int) -> None:
        self.scheduler.submit(schedule.Request(name, list(prompt), most_new))

    def step(self) -> Stepped:
        plan = self.scheduler.plan()
        planned = self.device.plan + self.device.planned * len(plan.rows)
        host = planned + (self.device.launch if plan.rows else 0.0)
        self.clock.time += round(1e3 * host)
        flight: tuple[list[Any], int] = ([], 0)
        if plan.rows:
            self.free = max(self.free, self.clock.time) + round(1e3 * self.device.step_us(plan))
            flight = ([row.request for row in plan.rows if row.samples], self.free)
        if self.options.ahead:
            flight, self.flight = self.flight, flight
        stepped = self.read(*flight)
        stepped.admitted = [request.name for request in plan.entered]
        stepped.preempted = [request.name for request in plan.preempted]
        blocks = self.scheduler.blocks
        prompts = len(plan.rows) > plan.decodes
        record: dict[str, float | str] = {
            "kind": "mixed" if prompts and plan.decodes else "prefill" if prompts else "decode",
            "requests": len(plan.rows),
            "tokens": plan.tokens,
            "kv_blocks": blocks.count - blocks.free,
            "host_us": host,
            "plan_us": planned,
        }
        stepped.record = {name: record[name] for name in self.says}
        return stepped

    def read(self, requests_read: list[Any], done: int) -> Stepped:
        """Wait for a step, and end the requests that have all of their tokens."""
        self.clock.time = max(self.clock.time, done)
        stepped = Stepped()
        for request in requests_read:
            if request.ended:
                continue
            request.output.append(0)
            stepped.tokens.append((request.name, 0))
            if len(request.output) == request.most_new:
                self.scheduler.end(request)
                stepped.ended.append(request.name)
        return stepped


CONVERSATION = LENGTHS["azure-conversation-2023"]
SHORT = (Lengths((20, 400), (0, 1)), Lengths((20, 200), (0, 1)))
RAGGED = (Lengths((20, 60), (0, 1)), Lengths((5, 20, 400), (0, 0.8, 1)))
DOCUMENTS = (Lengths((50, 100, 4000, 6000), (0, 0.6, 0.62, 1)), Lengths((50, 300), (0, 1)))
ESSAYS = (fixed(50), Lengths((100, 800), (0, 1)))
LONG = (Lengths((300, 1500), (0, 1)), Lengths((200, 600), (0, 1)))

IN_TURN: dict[str, Any] = {"ahead": False, "token_budget": 512}
AHEAD: dict[str, Any] = {"token_budget": 512}
WHOLE = IN_TURN | {"chunked": False, "token_budget": 16384}
STATIC = IN_TURN | {"chunked": False, "batching": "static", "reservation": "whole"}
_HOST_ALONE = ("kind", "requests", "tokens", "kv_blocks", "host_us")


def _pairs() -> dict[str, tuple[Program, Program]]:
    """Return programs by the id of their finding and a word, each with the twin without it."""
    programs: dict[str, tuple[Program, dict[str, Any]]] = {
        "scheduler-bubble: a slow planner": (
            Program(poisson(6), SHORT, switches=IN_TURN, device=Device(plan=1500, planned=40)),
            {"switches": AHEAD},
        ),
        "scheduler-bubble: objects a request, bursts": (
            Program(bursts(32, 4), SHORT, switches=IN_TURN, device=Device(planned=150)),
            {"device": Device()},
        ),
        "scheduler-bubble: host time alone, all at once": (
            Program(
                at_once(),
                (fixed(60), fixed(200)),
                number=64,
                switches=IN_TURN,
                device=Device(launch=3000, plan=500),
                says=_HOST_ALONE,
            ),
            {"device": Device(launch=20, plan=50, planned=1)},
        ),
        "scheduler-bubble: slower than the device, ahead": (
            Program(poisson(4), SHORT, switches=AHEAD, device=Device(plan=8000)),
            {"device": Device(plan=4000)},
        ),
        "prefill-interference: whole prompts": (
            Program(poisson(5), CONVERSATION, 120, 20_000, WHOLE),
            {"switches": IN_TURN},
        ),
        "prefill-interference: chunks too large, ahead": (
            Program(poisson(4), DOCUMENTS, blocks=20_000, switches={"token_budget": 4096}),
            {"switches": AHEAD},
        ),
        "prefill-interference: a bound of its own, bursts": (
            Program(
                bursts(3, 1),
                DOCUMENTS,
                blocks=20_000,
                switches=IN_TURN | {"token_budget": 2048},
                slo=Slo(1000, 30),
            ),
            {"switches": IN_TURN},
        ),
        "batch-underfilled: a static batch, bursts": (
            Program(bursts(40, 15), RAGGED, switches=STATIC | {"most_running": 16}),
            {"switches": IN_TURN},
        ),
        "batch-underfilled: a low limit": (
            Program(poisson(12), SHORT, switches=IN_TURN | {"most_running": 4}),
            {"switches": IN_TURN},
        ),
        "batch-underfilled: room reserved, all at once": (
            Program(at_once(), ESSAYS, blocks=1000, switches=IN_TURN | {"reservation": "whole"}),
            {"switches": IN_TURN, "blocks": 4000, "number": 40},
        ),
        "kv-cache-pressure: computed again": (
            Program(poisson(6), LONG, blocks=600, switches=IN_TURN | {"token_budget": 1024}),
            {"blocks": 8000},
        ),
        "kv-cache-pressure: whole prompts, bursts": (
            Program(bursts(40, 40), LONG, blocks=1000, switches=WHOLE | {"token_budget": 1024}),
            {"blocks": 4000},
        ),
        "kv-cache-pressure: kept in host memory, ahead": (
            Program(
                bursts(8, 1),
                LONG,
                blocks=800,
                switches=AHEAD | {"offload": True},
                host_blocks=8000,
            ),
            {"blocks": 8000},
        ),
    }
    return {name: (sick, replace(sick, **other)) for name, (sick, other) in programs.items()}


PAIRS = _pairs()
