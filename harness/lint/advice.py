"""Remarks on advice: what it has to beat, and the range that it is given for."""

import re
from collections.abc import Iterator

from harness.lint.study import Remark, Study
from harness.problem.needs import measured, rivals

_FEWEST = 3
"""Variants with which an advice has an alternative."""
_RANGE = re.compile(
    r"[–≤≥<>]|\b(?:to|from|up|over|under|least|most|more|less|any|all|every|larger|smaller)\b"
)
"""What a range is said with."""


def no_rival(study: Study) -> Iterator[Remark]:
    """Yield a remark on each advice whose row in the table has no best alternative.

    Its cases measure nothing but its two sides, or ``except`` leaves out all else. A study of two
    variants has none for any advice, which is told once.
    """
    if study.problem.advice and len(study.problem.variants) < _FEWEST:
        what = "with two variants, no advice has an alternative to beat"
        yield study.remark("no-rival", ("variants",), what, "measure what a reader would try")
        return
    for index, claim in enumerate(study.problem.claims):
        if claim.kind != "advice" or measured(study.problem, claim, rivals(study.problem, claim)):
            continue
        left_out = measured(study.problem, claim, list(claim.but))
        if left_out:
            what = f"{claim.id}: 'except' leaves out all that {claim.take!r} has to beat"
            remedy = f"let one of them stand, such as {left_out[-1]!r}"
        else:
            what = f"{claim.id}: its cases measure nothing else that {claim.take!r} has to beat"
            remedy = "measure what a reader would try instead"
        yield study.remark("no-rival", ("claims", index), what, remedy)


def no_range(study: Study) -> Iterator[Remark]:
    """Yield a remark on each advice that is measured in one case and says more than one point.

    A point names its sizes ("M = 1, 4096²"); a range, or a kind of work, names none or two.
    """
    for index, claim in enumerate(study.problem.claims):
        if claim.kind == "advice" and len(claim.at) == 1 and not _is_point(claim.holds_for):
            what = f"{claim.id}: it is measured in one case and says {claim.holds_for!r}"
            remedy = (
                "measure both ends of the range under 'at', or name the sizes that were measured"
            )
            yield study.remark("no-range", ("claims", index, "at"), what, remedy)


def _is_point(holds_for: str) -> bool:
    return bool(re.search(r"\d", holds_for)) and not _RANGE.search(holds_for)
