"""Why a kernel or a copy takes longer or shorter than before, as far as a timeline shows."""

from harness.analysis.diff.aggregate import Side
from harness.analysis.diff.names import changed_words, stem

_ARROW = " → "
_LABELS = {"grid": "grid", "block": "block", "registers": "registers", "shared_bytes": "shared B"}


def reasons(a: Side, b: Side, per: tuple[int, int]) -> tuple[str, ...]:
    """Return the differences between two sides of one row, the most informative first.

    ``per``: the number of steps and GPUs that A and B are summed over.
    """
    if not a.names or not b.names:
        return (f"{_each(a.count, per[0]) if a.names else _each(b.count, per[1])} a step",)
    differences = []
    if len(a.names) != len(b.names):
        kernels = "kernel" if len(a.names) == 1 else "kernels"
        differences.append(f"{len(a.names)} {kernels} → {len(b.names)}")
    counts = _each(a.count, per[0]), _each(b.count, per[1])
    if counts[0] != counts[1]:
        differences.append(f"launches a step {_ARROW.join(counts)}")
    sizes = _each(a.bytes or 0, per[0]), _each(b.bytes or 0, per[1])
    if None not in (a.bytes, b.bytes) and sizes[0] != sizes[1]:
        differences.append(f"bytes a step {_ARROW.join(sizes)}")
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
