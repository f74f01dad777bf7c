"""Several ways in one process, in turn, as clocks of two processes differ by more than an exchange.

Each turn runs every way in a new random order. What a turn's times share, such as a clock that
drifts, drops out of their differences and ratios.
"""

import math
import random
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import model
import torch
from checking import check
from crossings import Taken, crossings
from library_ways import LIBRARY
from link import ROUNDS
from pair import Pair
from sweep import KINDS, OWN

ALONE = "alone"
NCCL = "nccl"
WARM_TURNS = 2
_GOAL_KB = (8, 1024)
"""Sizes between which own kernels are held against NCCL."""

_MODELS = {
    2: ("model_us_2", "crossing_model_2"),
    4: ("model_us_4", "crossing_model_4"),
    8: ("model_us_8", "crossing_model_8"),
}
"""By number of GPUs, the facts of the model: µs by size and way, KiB where two ways cross."""
_MODELLED = {"one-shot": "one-shot", "two-shot": "two-shot", "packed": "packed-one-shot"}
"""Exchanges of a step that the model knows, and as what."""

Facts = dict[str, list[float]]


def steps(cell: Any, pair: Pair) -> None:
    """Time the step of every exchange in turn; state what each exposes, over the link's floor."""
    with cell.phase("load"):
        pair.both("load")
    contenders: dict[str, list[Any]] = cell.params["contenders"]
    with cell.phase("begin"):
        pair.have_gpus_alone()
        for name, (kind, graph) in contenders.items():
            pair.both("begin", name, kind, graph)
        pair.both("load_input", 0)
    with cell.phase("check"):
        pair.have_gpus_alone()
        for name in contenders:
            if name != ALONE:
                check(cell, pair, name)
    with cell.exclusively():
        link = stated_link(cell, pair)
        state_straggler(cell, pair)
        times = turns(cell, {name: partial(timed_steps, cell, pair, name) for name in contenders})
    reduces = 2 * cell.params["layers"]
    floor_us = floor(2 * cell.params["batch"] * pair.first.shape.width, link)
    cell.fact("all_reduces", reduces, "all-reduces")
    cell.fact("message_bytes", 2 * cell.params["batch"] * pair.first.shape.width, "B")
    cell.fact("floor_us", floor_us, "µs")
    exposed = {}
    for name, ms in times.items():
        cell.sample(name, "step_ms", "ms", ms)
        if name == ALONE:
            continue
        pairs = list(zip(ms, times[ALONE], strict=True))
        exposed[name] = [1e3 * (own - alone) / reduces for own, alone in pairs]
        cell.sample(name, "exposed_us", "µs", exposed[name])
        cell.sample(name, "exposed_over_floor", "×", [us / floor_us for us in exposed[name]])
        shares = [100 * (own - alone) / own for own, alone in pairs]
        cell.sample(name, "exposed_share", "%", shares)
        cell.sample(name, "of_nccl_graph", "×", ratios(ms, times["nccl-graph"]))
    state_model(cell, pair, median(times[ALONE]), exposed, link)


def sweep(cell: Any, pair: Pair) -> None:
    """Time all-reduces of many sizes, each way in turn.

    With the param ``others``, those of libraries and of any number of ranks are among them.
    """
    others = cell.params.get("others", False)
    with cell.phase("begin"):
        pair.have_gpus_alone()
        for kb in cell.params["sizes_kb"]:
            pair.both("sweep_begin", kb << 10, *([True] if others else []))
    with cell.exclusively("link"):
        link = stated_link(cell, pair)
    worst: list[list[float]] = []
    taken: Taken = {}
    for kb in cell.params["sizes_kb"]:
        region, size = f"{kb}KiB", kb << 10
        kinds = pair.first.sweep_kinds(size)
        with cell.exclusively(region):
            us = turns(cell, {kind: partial(timed_sums, cell, pair, size, kind) for kind in kinds})
        taken[kb] = {kind: median(values) for kind, values in us.items()}
        cell.sample(region, "floor_us", "µs", [floor(size, link)])
        for kind, values in us.items():
            cell.sample(region, f"{kind.replace('-', '_')}_us", "µs", values)
        if "fused" in us:
            added = [a - b for a, b in zip(us["fused"], us["add-norm"], strict=True)]
            cell.sample(region, "fused_adds_us", "µs", added)
        best = min(KINDS[1:], key=taken[kb].__getitem__)
        of_nccl = ratios(us[best], us[NCCL])
        if others:
            state_others(cell, region, us, best)
        cell.fact(f"best.{region}", best)
        cell.sample(region, "best_of_nccl", "×", of_nccl)
        rate = [100 * size / value / 1e3 / median(link["gb_s"]) for value in us[best]]
        cell.sample(region, "link_share", "%", rate)
        if _GOAL_KB[0] <= kb <= _GOAL_KB[1]:
            worst.append(of_nccl)
    for name, why in (pair.first.left_out() if others else {}).items():
        cell.fact(f"left_out.{name}", why)
    cell.sample("8KiB-1MiB", "best_of_nccl", "×", [max(each) for each in zip(*worst, strict=True)])
    state_models(cell, taken, known_of(link))


