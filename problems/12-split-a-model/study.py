"""All ways of a cell's works, one after the other, each in turn with itself muted.

A way that communicates and the same way without its communication alternate, so what their times
share, such as a clock that drifts, drops out of the difference.
"""

import gc
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import attention_sweep
import law
import link
import torch
from checking import Expected, check
from counted import Op, ops_of
from expert_ways import imbalance, waits_ms
from link import Link
from torch import Tensor
from way import UnfitError, Way
from ways import NOT_CAPTURED, WAYS
from work import Work
from world import World

_GB = 1e9
_WARM = 1
_US_OF_MS = 1e3
_RIVALS = ("tensor", "experts")
_OFF_PERCENT = 0.1
"""So far bytes may be from their law: a stack's last norm is sharded, but not gathered twice."""


def run(cell: Any, world: World, seed: int) -> None:
    """Measure what the cell's params ask for; every rank calls it alike."""
    params = cell.params
    if "way" in params:
        import profiled

        profiled.run(cell, world)
        return
    with cell.phase("link"), cell.exclusively("link"):
        known = link.measured(world, params["message_sizes"], params["graph_sizes"])
    state_link(cell, known)
    order = random.Random(seed)  # noqa: S311 - the same on every rank
    skews: list[dict[str, Outcome]] = []
    for name, about in params["works"].items():
        work = Work.of(params | about, world.device)
        expected = Expected.of(work)
        found: dict[str, Outcome] = {}
        for way in order.sample(about["ways"], len(about["ways"])):
            outcome = measured(cell, world, known, Case(name, way, work, expected))
            found |= {way: outcome} if outcome else {}
            world.meet()
            gc.collect()
            if world.device == "cuda":
                torch.cuda.empty_cache()
        errors = [each.error for each in found.values() if each.error is not None]
        if errors:
            cell.sample(f"{name}-worst", "prediction_error", "%", [max(errors)])
        off = sum(each.off_law > _OFF_PERCENT for each in found.values())
        cell.fact(f"ways_off_law.{name}", off, "ways")
        if "skew" in about and found.keys() >= {*_RIVALS}:
            skews.append(found)
    state_skews(cell, skews)
    if "sweep" in params:
        attention_sweep.run(cell, world, known)


@dataclass(frozen=True)
class Case:
    """A work and one way to split it; ``expected``: what it computes unsplit."""

    work_name: str
    way_name: str
    work: Work
    expected: Expected

    @property
    def region(self) -> str:
        """Return how samples are called."""
        return f"{self.work_name}-by-{self.way_name}"


@dataclass(frozen=True)
class Outcome:
    """A way's step, measured and predicted. ``error``: in %, None where nothing is predicted.

    ``off_law``: by how many % its bytes miss the law's.
    """

    measured: float
    predicted: float
    error: float | None
    off_law: float = 0.0
    imbalance: float = 1.0


def state_skews(cell: Any, skews: list[dict[str, Outcome]]) -> None:
    """State the imbalance from which tensor parallelism is the faster, measured and predicted.

    ``skews``: both ways' steps of each skew, the evenest first.
    """
    imbalances = [each["experts"].imbalance for each in skews]
    at = {}
    for how in ("measured", "predicted"):
        tensor, experts = ([getattr(each[way], how) for each in skews] for way in _RIVALS)
        at[how] = law.crossover(imbalances, tensor, experts)
    attention_sweep.state_crossover(cell, "skew_crossover", "×", at)


def state_link(cell: Any, known: Link) -> None:
    """State what the link took by kind and size, launched and in a graph."""
    cell.fact("link_gb_s", known.gb_s, "GB/s")
    for kind, loss in known.losses.items():
        cell.fact(f"loss.{kind}", 100 * loss, "%")
    for table, suffix in ((known.measured, "us"), (known.in_graph, "in_graph_us")):
        for kind, points in table.items():
            for size, us in points:
                name = f"{kind.replace('-', '_')}_{suffix}"
                cell.sample(f"{int(size) >> 10}KiB", name, "µs", [us])


def measured(cell: Any, world: World, known: Link, case: Case) -> Outcome | None:
    """Check, count and time a way; return its outcome.

    A way that does not fit is left out, with the reason as a fact: so the others are measured.
    """
    region, work = case.region, case.work
    before = allocated(world)
    with gradients_where(trains=work.trains):
        with cell.phase("build"):
            made = built(case, world)
        if isinstance(made, str):
            cell.fact(f"left_out.{region}", made)
            return None
        way, alone, error = made
        state_bytes = (allocated(world) - before) / 2
        cell.fact(f"error.{region}", error)
        ops = ops_of(way.step, world.size)
        off = state_bytes_sent(cell, world, region, way, ops)
        over, is_routed = 1.0, case.way_name == "experts"
        if is_routed:  # its bytes depend on the router: the law's are a mean
            over, off = imbalance(way, world), 0.0
            cell.fact(f"imbalance.{region}", over, "×")
        cell.fact(f"memory_gb.{region}", (state_bytes + peak(world, way.step)) / _GB, "GB")
        is_graph = work.kind == "decode" and case.way_name not in NOT_CAPTURED
        steps = [world.captured(each.step) if is_graph else each.step for each in (way, alone)]
        with cell.exclusively(region):
            times = in_turn(cell, world, steps)
            waits = waits_ms(alone, world) if is_routed else 0.0
    comm_us = slowest_us(world, [known.us(kind, size, is_graph=is_graph) for kind, size in ops])
    if way.overlap.by_kernels:
        way.overlap = replace(way.overlap, loss=world.most(known.loss(ops)))
    if is_routed:
        cell.fact(f"waits_ms.{region}", waits, "ms")
        comm_us += waits * _US_OF_MS
    outcome = stated(cell, known, region, way, comm_us, times)
    return replace(outcome, off_law=off, imbalance=over)


