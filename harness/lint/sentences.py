"""Remarks on the sentences of a worklog's template: conclusions, numbers and abbreviations."""

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

NO_CONCLUSION = "no conclusion:"
"""Begins the comment before a sentence that defines or quotes, and then gives the reason."""

_CONDITIONS = ("concludes(", "holds(")

_UNIT = r"(?:[µmn]s|%|[KMGT]i?B/s|[MGTP]FLOP/?s|tok/s|tokens/s|[MG]Hz|W)(?![\w/])"
_NUMBER = r"(?<![\w.³²])\d+(?:[.,]\d+)*"
_MEASURED = re.compile(rf"{_NUMBER}[ \u00a0]?{_UNIT}|{_NUMBER}×(?![ \u00a0]?\d)")

QUOTED = "quoted:"
"""Begins the comment before a sentence that quotes a number, and then gives its source."""

_ABBREVIATION = re.compile(r"(?<![\w@/.-])([A-Z]{2,6})s?(?![\w(/.-])")
_KNOWN = frozenset(
    {
        *("AMD", "API", "CPU", "CUDA", "DRAM", "FLOP", "GEMM", "GPU", "HTML", "ID", "JSON", "KB"),
        *("MB", "GB", "TB", "MIG", "NVIDIA", "OK", "OS", "PR", "RAM", "SHA", "URL", "XOR", "YAML"),
    }
)
"""Abbreviations that need no explanation in this field."""

_PROSE = re.compile(r"(?:\b[a-z]{2,}\b.*){4}")
"""A sentence has four words in lower case; a line of code or a name has not."""

A_FOR_PER = re.compile(
    r"(?:\b(?:one|an?) (?:row|cell|page|file|card|scale|line|kernel|launch|call)"
    r"|\d[ \u00a0]?(?:[µmn]s|[kMGT]?B)|\b(?:bytes|instructions|FLOP)) an? "
    r"(?:step|token|weight|layer|call|linear|launch|row|tensor|study|case|variant|size|request)\b",
    re.IGNORECASE,
)
"""Words that count something by each of another thing, and say "a" for "per"."""

KNOWN = "known:"
"""Begins the comment before a sentence whose abbreviations need no explanation, with the reason."""


def concluding(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each concluding sentence that a template always prints."""
    for line, sentence in printed(text, allowed=NO_CONCLUSION, conditions=_CONDITIONS):
        if CONCLUDING.search(re.sub(r"`[^`]*`", "", sentence)):
            yield line, sentence


def unconditional(study: Study) -> Iterator[Remark]:
    """Yield a remark on each sentence that concludes and rests on no claim."""
    for path, text in study.texts.items():
        for line, sentence in concluding(text):
            what = f"{sentence[:100]!r} stands whatever the verdicts are"
            remedy = f"put it into w.concludes, or say why not: {{# {NO_CONCLUSION} REASON #}}"
            yield Remark("unconditional", path, line, what, remedy)


def literal_number(study: Study) -> Iterator[Remark]:
    """Yield a remark on each number with a unit of measurement in a template's own prose.

    A number out of a claim's statement may be repeated: a run can refute it there.
    """
    claims = study.problem.claims
    claimed = "\n".join(f"{claim.statement} {claim.otherwise}" for claim in claims)
    for path, text in study.texts.items():
        for line, sentence in printed(text, allowed=QUOTED):
            for match in _MEASURED.finditer(re.sub(r"`[^`]*`", "", sentence)):
                if match[0] in claimed:
                    continue
                what = f"{match[0]!r} is written by hand"
                remedy = f"look it up with w.m, or quote it: {{# {QUOTED} SOURCE #}}"
                yield Remark("literal-number", path, line, what, remedy)


def a_for_per(study: Study) -> Iterator[Remark]:
    """Yield a remark on each "one row a step" of a template: what counts by each says "per"."""
    for path, text in study.texts.items():
        for line, sentence in printed(text, allowed=QUOTED):
            if match := A_FOR_PER.search(re.sub(r"`[^`]*`", "", sentence)):
                what = f"{match[0]!r} says 'a' for 'per'"
                yield Remark("a-for-per", path, line, what, "write 'per'")


def unknown_word(study: Study) -> Iterator[Remark]:
    """Yield a remark on an abbreviation's first use, where nothing explains it.

    The glossary may, or any template of the study, as in "thread block (CTA)" or "CTA (...)".
    """
    whole = "\n".join(study.texts.values())
    told: set[str] = set()
    for path, text in study.texts.items():
        for line, sentence in printed(text, allowed=KNOWN):
            words = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", sentence)
            for word in _ABBREVIATION.findall(words) if _PROSE.search(words) else ():
                if word in told | _KNOWN or _explained(word, whole, study.glossary):
                    continue
                told.add(word)
                what = f"neither the study nor the glossary explains {word}"
                remedy = f"write it out once, with ({word}) behind"
                yield Remark("unknown-word", path, line, what, remedy)


def _explained(word: str, text: str, glossary: str) -> bool:
    introduced = rf"\({word}s?\)|\b{word}s? \(|\b{word}s?\W{{1,3}}(?:is|are|means|stands for)\b"
    return bool(re.search(introduced, text) or re.search(rf"\b{word}s?\b", glossary))
