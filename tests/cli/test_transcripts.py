"""The page of transcripts: what stands there is what the commands print."""

import pytest

from tests.support.paths import ROOT
from tests.support.transcripts import PAGE, blocks, printed

BLOCKS = blocks(PAGE.read_text(encoding="utf-8"))


def test_the_page_shows_five_captures_and_the_diagnosis_of_two_more() -> None:
    inspected, diagnosed = (
        {command.split()[1] for command in BLOCKS if command.startswith(verb)}
        for verb in ("inspect", "diagnose")
    )
    assert (len(inspected), len(diagnosed)) == (5, 7)
    assert inspected < diagnosed


@pytest.mark.parametrize("command", sorted(BLOCKS))
def test_a_transcript_is_what_the_command_prints(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    why = "write the page anew: python -m tests.support.transcripts"
    assert BLOCKS[command] == printed(command), why
    tables = [line for line in BLOCKS[command].splitlines() if ".zst" not in line]
    assert max(map(len, tables)) <= 80
