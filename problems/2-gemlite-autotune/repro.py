"""Reproduce the gain of GemLite's autotuning: one linear layer, at one batch or across many.

Run by ``harness run 2``; ``--dry-run`` prints the command and environment of each cell. The tuning
itself is a process of its own, which the first cell of a variant and case starts: see tuning.py.
"""

import json

import torch
from layers import Layer, activations, build, relative_error
from ranking import Candidate, compared
from selection import bucket, described, grid, kernel_for, source
from tuning import Record, record, record_path, request

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load()
    cell.settings |= cell.params.get("sampling", {})
    with torch.inference_mode():
        if cell.params["bits"] == 16:
            with cell.phase("load"):
                layer = build(16, cell.params["n"], cell.params["k"], cell.device)
            measure(cell, layer)
        else:
            quantised(cell)
    cell.finish()


def quantised(cell: Cell) -> None:
    """Load the configurations of a tuning process, as a user's second start does, and measure."""
    with cell.phase("tune"):
        tuning = record(request(cell.params), record_path(cell.case))
    from autotuners import ready

    with cell.phase("load"):
        mode = cell.params["mode"]
        gemlite = ready("fast" if mode == "clean" else mode)
        configs = cell.out / "configs.json"
        configs.write_text(json.dumps(tuning["configs"]), encoding="utf-8")
        if not gemlite.load_config(str(configs), overwrite=True):
            raise SystemExit("GemLite did not load its configurations")
        layer = build(cell.params["bits"], cell.params["n"], cell.params["k"], cell.device)
    cell.fact("gemlite", gemlite.__version__)
    measure(cell, layer, tuning)


def measure(cell: Cell, layer: Layer, tuning: Record | None = None) -> None:
    """State the layer's facts and, for each batch, its kernel; then hand over the steps.

    In a sweep each batch is a region of its own, "m16", and its facts end in ".m16".
    """
    n, k = cell.params["n"], cell.params["k"]
    cell.fact("weights", n * k, "weights")
    cell.fact("weight_bytes", layer.stored_bytes, "B")
    sweep = "ms" in cell.params
    ms = cell.params["ms"] if sweep else [cell.params["m"]]
    inputs = {m: activations(m, k, cell.device) for m in ms}
    for m, x in inputs.items():
        ending = f".m{m}" if sweep else ""
        cell.fact(f"flop{ending}", 2 * m * n * k, "FLOP")
        cell.fact(f"io_bytes{ending}", layer.stored_bytes + 2 * m * (k + n), "B")
        with cell.phase("first"):
            cell.fact(f"relative_error{ending}", relative_error(layer, x))
        if tuning is not None:
            state_choice(cell, tuning, m, ending)
    if tuning is not None:
        state_tuning(cell, tuning)
    for m, x in inputs.items():
        cell.measure(f"m{m}" if sweep else "forward", lambda x=x: layer.forward(x))


def state_choice(cell: Cell, tuning: Record, m: int, ending: str) -> None:
    """State the kernel that ran, its configuration, and the tuning time."""
    from autotuners import autotuner, ran

    bits, n, k = (cell.params[key] for key in ("bits", "n", "k"))
    kernel, config = kernel_for(m, bits), ran(autotuner(m, bits))
    tiles, parts = grid(kernel, config, m, n, k)
    cell.fact(f"kernel{ending}", kernel)
    cell.fact(f"config{ending}", described(config))
    cell.fact(f"tiles{ending}", tiles, "programs")
    cell.fact(f"k_parts{ending}", parts, "programs")
    cell.fact(f"bucket{ending}", bucket(m), "rows")
    cell.fact(f"tuned_at{ending}", source(m, tuning["request"]["ms"], bits), "rows")
    point = tuning["points"][str(m)]
    cell.fact(f"tune_s{ending}", point["seconds"], "s")
    cell.fact(f"bench_s{ending}", point["bench_seconds"], "s")
    cell.fact(f"configurations{ending}", point["configurations"], "configurations")


def state_tuning(cell: Cell, tuning: Record) -> None:
    """State the time of compiling ahead, and the candidates' ranks with and without copies."""
    cell.fact("ahead_s", tuning["ahead_seconds"], "s")
    cell.fact("workers", tuning["request"]["workers"], "processes")
    if "candidates" not in tuning:
        return
    candidates = [Candidate(**candidate) for candidate in tuning["candidates"]]
    for name, (value, unit) in compared(candidates, tuning["choices"]).items():
        cell.fact(name, value, unit)
    for name, chosen in tuning["choices"].items():
        for number, index in enumerate(chosen, 1):
            cell.fact(f"{name}_choice.{number}", described(candidates[index].config))
        cold_of_choice = [candidates[index].cold for index in chosen]
        cell.sample("candidates", f"chosen_by_{name}", "us", cold_of_choice)
    ordered = sorted(candidates, key=lambda candidate: candidate.cold)
    for place, candidate in enumerate(ordered, 1):
        cell.fact(f"candidate.{place}", described(candidate.config))
    for metric in ("tuner", "uncopied", "cold", "warm"):
        values = [getattr(candidate, metric) for candidate in ordered]
        cell.sample("candidates", f"candidate_{metric}", "us", values)


if __name__ == "__main__":
    main()
