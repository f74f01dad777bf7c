"""What a terminal would obey, or not show, is replaced; all else stands as it is."""

import sys
import unicodedata

import pytest

from harness.ground.errors import UsageError
from harness.ground.plain import plain

VISIBLE_FORMATS = ("ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN")
"""Scripts with signs that count as formats and are drawn."""


def test_no_control_or_format_character_passes() -> None:
    passed = [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and plain(character) == character
        and not unicodedata.name(character, "").startswith(VISIBLE_FORMATS)
    ]
    assert passed == []


@pytest.mark.parametrize("text", ["void k<float>(int*)", "GPU™ 10 µs ± 3", "日本語 é Ω", "a\u0301"])
def test_words_stand_as_they_are(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize("character", "\n\t\x1b\x07\x9b\u202e\u2066\ufeff\u00ad\u200b\u2060\ud800")
def test_each_character_that_goes_leaves_its_place(character: str) -> None:
    assert plain(f"a{character}b{character}") == "a\ufffdb\ufffd"


def test_an_error_is_one_line_that_steers_nothing() -> None:
    error = UsageError("no \x1b[2J\u202ecapture\nof this", where="a\ufeffb", remedy="\x9bm")
    assert str(error) == "a\ufffdb: no \ufffd[2J\ufffdcapture of this (\ufffdm)"
