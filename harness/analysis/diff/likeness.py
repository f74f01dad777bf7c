"""Whether two timelines can be held against each other: GPU, tracing, steps, kernels in common."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from harness.analysis.diff.gpu import GpuDiff
from harness.analysis.diff.names import stem
from harness.analysis.kernels import family
from harness.analysis.units import counted

if TYPE_CHECKING:
    import polars as pl

_MEASURED = ("recorded", "tracing cost", "GPU work", "not read")
"""Conditions that say how a recording turned out: two of one program never agree in them."""
_GRAPH = "[CUDA graph 0]"
_LITTLE = 0.3
"""Share of both sides' kernel time in common below which two programs may be different ones."""


def settings(made: Mapping[str, str]) -> dict[str, str]:
    """Return the conditions that a capture was made under, without those that it measured."""
    return {what: value for what, value in made.items() if what not in _MEASURED}


def with_tables(made: Mapping[str, str], tables: "Mapping[str, pl.DataFrame]") -> dict[str, str]:
    """Return the conditions, with what the tables tell where the reader did not: GPU and tracing.

    ``tables`` of a timeline; a capture of another kind holds no GPU work, and gains nothing.
    """
    conditions = settings(made)
    ops, devices = tables["gpu_ops"], tables["devices"]
    if ops.is_empty():
        return conditions
    used = devices.filter(devices["device"].is_in(ops["device"].unique().implode()))
    names = ", ".join(sorted(set(used["name"].drop_nulls())))
    if names:
        conditions.setdefault("GPU", names)
    if (ops["kind"].cast(str) == "graph").any():
        conditions.setdefault("tracing", "CUDA graphs as a whole")
    elif ops["graph_node"].drop_nulls().len():
        conditions.setdefault("tracing", "CUDA graphs by node")
    return conditions


def unlike(diff: GpuDiff, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each reason not to take a difference as a change of one program.

    Whether it is one program, :func:`other_programs` says.
    ``a`` and ``b``: conditions of the two timelines, as of :func:`with_tables`.
    """
    if "GPU" in a and "GPU" in b and a["GPU"] != b["GPU"]:
        yield f"A ran on {a['GPU']}, B on {b['GPU']}."
    graphs = [_of_graphs(made.get("tracing", "")) for made in (a, b)]
    if _traced_otherwise(diff, graphs):
        yield (
            f"A records {graphs[0]}, B {graphs[1]}: kernels inside graphs are seen on one side"
            " only, and tracing them one by one slows them."
        )
    if diff.gpus[0] != diff.gpus[1]:
        yield f"A ran on {counted(diff.gpus[0], 'GPU')}, B on {counted(diff.gpus[1], 'GPU')}."
    if diff.ranges[0] != diff.ranges[1]:
        marked = [f"marked by {name}" if name else "not marked" for name in diff.ranges]
        yield f"The steps of A are {marked[0]}, those of B {marked[1]}."
    elif any(diff.ranges) and diff.recorded[0] != diff.recorded[1]:
        yield f"A holds {counted(diff.recorded[0], 'step')}, B {diff.recorded[1]}."


def other_programs(diff: GpuDiff, a: Mapping[str, str], b: Mapping[str, str]) -> str:
    """Return why the two may be different programs, "" where their kernels do not say so."""
    graphs = [_of_graphs(made.get("tracing", "")) for made in (a, b)]
    shares = _in_common(diff)
    if _traced_otherwise(diff, graphs) or max(shares) >= _LITTLE:
        return ""
    if shares == (0, 0):
        return "A and B have no kernel in common: they may be different programs."
    in_a, in_b = (f"{100 * share:.0f} %" for share in shares)
    return (
        f"Kernels that A and B have in common take {in_a} of A's kernel time, {in_b} of B's:"
        " they may be different programs."
    )


def _traced_otherwise(diff: GpuDiff, graphs: Sequence[str]) -> bool:
    return all(graphs) and graphs[0] != graphs[1] and _has_graphs(diff)


def _of_graphs(tracing: str) -> str:
    return next((part for part in tracing.split("; ") if part.startswith("CUDA graphs")), "")


def _has_graphs(diff: GpuDiff) -> bool:
    """Return whether a graph stands as one operation on a side."""
    names = [name for row in diff.rows for name in (*row.a.names, *row.b.names)]
    return any(stem(name) == stem(_GRAPH) for name in names)


def _in_common(diff: GpuDiff) -> tuple[float, float]:
    """Return the share of each side's kernel time that kernels known on both sides take."""
    kernels = [row for row in diff.rows if row.kind == "kernel"]
    sides = [[row.a for row in kernels if row.a.names], [row.b for row in kernels if row.b.names]]
    names = [{_known_by(name) for side in of_side for name in side.names} for of_side in sides]
    shared = names[0] & names[1]
    shares = [
        sum(
            side.total_ns
            for side in of_side
            if any(_known_by(name) in shared for name in side.names)
        )
        / max(1, sum(side.total_ns for side in of_side))
        for of_side in sides
    ]
    return shares[0], shares[1]


def _known_by(name: str) -> str:
    """Return what stands for a kernel in another compilation: a generated name varies with it."""
    kind = family(name)
    return kind if kind.startswith("triton") else stem(name)
