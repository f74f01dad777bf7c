"""Remarks on what a manifest and a template say of a claim that is not reproduced."""

import math
import re
from collections.abc import Iterator

from harness.lint.sentences import NO_CONCLUSION
from harness.lint.study import Remark, Study
from harness.lint.template import printed
from harness.problem.model import AnyClaim, Problem

_SAYS_NOTHING = (0.0, 1.0, 100.0)
"""Bounds that only say which of two is more."""
_VERDICT = re.compile(r"\b(inconclusive|undecided)\b", re.IGNORECASE)
_OF_VERDICTS = ("concludes(", "holds(")


def negated_bound(study: Study) -> Iterator[Remark]:
    """Yield a remark on each ``otherwise`` that repeats the number of its claim's bound.

    A refuted claim prints its value and its bound; that the value misses the bound is known.
    """
    for index, claim in enumerate(study.problem.claims):
        for number in _numbers(claim.otherwise, study.problem.metric(claim.metric).unit):
            if any(math.isclose(number, said) for said in _ways_to_say(study.problem, claim)):
                what = f"{claim.id}: 'otherwise' repeats the bound, {number:g}"
                remedy = "say what is true instead; the value and the bound are printed behind it"
                yield study.remark("negated-bound", ("claims", index, "otherwise"), what, remedy)
                break


def open_assertion(study: Study) -> Iterator[Remark]:
    """Yield a remark on each sentence of a template that states a verdict itself.

    The next run may decide the claim, and the sentence stays.
    """
    for path, text in study.texts.items():
        for line, sentence in printed(text, allowed=NO_CONCLUSION, conditions=_OF_VERDICTS):
            if match := _VERDICT.search(re.sub(r"`[^`]*`", "", sentence)):
                what = f"{sentence[:100]!r} states a verdict: {match[0]}"
                remedy = (
                    "leave it to w.concludes, which says what was measured and what would decide"
                )
                yield Remark("open-assertion", path, line, what, remedy)


def _numbers(text: str, unit: str) -> Iterator[float]:
    """Yield the numbers of a text that stand before a unit."""
    units = "|".join(map(re.escape, filter(None, ("×", "%", "times", "of", unit))))
    for match in re.finditer(rf"(?<![\w.,])(\d+(?:\.\d+)?)[ \u00a0]?(?:{units})(?!\w)", text):
        yield float(match[1])


def _ways_to_say(problem: Problem, claim: AnyClaim) -> Iterator[float]:
    """Yield the numbers that say the bound: itself, in percent, and by how much it is off one."""
    bound = claim.bound
    unit = problem.metric(claim.metric).unit
    of_one = 0.01 if unit == "%" else 1.0
    for end in filter(None, (bound.above, bound.below, *(bound.between or ()))):
        if end not in _SAYS_NOTHING:
            yield from (end, end * of_one, 100 * end * of_one, 100 * abs(end * of_one - 1))
