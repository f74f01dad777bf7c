"""Why a kernel or a copy takes longer or shorter than before, as far as a timeline shows."""

from harness.analysis.diff.aggregate import Side
from harness.analysis.diff.names import changed_words, stem

_LABELS = {"grid": "grid", "block": "block", "registers": "registers", "shared_bytes": "shared B"}


def reasons(a: Side, b: Side, steps: int) -> tuple[str, ...]:
    """Return the differences between two sides of one row, the most informative first.

    ``steps``: the number of steps that the sides are summed over.
    """
    if not a.names or not b.names:
        return (f"{_each(a.count + b.count, steps)} a step",)
    differences = []
    if len(a.names) != len(b.names):
        differences.append(f"{len(a.names)} kernels → {len(b.names)}")
    if a.count != b.count:
        differences.append(f"launches a step {_each(a.count, steps)} → {_each(b.count, steps)}")
    if None not in (a.bytes, b.bytes) and a.bytes != b.bytes:
        differences.append(
            f"bytes a step {_each(a.bytes or 0, steps)} → {_each(b.bytes or 0, steps)}"
        )
    if len(a.names) == len(b.names) == 1:
        differences += _of_one(a, b)
    if a.total_ns and b.total_ns and len(a.names) == len(b.names):
        ratio = b.total_ns * a.count / (a.total_ns * b.count)
        differences.append(f"each {ratio:.2f}× as long")
    return tuple(differences)


def _of_one(a: Side, b: Side) -> list[str]:
    """Return the differences in name and launch shape between one kernel and another."""
    differences = []
    is_copy = a.bytes is not None
    if a.names != b.names and (is_copy or stem(a.names[0]) == stem(b.names[0])):
        before, after = changed_words(a.names[0], b.names[0])
        differences.append(f"{before or 'nothing'} → {after or 'nothing'}")
    elif a.names != b.names:
        differences.append("another kernel in its place")
    shapes = dict(b.shapes)
    return differences + [
        f"{_LABELS[key]} {value} → {shapes[key]}"
        for key, value in a.shapes
        if shapes.get(key, value) != value
    ]


def _each(total: int, steps: int) -> str:
    return f"{total / steps:.6g}"
