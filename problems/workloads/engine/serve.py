"""The engine: requests in, steps made one by one, tokens out."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from workloads.engine.options import Options
from workloads.engine.runner import Flight, Runner
from workloads.engine.schedule import Plan, Request, Scheduler


@dataclass
class Stepped:
    """What a step brought: new tokens by request, requests that ended, and what the step was.

    ``admitted`` and ``preempted``: requests that began or went on, and that were put off.
    """

    tokens: list[tuple[str, int]] = field(default_factory=list)
    admitted: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    record: dict[str, float | str] = field(default_factory=dict)


class Engine:
    """Requests in, steps made one by one, tokens out; ``stop``: tokens that end a request."""

    def __init__(
        self, runner: Runner, scheduler: Scheduler, stop: frozenset[int] = frozenset()
    ) -> None:
        self.runner, self.scheduler, self.stop = runner, scheduler, stop
        self._requests: dict[str, Request] = {}
        self._flight: Flight | None = None

    @property
    def busy(self) -> bool:
        """Say whether another step would do anything."""
        return bool(self._requests) or self._flight is not None

    def submit(self, name: str, prompt: Sequence[int], most_new: int) -> None:
        """Let a request wait for its turn.

        Raises
        ------
        ValueError
            It cannot run, or another of its name has not ended.

        """
        if name in self._requests:
            raise ValueError(f"request {name} was submitted before and has not ended")
        request = Request(name, list(prompt), most_new)
        self.scheduler.submit(request)
        self._requests[name] = request

    def cancel(self, name: str) -> None:
        """End a request early; one that has ended is left alone."""
        if name in self._requests:
            self._end(self._requests[name])

    def step(self) -> Stepped:
        """Launch a step, and read the tokens of it or, ahead, of the step before it."""
        begun = time.perf_counter_ns()
        plan = self.scheduler.plan()
        planned = time.perf_counter_ns()
        flight = self.runner.launch(plan) if plan.rows else None
        launched = time.perf_counter_ns()
        if self.runner.options.ahead:
            flight, self._flight = self._flight, flight
        stepped = self._read(flight)
        ended = time.perf_counter_ns()
        stepped.admitted = [request.name for request in plan.entered]
        stepped.preempted = [request.name for request in plan.preempted]
        stepped.record = self._record(plan) | {
            "host_us": (launched - begun) / 1e3,
            "plan_us": (planned - begun) / 1e3,
            "launch_us": (launched - planned) / 1e3,
            "wait_us": (ended - launched) / 1e3,
        }
        return stepped

    def _read(self, flight: Flight | None) -> Stepped:
        stepped = Stepped()
        if flight is None:
            return stepped
        for (request, _), token in zip(flight.sampling, flight.read(), strict=True):
            if request.ended:
                continue
            request.output.append(token)
            stepped.tokens.append((request.name, token))
            if len(request.output) == request.most_new or token in self.stop:
                self._end(request)
                stepped.ended.append(request.name)
        return stepped

    def _end(self, request: Request) -> None:
        self.scheduler.end(request)
        del self._requests[request.name]

    def _record(self, plan: Plan) -> dict[str, float | str]:
        blocks = self.scheduler.blocks
        kind = (
            "idle" if not plan.rows else "decode" if plan.decodes == len(plan.rows) else "prefill"
        )
        if kind == "prefill" and plan.decodes:
            kind = "mixed"
        return {
            "kind": kind,
            "requests": len(plan.rows),
            "decodes": plan.decodes,
            "tokens": plan.tokens,
            "waiting": len(self.scheduler.waiting),
            "preempted": len(plan.preempted),
            "kv_blocks": blocks.count - blocks.free,
        }


def build(runner: Runner, options: Options, blocks: int, host_blocks: int = 0) -> Engine:
    """Return an engine of a runner that was made with the same options and blocks."""
    return Engine(runner, Scheduler(options, blocks, host_blocks))
