"""The trace in which a program's CUDA graphs were captured: named, or found beside its trace."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.evidence.capture import Capture

CapturedBy = Annotated[
    Path | None,
    typer.Option(
        "--captured-by",
        help="The torch trace in which the CUDA graphs were captured: it names the modules and"
        " operators of their kernels. Found by itself beside a trace: NAME.capture.json.gz.",
        metavar="FILE",
    ),
]

_ENDINGS = (".json", ".json.gz", ".json.zst")
_CAPTURE = "graph_capture"
"""What engines' names of such traces hold: ``graph_capture_rank_0.….pt.trace.json.gz``
(AMD-AGI/TraceLens, its tests' traces of vLLM and SGLang)."""


def of(captures: "Sequence[Capture]", named: Path | None) -> "Capture | None":
    """Return the trace that ``named`` is, or that lies beside one of ``captures``; None without.

    One that is found is told on stderr. Raises UsageError where ``named`` captured no graph, and
    what the door raises.
    """
    from harness.cli import output
    from harness.ground.errors import UsageError

    if named is not None:
        capture = _torch(named)
        if capture is None:
            raise UsageError(
                "no CUDA graph was captured in it",
                where=named,
                remedy="record the engine's start with torch.profiler, with_stack=True",
            )
        return capture
    for each in captures:
        found = beside(Path(each.label)) if _replays(each) else None
        if found is not None and (capture := _torch(found)) is not None:
            output.say(f"note: CUDA graphs captured by {found}", to_stderr=True)
            return capture
    return None


def beside(trace: Path) -> Path | None:
    """Return the capture of graphs that lies beside a trace, None without or among several.

    That is ``X.capture.json.gz`` of ``X.json.gz``, or else the only trace called graph_capture.
    """
    ending = next((each for each in reversed(_ENDINGS) if trace.name.endswith(each)), None)
    if ending is None or not trace.is_file() or _CAPTURE in trace.name:
        return None
    stem = trace.name.removesuffix(ending)
    for each in _ENDINGS:
        if (own := trace.with_name(f"{stem}.capture{each}")).is_file():
            return own
    others = [file for file in trace.parent.glob(f"*{_CAPTURE}*") if file.name.endswith(_ENDINGS)]
    return others[0] if len(others) == 1 else None


def _torch(file: Path) -> "Capture | None":
    """Return a torch trace in which a graph was captured, None if it is another file."""
    from harness.extract import door

    captures = door.capture(file).captures.values()
    return next((each for each in captures if each.tables["captured_launches"].height), None)


def _replays(capture: "Capture") -> bool:
    """Return whether graphs are replayed in a capture that names operators, as torch traces do."""
    import polars as pl

    from harness.analysis.idle import host_calls

    if capture.tables["origins"].is_empty():
        return False
    calls = capture.tables["api_calls"]
    return bool(calls.select(host_calls.launches_graph(pl.col("name")).any()).item())
