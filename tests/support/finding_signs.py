"""The findings that no specimen of problem 6 shows: each in a capture, and as a picture."""

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from harness.analysis import communication
from harness.analysis.diagnose import kernel_thresholds, kernel_view
from harness.analysis.diagnose.launch import warps
from harness.analysis.step_timeline import StepTimeline
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.extract import door
from harness.problem.manifest import find
from harness.report import bars
from harness.report.numbers import number
from harness.report.sections import gpu_timeline, memory_timeline, request_timeline
from tests.support import memory_programs, serving_programs
from tests.support.paths import DATA, ROOT
from tests.support.programs import US, Program
from tests.support.snapshots import tables_of

SIGHT = Path("tests/data/held_out/second_sight")
"""Programs whose author had not read the diagnosis; launches of an H200."""
SERVING = Path("reports/9-serving/nvidia-h200")
_PARTS, _WAITS = 5, 2
"""Of a launch: the busiest parts, and the longest waits, that are drawn."""
_SEEN = 0.01
"""Of a ceiling, or of warps' cycles: less cannot be seen as a bar."""
_LOAD = (
    "A row per request: waiting (grey), prefill (orange), decode (blue; pale: stalled), preempted"
    " (red)."
)
_LAUNCH = (
    "Blue: the busiest parts of the GPU, of their ceilings. Orange: the longest waits of warps, of"
    " their cycles."
)
_MEMORY = "Memory over the events of torch's allocator."
_ALLOCATOR = "the tests' model of torch's allocator"


class Sign(NamedTuple):
    """A capture that has a finding, where it comes from, and its picture with a caption.

    ``draw`` returns SVG. ``caption`` says where a picture is a schematic.
    """

    capture: Callable[[], Capture]
    source: str
    draw: Callable[[Capture], str | None]
    caption: str


def _written(name: str) -> str:
    return f"[`{name}.py`](../{SIGHT}/{name}.py) on an H200"


def _load(case: str, variant: str) -> Sign:
    problem = find(ROOT / "problems", "9")
    path = SERVING / "captures" / f"{case}.{variant}.load.json.gz"
    what = f"{problem.cases[case].label}, {problem.variants[variant].label}"
    source = f"[study 9](../{SERVING}/README.md), [{what}](../{path})"
    return Sign(lambda: _only(path), source, _draw_load, _LOAD)


def _only(path: Path) -> Capture:
    (capture,) = door.capture(ROOT / path).captures.values()
    return capture


def _draw_load(capture: Capture) -> str | None:
    return request_timeline.draw_load(capture.tables)


def _launch(name: str) -> Sign:
    return Sign(lambda: _kept(name), f"the kernel of {_written(name)}", parts, _LAUNCH)


def _kept(name: str) -> Capture:
    made = {table: evidence.empty(table) for table in evidence.SCHEMAS}
    for table in ("counters", "instructions"):
        rows = pl.read_parquet(ROOT / SIGHT / f"{table}.parquet").filter(pl.col("cell") == name)
        made[table] = pl.concat([made[table], rows], how="diagonal_relaxed")
    return Capture(name, made, {}, "ncu")


def parts(capture: Capture) -> str:
    """Return the busiest parts of a launch and its warps' longest waits as bars, in percent."""
    (view,) = kernel_view.views([capture])
    used = {name: each.use for name, each in view.used.items()}
    waits = {
        f"warps wait: {reason}": part
        for reason, part in warps.stalls(view).items()
        if reason not in warps.RUNNING
    }
    shown = [
        *((*each, False) for each in _largest(used, _PARTS)),
        *((*each, True) for each in _largest(waits, _WAITS)),
    ]
    rows = [
        {"label": label, "shown": number(100 * part), "baseline": waits}
        | dict.fromkeys(("value", "low", "high"), 100 * part)
        for label, part, waits in shown
    ]
    ceiling = 100 * kernel_thresholds.AT_CEILING
    line = {"value": ceiling, "shown": f"limits from {number(ceiling)}", "baseline": False}
    return bars.draw(rows, [line], "%")


def _largest(values: dict[str, float], most: int) -> list[tuple[str, float]]:
    seen = [each for each in values.items() if each[1] >= _SEEN]
    return sorted(seen, key=lambda each: -each[1])[:most]


def _snapshot(name: str) -> Sign:
    def capture() -> Capture:
        made: dict[str, Any] = {table: evidence.empty(table) for table in evidence.SCHEMAS}
        return Capture(name, made | tables_of(DATA / "memory" / f"{name}.pickle.zst"), {})

    return Sign(capture, f"a snapshot of {_written(name)}", _draw_memory, _MEMORY)


def _allocated(program: Callable[..., Any]) -> Sign:
    def capture() -> Capture:
        with tempfile.TemporaryDirectory() as folder:
            made: Capture = program(sick=True).capture(Path(folder))
        return made

    return Sign(capture, _ALLOCATOR, _draw_memory, f"Schematic, by {_ALLOCATOR}. {_MEMORY}")


def _draw_memory(capture: Capture) -> str | None:
    return memory_timeline.draw_capture(capture.tables)


def _planned() -> Capture:
    program, _ = serving_programs.PAIRS["scheduler-bubble: a slow planner"]
    with tempfile.TemporaryDirectory() as folder:
        return program.capture(Path(folder))


def _draw_steps(_: Capture) -> str:
    """Return steps that are planned in turn and ahead, by a host and a GPU that are made up."""
    panels = [("planned in turn", _steps(ahead=False)), ("planned ahead", _steps(ahead=True))]
    return gpu_timeline.draw(panels)


def _steps(*, ahead: bool) -> StepTimeline:
    program = Program()
    for _ in range(4):
        program.work(250 * US)
        for _ in range(4):
            program.launch(90 * US)
        if not ahead:
            program.synchronise()
    program.synchronise()
    made = program.tables()
    gpus = communication.device_time(made["gpu_ops"]).select(
        "device", "communication_ns", busy_ns=pl.col("span_ns") - pl.col("idle_ns")
    )
    text = pl.col("name", "kind").cast(pl.String)
    calls = made["api_calls"].with_columns(pl.col("name").cast(pl.String))
    return StepTimeline("simulation", program.now, gpus, made["gpu_ops"].with_columns(text), calls)


@cache
def capture_of(id_: str) -> Capture:
    """Return the capture of a finding's sign, which is read once."""
    return signs()[id_].capture()


@cache
def signs() -> dict[str, Sign]:
    """Return the sign of each finding that problem 6 has no specimen of, by id."""
    ahead = f"[planned ahead](../{SERVING}/README.md#1-what-a-user-sees)"
    planned = f"an engine in miniature (study 9 has a rung that is {ahead})"
    steps = "Schematic: four steps, on one scale of time."
    return {
        "scheduler-bubble": Sign(_planned, planned, _draw_steps, steps),
        "prefill-interference": _load("arrivals", "ahead"),
        "batch-underfilled": _load("ragged", "static"),
        "kv-cache-pressure": _load("tight", "prefixes"),
        "grid-barrier": _launch("q28"),
        "l1-bound": _launch("q31"),
        "small-tiles": _launch("q24"),
        "frequent-barriers": _launch("q25"),
        "constant-divergence": _launch("q30"),
        "local-arrays": _launch("q27"),
        "global-sums": _launch("q35"),
        "slow-range-reduction": _launch("q21"),
        "deferred-free": _snapshot("q48"),
        "kept-checkpoint": _snapshot("q47"),
        "kept-activations": _allocated(memory_programs.inferred),
        "kept-copies": _allocated(memory_programs.remembered),
        "unused-gradients": _allocated(memory_programs.adapted),
    }
