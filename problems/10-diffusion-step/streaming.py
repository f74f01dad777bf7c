"""When weights that wait on the host cost no time: a UNet's step against its copies, by size."""

import copy
import statistics

import models
import turns
import ways
from streamed import Streamed, blocks_of, to_device_gb_s

from harness.probe.cell import Cell


def run(cell: Cell) -> None:
    """Alternate between resident and streamed weights at each size."""
    with cell.phase("load"):
        base = models.denoiser(cell.params, cell.device)
        ways.prepare(base, cell.params)
        other = copy.deepcopy(base)
        weights = Streamed(blocks_of(other, 1.0), cell.device)
    resident, streamed = ways.make(base, {}).step, ways.make(other, {}).step
    cell.fact("copied", weights.bytes / 1e9, "GB")
    copy_ms, worst = 0.0, 0.0
    if cell.device == "cuda":
        rate = to_device_gb_s(cell.device)
        cell.fact("link", rate, "GB/s")
        copy_ms = weights.bytes / rate / 1e6
        cell.fact("copy_ms", copy_ms, "ms")
    for side in cell.params["sides"]:
        given = models.inputs(cell.params, cell.device, (side, side))
        differing = float((resident(given) != streamed(given)).sum())
        cell.fact(f"differing.{side}", differing)
        worst = max(worst, differing)
        steps = {"resident": lambda: resident(given), "streamed": lambda: streamed(given)}  # noqa: B023
        with cell.exclusively(str(side)):
            found = turns.alternated(steps, cell.params["turns"], cell.synchronize)
        times = {name: found[name]["step_ms"] for name in steps}
        predicted = max(copy_ms, statistics.median(times["resident"]))
        for name, values in times.items():
            cell.sample(f"{name}-{side}", "step_ms", "ms", values)
        pairs = list(zip(times["streamed"], times["resident"], strict=True))
        cell.sample(str(side), "over_resident", "×", [ours / theirs for ours, theirs in pairs])
        cell.sample(str(side), "over_predicted", "×", [ours / predicted for ours, _ in pairs])
    cell.fact("differing.worst", worst)
