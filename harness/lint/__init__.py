"""Reviews a study as a reader would: what keeps to the manifest's rules and convinces nobody.

A rule is a function of a :class:`harness.lint.study.Study` that yields remarks. A new one is a
function in a file beside this one, and a line here.
"""

from harness.ground.references import resolve
from harness.lint.study import Remark, Study

RULES = {
    "no-claims": "harness.lint.claims:no_claims",
    "unread-metric": "harness.lint.claims:unread_metric",
    "cannot-fail": "harness.lint.claims:cannot_fail",
    "far-bound": "harness.lint.bounds:far_bound",
    "no-alternative": "harness.lint.claims:no_alternative",
    "no-range": "harness.lint.claims:no_range",
    "several-differences": "harness.lint.variants:several_differences",
    "unpinned": "harness.lint.locks:unpinned",
    "literal-number": "harness.lint.numbers:literal_number",
    "unconditional": "harness.lint.conclusions:unconditional",
    "unknown-word": "harness.lint.words:unknown_word",
}
"""The name of a rule to ``"module:function"``."""


def review(study: Study) -> list[Remark]:
    """Return every remark on a study, by file and line."""
    remarks = [remark for rule in RULES.values() for remark in resolve(rule)(study)]
    return sorted(remarks, key=lambda remark: (remark.path.as_posix(), remark.line, remark.rule))
