"""What the zoo's page and card quote of the diagnosis is what was counted."""

import json
import re
from collections import Counter

from harness.problem import manifest
from tests.support.paths import ROOT
from tests.support.reports import committed

STUDY = ROOT / "problems" / "6-bottleneck-zoo"
SETS = ("fifth", "fourth", "third", "second", "first")
"""The sets of programs with a file of verdicts, in the order of the page's table."""


def counted(name: str) -> tuple[str, str]:
    """Return "25 of 34" faults named first and "0 of 11" alarms, in captures of a set."""
    known = json.loads((ROOT / "benchmarks" / "results" / f"{name}_sight.json").read_text())
    verdicts = Counter(
        (program["healthy"], capture["verdict"])
        for program in known["programs"].values()
        for capture in program["captures"].values()
    )
    faulty, healthy = (
        sum(count for (well, _), count in verdicts.items() if well is wanted)
        for wanted in (False, True)
    )
    return (
        f"{verdicts[False, 'named']} of {faulty}",
        f"{verdicts[True, 'alarm']} of {healthy}",
    )


def test_the_table_of_sets_has_the_counts_of_their_verdicts() -> None:
    rows = re.findall(
        r"^\| the [^|]*\| (\d+ of \d+) \| (\d+ of \d+) \|$",
        (STUDY / "worklog.md.j2").read_text(),
        re.MULTILINE,
    )
    assert rows[: len(SETS)] == [counted(name) for name in SETS]


def test_the_first_screen_has_the_newest_sets_count() -> None:
    first, _ = counted(SETS[0])
    screen, _, _ = (STUDY / "worklog.md.j2").read_text().partition("\n## ")
    assert f"it names the fault first in {first};" in screen


def test_the_card_has_the_newest_sets_count_and_the_exams() -> None:
    card = manifest.load(STUDY).card
    assert card
    page = (committed("6-bottleneck-zoo") / "README.md").read_text()
    exam = re.search(r"Of (\d+) specimens .*? first in (\d+), and at all in \d+", page)
    assert exam
    first, _ = counted(SETS[0])
    assert f"in {first} captures" in " ".join(card.sentence.split())
    assert f"were set, in {exam[2]} of {exam[1]}." in " ".join(card.sentence.split())
