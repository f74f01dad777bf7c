"""Remarks on literal numbers: a template looks a measured value up, or quotes it with a source."""

import re
from collections.abc import Iterator

from harness.lint.study import Remark, Study
from harness.lint.template import printed

_UNIT = r"(?:[µmn]s|%|[KMGT]i?B/s|[MGTP]FLOP/?s|tok/s|tokens/s|[MG]Hz|W)(?![\w/])"
_NUMBER = r"(?<![\w.³²])\d+(?:[.,]\d+)*"
_MEASURED = re.compile(rf"{_NUMBER}[ \u00a0]?{_UNIT}|{_NUMBER}×(?![ \u00a0]?\d)")

ALLOWED = "quoted:"
"""Begins the comment before a sentence that quotes a number, and then gives its source."""


def literal_number(study: Study) -> Iterator[Remark]:
    """Yield a remark on each number with a unit of measurement in a template's own prose.

    A number out of a claim's statement may be repeated: a run can refute it there.
    """
    claims = study.problem.claims
    claimed = "\n".join(f"{claim.statement} {claim.otherwise}" for claim in claims)
    for path, text in study.texts.items():
        for line, sentence in printed(text, allowed=ALLOWED):
            for match in _MEASURED.finditer(re.sub(r"`[^`]*`", "", sentence)):
                if match[0] in claimed:
                    continue
                what = f"{match[0]!r} is written by hand"
                remedy = f"look it up with w.m, or quote it: {{# {ALLOWED} SOURCE #}}"
                yield Remark("literal-number", path, line, what, remedy)
