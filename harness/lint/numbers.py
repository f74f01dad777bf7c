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
    """Yield a remark on each number with a unit of measurement in a template's own prose."""
    for path, text in study.texts.items():
        for line, sentence in printed(text, allowed=ALLOWED):
            for match in _MEASURED.finditer(re.sub(r"`[^`]*`", "", sentence)):
                what = f"{match[0]!r} is written by hand"
                remedy = f"look it up with w.m, or quote it: {{# {ALLOWED} SOURCE #}}"
                yield Remark("literal-number", path, line, what, remedy)
