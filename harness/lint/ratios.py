"""Remarks on what the first number of a study is made of."""

from collections.abc import Iterator

from harness.lint.study import Remark, Study

_RATIOS = ("×", "%")
"""Units of a metric that is a ratio already."""


def ratio_of_ratios(study: Study) -> Iterator[Remark]:
    """Yield a remark on the card's claim, or a headline claim, that divides a ratio by a ratio.

    What a reader feels is a time, a rate or bytes, over another one.
    """
    card = study.problem.card
    for index, claim in enumerate(study.problem.claims):
        if not claim.headline and not (card and card.claim == claim.id):
            continue
        units = {study.problem.metric(name).unit for name, _, _ in claim.sides}
        if len(claim.sides) > 1 and units <= set(_RATIOS):
            what = f"{claim.id}: divides one value of {claim.metric!r}, itself a ratio, by another"
            remedy = "lead with a time, a rate or bytes over another, or bound the ratio itself"
            yield study.remark("ratio-of-ratios", ("claims", index, "metric"), what, remedy)