def slowest_us(world: World, taken: list[float]) -> float:
    """Return the µs of a step's collectives: each as long as the rank that sends most in it.

    Where ranks make different ones, as in a pipeline, of the rank that takes longest.
    """
    if world.most(len(taken)) == world.mean(len(taken)):
        return sum(map(world.most, taken))
    return world.most(sum(taken))


def built(case: Case, world: World) -> tuple[Way, Way, float] | str:
    """Return a way, itself muted, and its error; or why one of the ranks cannot have it.

    Some ways ask for what a driver, a container or a build of torch may not give: RuntimeError.
    """
    make, why = WAYS[case.way_name], ""
    try:
        way = make(case.work, world, world.mesh)
        alone = make(case.work, world, world.muted)
        error = check(way, case.expected, world)
        alone.step()
    except (UnfitError, RuntimeError) as failure:
        why = str(failure).partition("\n")[0]
    if world.most(bool(why)):
        return why or "another rank cannot"
    return way, alone, world.most(error)


def gradients_where(*, trains: bool) -> Any:
    """Return the mode that steps run in."""
    return torch.enable_grad() if trains else torch.no_grad()


def state_bytes_sent(cell: Any, world: World, region: str, way: Way, ops: list[Op]) -> float:
    """State what a rank sends, the mean over the ranks; return by how many % the law is missed."""
    sent = world.mean(sum(law.sent(kind, size, world.size) for kind, size in ops))
    cell.fact(f"sent_mb.{region}", sent / 1e6, "MB")
    cell.fact(f"law_mb.{region}", way.law / 1e6, "MB")
    cell.fact(f"collectives.{region}", world.mean(len(ops)), "collectives")
    if not way.law:
        return 0.0 if not sent else 100.0
    return 100 * abs(sent / way.law - 1)


def in_turn(
    cell: Any, world: World, steps: list[Callable[[], Tensor]]
) -> tuple[list[float], list[float]]:
    """Return the ms of a step of each, by turn, on the slowest rank."""
    taken: tuple[list[float], list[float]] = ([], [])
    count = cell.params["steps_a_turn"]
    for turn in range(_WARM + cell.params["turns"]):
        for at, step in enumerate(steps):
            ms = world.timed(step, count)
            if turn >= _WARM:
                taken[at].append(ms)
    return taken


def stated(
    cell: Any,
    known: Link,
    region: str,
    way: Way,
    comm_us: float,
    times: tuple[list[float], list[float]],
) -> Outcome:
    """Keep the samples of a way; return its outcome.

    ``comm_us``: what the link took for the collectives of a step, and the ranks' waits at them.
    """
    split, part = times
    cell.sample(region, "step_ms", "ms", split)
    cell.sample(region, "part_ms", "ms", part)
    if not way.law:
        return Outcome(median(split), median(part), None)
    predicted = law.step_ms(median(part), comm_us, way.overlap, way.idle)
    floor_ms = way.law / known.gb_s / 1e6
    exposed = [a - b * (1 + way.idle) for a, b in zip(split, part, strict=True)]
    shares = [100 * ms / whole for ms, whole in zip(exposed, split, strict=True)]
    idle = [100 * (1 - b / a) for a, b in zip(split, part, strict=True)]
    cell.sample(region, "exposed_share", "%", shares)
    cell.sample(region, "not_own_work", "%", idle)
    cell.fact(f"comm_ms.{region}", comm_us / _US_OF_MS, "ms")
    cell.fact(f"floor_ms.{region}", floor_ms, "ms")
    cell.fact(f"bubble_law.{region}", 100 * way.idle / (1 + way.idle), "%")
    cell.fact(f"predicted_ms.{region}", predicted, "ms")
    hidden = way.overlap.hidden_ms(median(part), comm_us)
    cell.fact(f"slowed_ms.{region}", way.overlap.loss * hidden, "ms")
    errors = [100 * abs(predicted / ms - 1) for ms in split]
    cell.sample(region, "prediction_error", "%", errors)
    return Outcome(median(split), predicted, median(errors))


def allocated(world: World) -> float:
    """Return the bytes of tensors on this GPU, 0 on a CPU."""
    return float(torch.cuda.memory_allocated()) if world.device == "cuda" else 0.0


def peak(world: World, step: Callable[[], object]) -> float:
    """Return the most bytes that a step adds to what is there before it, 0 on a CPU."""
    if world.device != "cuda":
        return 0.0
    world.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    world.synchronize()
    return float(world.most(torch.cuda.max_memory_allocated() - before))
