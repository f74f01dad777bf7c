"""What profilers cost the host, and how well the diagnosis takes it off.

    python benchmarks/recording_cost.py measure FOLDER [NAME …]   # on a GPU, with torch
    python benchmarks/recording_cost.py grade FOLDER              # writes JSON

``measure`` times a step of each program bare and under torch.profiler with several options, and
leaves the traces in FOLDER. With ``--nsys`` it times a step bare and while nsys records, for
``nsys profile --capture-range=cudaProfilerApi --capture-range-end=repeat:N``, whose exports go
to FOLDER as NAME.nsys.sqlite.

``grade`` compares the idle share that the diagnosis concludes from each recording with the true
one: 1 less the busy time of a step over its bare time. And it says which part of the host's time
recording took in the programs that the host limits, and by how much the median of the others
misses each. harness/analysis/idle/recording_cost.py has its constants from there.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from profiled_programs import PROGRAMS, Step

OPTIONS: dict[str, dict[str, bool]] = {
    "plain": {},
    "shapes": {"record_shapes": True},
    "stack": {"with_stack": True},
    "all": {"record_shapes": True, "with_stack": True, "profile_memory": True, "with_flops": True},
}
STEPS, ROUNDS, WARM = 6, 5, 8
HOST_LIMITED = 0.5
"""Of the bare step: a program that is idle for longer is limited by its host."""
WAITING = ("gpt_sleep", "host_json", "host_python", "wait_lock", "wait_queue", "wait_read")
"""Programs whose host sleeps, waits or computes without launching."""


def timed(step: Step) -> float:
    """Return the mean wall time of STEPS steps in µs."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start) / STEPS / 1e3


def profiled(step: Step, trace: Path, options: dict[str, bool]) -> float:
    """Return the same under torch.profiler, after its warm-up; write the trace."""
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    plan = schedule(wait=1, warmup=2, active=STEPS, repeat=1)
    with profile(activities=activities, schedule=plan, **options) as profiler:
        for _ in range(3):
            step()
            profiler.step()
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for number in range(STEPS):
            step()
            if number < STEPS - 1:
                profiler.step()
        torch.cuda.synchronize()
        wall = (time.perf_counter_ns() - start) / STEPS / 1e3
    profiler.export_chrome_trace(str(trace))
    return wall


def under_nsys(step: Step) -> float:
    """Return the same while nsys records."""
    import torch

    torch.cuda.cudart().cudaProfilerStart()
    start = time.perf_counter_ns()
    for number in range(STEPS):
        with torch.cuda.nvtx.range(f"step {number}"):
            step()
    torch.cuda.synchronize()
    wall = (time.perf_counter_ns() - start) / STEPS / 1e3
    torch.cuda.cudart().cudaProfilerStop()
    return wall


def measure(folder: Path, names: list[str], *, nsys: bool) -> None:
    """Write NAME.torch.times or NAME.nsys.times, and the traces, of each program."""
    import torch

    for name in names or PROGRAMS:
        step = PROGRAMS[name]()
        for _ in range(WARM):
            step()
        result: dict[str, Any] = {"name": name, "gpu": torch.cuda.get_device_name()}
        result |= {"torch": torch.__version__, "bare": [timed(step) for _ in range(ROUNDS)]}
        if nsys:
            result["nsys"] = under_nsys(step)
        else:
            for option, arguments in OPTIONS.items():
                result[option] = profiled(step, folder / f"{name}.{option}.json", arguments)
            result["bare_after"] = [timed(step) for _ in range(ROUNDS)]
        kind = "nsys" if nsys else "torch"
        (folder / f"{name}.{kind}.times").write_text(json.dumps(result), encoding="utf-8")


def bare_us(times: dict[str, Any]) -> float:
    """Return how long a step takes without a profiler: the median before and after."""
    return statistics.median(times["bare"] + times.get("bare_after", []))


def graded(folder: Path) -> list[dict[str, Any]]:
    """Return of each recording the true idle share, the recorded, and the concluded one."""
    return [
        row
        for path in sorted(folder.glob("*.torch.times")) + sorted(folder.glob("*.nsys.times"))
        for row in _of_program(path)
    ]


