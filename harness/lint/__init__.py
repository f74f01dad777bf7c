"""Reviews a study as a reader would: what keeps to the manifest's rules and convinces nobody.

A rule is a function of a :class:`harness.lint.study.Study` that yields remarks. A new one is a
function in a file beside this one, and a line here.
"""

from collections.abc import Callable, Iterable

from harness.lint import claims, sentences, variants
from harness.lint.study import Remark, Study

RULES: dict[str, Callable[[Study], Iterable[Remark]]] = {
    "no-claims": claims.no_claims,
    "unread-metric": claims.unread_metric,
    "cannot-fail": claims.cannot_fail,
    "far-bound": claims.far_bound,
    "no-alternative": claims.no_alternative,
    "no-range": claims.no_range,
    "several-differences": variants.several_differences,
    "unpinned": variants.unpinned,
    "literal-number": sentences.literal_number,
    "unconditional": sentences.unconditional,
    "unknown-word": sentences.unknown_word,
}


def review(study: Study) -> list[Remark]:
    """Return every remark on a study, by file and line."""
    remarks = [remark for rule in RULES.values() for remark in rule(study)]
    return sorted(remarks, key=lambda remark: (remark.path.as_posix(), remark.line, remark.rule))