def state_others(cell: Any, region: str, us: Facts, best: str) -> None:
    """State the fastest own all-reduce over the fastest of libraries."""
    libraries = [name for name in (NCCL, *LIBRARY) if name in us]
    rival = min(libraries, key=lambda name: median(us[name]))
    cell.fact(f"rival.{region}", rival)
    cell.sample(region, "best_of_libraries", "×", ratios(us[best], us[rival]))


def state_models(cell: Any, taken: Taken, known: model.Measured) -> None:
    """State where ways cross, and what the model says of times and crossings."""
    for pair, kib in crossings(taken).items():
        cell.fact(f"crossing_kib.{pair}", kib, "KiB")
    for gpus, (us_name, kib_name) in _MODELS.items():
        modelled = model.series(known, gpus, taken)
        for kb, us in modelled.items():
            for kind in OWN:
                if kind in us:
                    place = f"{kb}KiB-{kind.removeprefix('any-')}"
                    cell.fact(f"{us_name}.{place}", us[kind], "µs")
        for pair, kib in crossings(modelled).items():
            cell.fact(f"{kib_name}.{pair}", kib, "KiB")


def known_of(link: Facts, alone_ms: float = 0.0, exposed_us: float = 0.0) -> model.Measured:
    """Return the model's inputs: the link's medians, and a step's times."""
    medians = {name: median(values) for name, values in link.items()}
    return model.Measured(alone_ms=alone_ms, exposed_us=exposed_us, **medians)


def stated_link(cell: Any, pair: Pair) -> Facts:
    """Measure the link and keep its samples; return them."""
    link: Facts = pair.both("measure_link")
    cell.sample("link", "signal_us", "µs", link["signal_us"])
    cell.sample("link", "fenced_us", "µs", link["fenced_us"])
    cell.sample("link", "gb_s", "GB/s", link["gb_s"])
    cell.fact("signals", ROUNDS, "signals")
    return link


def floor(size: int, link: Facts) -> float:
    """Return the least µs of an all-reduce of ``size`` bytes over two GPUs.

    Each sends all of it, both ways at once, and the last byte takes as long as a signal does.
    """
    return size / median(link["gb_s"]) / 1e3 + median(link["signal_us"])


def state_straggler(cell: Any, pair: Pair) -> None:
    """State by how much the GPUs differ in their own work, and in their clocks."""
    (first_ms, first_mhz), (second_ms, second_mhz) = pair.both("time_alone", ALONE)
    cell.fact("alone_ms.first", first_ms, "ms")
    cell.fact("alone_ms.second", second_ms, "ms")
    cell.fact("sm_mhz.first", first_mhz, "MHz")
    cell.fact("sm_mhz.second", second_mhz, "MHz")
    apart = abs(first_ms - second_ms) / min(first_ms, second_ms)
    cell.fact("straggler_share", 100 * apart, "%")
    clocks = abs(first_mhz - second_mhz) / min(first_mhz, second_mhz)
    cell.fact("clock_difference", 100 * clocks, "%")


def state_model(cell: Any, pair: Pair, alone_ms: float, exposed: Facts, link: Facts) -> None:
    """State what the model expects of more GPUs that each do the work of one of these two."""
    size = 2 * cell.params["batch"] * pair.first.shape.width
    for kind, way in _MODELLED.items():
        known = known_of(link, alone_ms, median(exposed[kind]))
        four, eight = (
            model.step_ms(known, way, gpus, size, 2 * cell.params["layers"]) for gpus in (4, 8)
        )
        cell.fact(f"model_ms_4.{kind}", four, "ms")
        cell.fact(f"model_ms_8.{kind}", eight, "ms")


def turns(cell: Any, ways: dict[str, Callable[[], float]]) -> Facts:
    """Return a time of every way a turn, after some turns that do not count."""
    taken: Facts = {name: [] for name in ways}
    for turn in range(WARM_TURNS + cell.params["turns"]):
        for name in random.sample(list(ways), len(ways)):
            value = ways[name]()
            if turn >= WARM_TURNS:
                taken[name].append(value)
    return taken


def timed_steps(cell: Any, pair: Pair, name: str) -> float:
    """Return ms a step of a few on rank 0's GPU, behind one that brings the ranks together."""
    count = cell.params["steps_a_turn"]
    return timed(lambda: pair.go("step", name), count) / count


def timed_sums(cell: Any, pair: Pair, size: int, kind: str) -> float:
    """Return µs an all-reduce of some batches of them."""
    batches = cell.params["batches_a_turn"]
    count = batches * pair.first.batched(size, kind)
    return 1e3 * timed(lambda: pair.go("sweep_step", size, kind), batches) / count


def timed(launch: Callable[[], object], count: int) -> float:
    """Return ms from the end of a first launch to the end of ``count`` more."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    launch()
    begin.record()
    for _ in range(count):
        launch()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end))


def ratios(values: list[float], others: list[float]) -> list[float]:
    """Return each value over the other of the same turn."""
    return [a / b if b else math.nan for a, b in zip(values, others, strict=True)]
