"""Remarks on sentences that conclude something whatever the verdicts are."""

import re
from collections.abc import Iterator

from harness.lint.study import Remark, Study
from harness.lint.template import printed

CONCLUDING = re.compile(
    r"\b(faster|slower|better(?! of| library)|worse"
    r"|(is|are|was|were) (the )?(fastest|slowest|best|worst)"
    r"|cures?|cured|wins?|beats?|outperforms?|costs? nothing|for free|proves?|proven|confirms?"
    r"|confirmed|because|therefore|hence|thus|due to|caused by|that is why|which is why"
    r"|rules? out|ruled out)\b",
    re.IGNORECASE,
)
"""Words of a sentence that interprets the evidence."""

ALLOWED = "no conclusion:"
"""Begins the comment before a sentence that defines or quotes, and then gives the reason."""

_CONDITIONS = ("concludes(", "holds(")


def concluding(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each concluding sentence that a template always prints."""
    for line, sentence in printed(text, allowed=ALLOWED, conditions=_CONDITIONS):
        if CONCLUDING.search(re.sub(r"`[^`]*`", "", sentence)):
            yield line, sentence


def unconditional(study: Study) -> Iterator[Remark]:
    """Yield a remark on each sentence that concludes and rests on no claim."""
    for path, text in study.texts.items():
        for line, sentence in concluding(text):
            what = f"{sentence[:100]!r} stands whatever the verdicts are"
            remedy = f"put it into w.concludes, or say why not: {{# {ALLOWED} REASON #}}"
            yield Remark("unconditional", path, line, what, remedy)