def _of_program(path: Path) -> list[dict[str, Any]]:
    times = json.loads(path.read_text(encoding="utf-8"))
    name, kind, _ = path.name.split(".")
    files = [(option, path.with_name(f"{name}.{option}.json")) for option in OPTIONS]
    if kind == "nsys":
        files = [("nsys", path.with_name(f"{name}.nsys.sqlite"))]
    rows = []
    for option, recording in files:
        if recording.exists():
            bare = bare_us(times)
            part = max(times[option] - bare, 0.0) / times[option]
            row = {"name": name, "option": option, "bare_us": round(bare), "part": round(part, 3)}
            rows.append(row | _idle(recording, bare))
    return rows


def _idle(path: Path, bare: float) -> dict[str, Any]:
    """Return the idle shares of a recording, its first finding, and what recorded it."""
    import polars as pl

    from harness.analysis import intervals
    from harness.analysis.diagnose import conclude, timeline_view
    from harness.analysis.recording import conditions_of
    from harness.extract import door

    (capture,) = door.capture(path).captures.values()
    (view,) = timeline_view.views([capture])
    tables, end = capture.tables, pl.col("start_ns") + pl.col("duration_ns")
    named = pl.col("name").cast(pl.String).str.contains(r"^(ProfilerStep#|step )\d+$")
    marks = tables["ranges"].filter(named).select("start_ns", end_ns=end)
    inside = pl.col("start_ns").is_between(marks["start_ns"].min(), marks["end_ns"].max())
    launched = tables["api_calls"].filter(inside)["correlation"].unique()
    ops = tables["gpu_ops"].filter(pl.col("correlation").is_in(launched.implode()))
    # Steps overlap on the device where the host leads, so work counts by its launch.
    busy = intervals.length(intervals.union(ops.select("start_ns", end_ns=end))) / marks.height
    first = conclude.diagnose([capture]).findings[0].id
    recorded = sum(track.recorded_ns for track in view.tracks)
    ran = sum(track.busy_ns for track in view.tracks)
    shares = {
        "true": 1 - busy / 1e3 / bare,
        "recorded": 1 - ran / recorded,
        "concluded": 1 - ran / view.span_ns,
    }
    rounded = {key: round(max(value, 0.0), 3) for key, value in shares.items()}
    conditions = conditions_of(capture)
    by = ", ".join(conditions.get(key, "") for key in ("profiler", "GPU", "CUDA"))
    return rounded | {"first": first, "by": by}


def parts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return by option the part of the host's time that recording took in host-limited programs.

    Of each: the median, the 10th and 90th percentile, and the median of by how much the median of
    the other programs misses one.
    """
    by_option = {
        "plain": ("plain",),
        "shapes or stack": ("shapes", "stack"),
        "all": ("all",),
        "nsys": ("nsys",),
    }
    found: dict[str, Any] = {}
    for label, options in by_option.items():
        limited = [
            row
            for row in rows
            if row["option"] in options
            and row["true"] >= HOST_LIMITED
            and row["name"] not in WAITING
        ]
        values = [row["part"] for row in limited]
        if len(values) < 2:
            continue
        tenths = statistics.quantiles(values, n=10, method="inclusive")
        misses = [
            abs(
                row["part"]
                - statistics.median(
                    other["part"] for other in limited if other["name"] != row["name"]
                )
            )
            for row in limited
        ]
        found[label] = {
            "recordings": len(values),
            "median": round(statistics.median(values), 3),
            "tenth": round(tenths[0], 3),
            "ninetieth": round(tenths[-1], 3),
            "left out misses by": round(statistics.median(misses), 3),
        }
    return found


def main() -> int:
    """Measure, or print what the measurement says as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("measure", "grade"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--nsys", action="store_true")
    given = parser.parse_args()
    if given.what == "measure":
        measure(given.folder, given.names, nsys=given.nsys)
        return 0
    rows = graded(given.folder)
    near = {
        key: sum(abs(row[key] - row["true"]) <= 0.1 for row in rows)
        for key in ("recorded", "concluded")
    }
    by = sorted({row.pop("by") for row in rows})
    said = {
        "by": by,
        "parts": parts(rows),
        "recordings": len(rows),
        "within 0.1": near,
        "rows": rows,
    }
    print(json.dumps(said, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
