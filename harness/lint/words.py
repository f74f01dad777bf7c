"""Remarks on abbreviations that a reader has not been told."""

import re
from collections.abc import Iterator

from harness.lint.study import Remark, Study
from harness.lint.template import printed

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

ALLOWED = "known:"
"""Begins the comment before a sentence whose abbreviations need no explanation, with the reason."""


def unknown_word(study: Study) -> Iterator[Remark]:
    """Yield a remark on an abbreviation's first use, where nothing explains it.

    The glossary may, or any template of the study, as in "thread block (CTA)" or "CTA (...)".
    """
    whole = "\n".join(study.texts.values())
    told: set[str] = set()
    for path, text in study.texts.items():
        for line, sentence in printed(text, allowed=ALLOWED):
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
