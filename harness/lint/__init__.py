"""Reviews a study as a reader would: what keeps to the manifest's rules and convinces nobody.

A rule is a function of a :class:`harness.lint.study.Study` that yields remarks. A new one is a
function in a file beside this one, and a line here.

A remark on a manifest that is right as it is has its reason above the line: ``# RULE: REASON``.
"""

from collections.abc import Callable, Iterable

from harness.lint import advice, bounds, claims, ratios, rounds, sentences, variants, wording
from harness.lint.study import Remark, Study

RULES: dict[str, Callable[[Study], Iterable[Remark]]] = {
    "no-claims": claims.no_claims,
    "unread-metric": claims.unread_metric,
    "cannot-fail": claims.cannot_fail,
    "far-bound": bounds.far_bound,
    "moved-bound": bounds.moved_bound,
    "negated-bound": wording.negated_bound,
    "ratio-of-ratios": ratios.ratio_of_ratios,
    "too-few-rounds": rounds.too_few_rounds,
    "no-rival": advice.no_rival,
    "no-range": advice.no_range,
    "several-differences": variants.several_differences,
    "unpinned": variants.unpinned,
    "literal-number": sentences.literal_number,
    "unconditional": sentences.unconditional,
    "unknown-word": sentences.unknown_word,
    "a-for-per": sentences.a_for_per,
    "open-assertion": wording.open_assertion,
}


def review(study: Study) -> list[Remark]:
    """Return every remark on a study that no comment answers, by file and line."""
    told = (remark for rule in RULES.values() for remark in rule(study))
    remarks = [remark for remark in told if not study.answers(remark)]
    return sorted(remarks, key=lambda remark: (remark.path.as_posix(), remark.line, remark.rule))
