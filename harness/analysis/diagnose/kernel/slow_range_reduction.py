"""Sines and cosines of large arguments, which CUDA reduces by its slow path.

sinf, cosf, sincosf and tanf multiply an argument of more than 105 615 by 2/pi to 192 bits (Payne
and Hanek): a loop of integer multiplies, shifts, and a product in FP64. It shows in the comparison
with that limit, and in what warps executed between it and the conversion from FP64 at the end.
Source: "CUDA C++ Programming Guide", Mathematical Functions (the slow path); the constants are in
the SASS.
Gain: the slow path's part of the busiest part's time, or of warps' samples where none is busy.

Where to look: In a kernel of sines the ALU and FMA pipes execute IMAD.WIDE, SHF and LOP3, and XU is
not busy. In the SASS a loop stands behind FSETP with 105615. Often few threads of a warp are in it.

Neighbours: special-function-bound is the fast path, which fills XU. integer-bound counts integers
that the program wrote. warp-divergence may be seen beside it, where some arguments are small;
fp64-bound is not, as one product in FP64 ends each reduction.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, resources

KIND = FindingKind(
    "slow-range-reduction",
    "thread",
    "Sines and cosines of large arguments take the slow path, which reduces them by integers.",
    fix=(
        "keep phases in turns, subtract the nearest integer, then sincospif (sinpif, cospif)",
        "subtract whole turns in a wider type first, then __sincosf on the small argument",
        "a recurrence (rotation by a fixed angle) instead of a sine for each step",
    ),
)
_LIMIT = ", 105615"
"""The argument from which the slow path is taken, in the SASS of the comparison."""
_END = "F2F.F32.F64"
_PARTS = (resources.ISSUE, resources.ALU, resources.FMA, resources.FP64, resources.XU)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the part of the instructions that the slow path takes."""
    arguments, slow, executed, samples = _slow_path(view)
    whole = sum(each.executed for each in view.instructions)
    sampled = sum(each.samples for each in view.instructions)
    if not arguments or not sampled or executed < thresholds.RANGE_REDUCTION * whole:
        return
    part = executed / whole
    busy = view.use(*_PARTS)
    saved = gain.of_less_work(view, _PARTS, part, busy)
    if busy < thresholds.AT_CEILING:
        saved = min(samples / sampled, 1 - view.use_of_others(*_PARTS))
    yield view.finding(
        KIND,
        saved,
        view.evidence(
            "instructions of the slow path", part * 100, thresholds.RANGE_REDUCTION * 100
        ),
        view.evidence("executions of it, of those of sine or cosine", slow / arguments * 100),
    )


def _slow_path(view: KernelView) -> tuple[int, int, int, int]:
    """Return warps' arguments, those that took the slow path, its instructions and samples."""
    arguments = slow = executed = samples = 0
    inside: list[tuple[int, int]] | None = None
    for each in view.instructions:
        if each.opcode == "FSETP" and _LIMIT in each.sass:
            arguments += each.executed
            inside = []
        elif inside is not None:
            inside.append((each.executed, each.samples))
            if _END in each.sass:
                slow += each.executed
                executed += sum(row[0] for row in inside)
                samples += sum(row[1] for row in inside)
                inside = None
    return arguments, slow, executed, samples
