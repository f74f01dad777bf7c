"""A conclusion stands only while its claims do."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from harness.analysis.claims import judge
from harness.ground.errors import ManifestError
from harness.problem.model import Bound, Problem
from harness.report.page import Page
from harness.report.sections import concludes
from harness.report.worklog import render
from tests.support.pages import timed_page

TEMPLATE = """\
First.
{% call w.concludes('faster') %}
Fast wins.
{% endcall %}
{% if w.holds('faster') %}It holds. {% endif %}Last.
"""


def judged(problem: Problem, slow: float, fast: float, **update: object) -> Page:
    (claim,) = problem.claims
    problem = problem.model_copy(update={"claims": [claim.model_copy(update=update)]})
    made = timed_page(problem, slow=slow, fast=fast)
    return replace(made, results=judge(problem, made.metrics, "cuda"))


def rendered(tmp_path: Path, page: Page, text: str = TEMPLATE) -> str:
    template = tmp_path / "worklog.md.j2"
    template.write_text(text, encoding="utf-8")
    return render(template, page)


def test_a_conclusion_whose_claim_is_reproduced_stands(tmp_path: Path, example: Problem) -> None:
    assert rendered(tmp_path, judged(example, 2.0, 1.0)) == (
        "First.\nFast wins.\nIt holds. Last.\n"
    )


FINDING = "time, Fast over Slow, Small"


@pytest.mark.parametrize(
    ("otherwise", "told"),
    [
        ("it is slower", "It is slower (2×; claimed ≤ 1×)."),
        ("", f"[Refuted](#faster): {FINDING}: 2× (claimed ≤ 1×)."),
    ],
)
def test_a_claim_that_is_refuted_says_what_was_measured(
    tmp_path: Path, example: Problem, otherwise: str, told: str
) -> None:
    text = rendered(tmp_path, judged(example, 1.0, 2.0, otherwise=otherwise))
    assert text == f"First.\n{told}\nLast.\n"


def test_a_claim_that_is_undecided_gives_what_was_measured_and_its_bound(
    tmp_path: Path, example: Problem
) -> None:
    page = judged(example, 2.0, 1.0, bound=Bound(below=0.5))
    assert page.results[0].verdict == "reproduced"  # one sample each: counted
    doubtful = replace(
        page.results[0].measured, low=0.45, high=0.55, samples=5, spread=(0.48, 0.53)
    )
    result = replace(page.results[0], measured=doubtful, verdict="undecided")
    text = rendered(tmp_path, replace(page, results=[result]))
    told = f"{FINDING}: 0.50× [0.45, 0.55] (claimed ≤ 0.5×)."
    assert f"[Undecided](#faster): {told}" in text
    assert "It holds" not in text
    assert "Fast is faster" not in text


@pytest.mark.parametrize(
    ("ends", "spread", "factor", "told"),
    [
        ((0.45, 0.55), (0.48, 0.53), 1.0, ""),
        ((0.1, 0.9), (0.40, 0.45), 1.0, "; its interval is 0.1 to 0.9×"),
        ((0.1, 0.9), (0.40, 0.60), 1.0, ""),
        ((2e-5, 40), (0.40, 0.45), 1.0, "; processes differ too much for an interval"),
        ((0.40, 0.49), (0.42, 0.47), 1.1, "; widened for clocks or GPUs to 0.364 to 0.539×"),
        ((0.40, 0.498), (0.42, 0.49), 1.0, "; less than 1 % to spare"),
        ((0.502, 0.6), (0.51, 0.59), 1.0, "; missed by less than 1 %"),
    ],
    ids=[
        "seen",
        "behind the spread",
        "seen in the spread",
        "too wide",
        "clocks",
        "spare",
        "missed",
    ],
)
def test_an_undecided_verdict_says_what_its_value_does_not_show(
    example: Problem,
    ends: tuple[float, float],
    spread: tuple[float, float],
    factor: float,
    told: str,
) -> None:
    page = judged(example, 2.0, 1.0, bound=Bound(below=0.5))
    doubtful = replace(
        page.results[0].measured, value=0.45, low=ends[0], high=ends[1], samples=5,
        rounds=5, spread=spread, clock_factor=factor,
    )  # fmt: skip
    result = replace(page.results[0], measured=doubtful, verdict="undecided")
    page = replace(page, results=[result])
    shown = concludes.verdict(page, "faster")
    assert unescape(shown) == f"[undecided](#faster), claimed ≤ 0.5×{told}"
    instead = unescape(concludes.concludes(page, "faster", caller=lambda: "It is faster.\n"))
    assert instead.endswith(f" (claimed ≤ 0.5×{told}).\n")


WHY = "the claim's bound was ≤ 2 when the run began"


def untested(problem: Problem, slow: float, fast: float) -> Page:
    page = judged(problem, slow, fast)
    result = replace(page.results[0], verdict="described", untested=WHY)
    return replace(page, results=[result])


def test_a_claim_that_is_borne_out_and_was_not_tested_says_so_in_its_sentence(
    tmp_path: Path, example: Problem
) -> None:
    text = rendered(tmp_path, untested(example, 2.0, 1.0))
    assert text == "First.\nFast wins ([described](#faster)).\nLast.\n"


def test_a_claim_that_was_not_tested_and_is_not_borne_out_gives_what_was_measured(
    tmp_path: Path, example: Problem
) -> None:
    text = rendered(tmp_path, untested(example, 1.0, 2.0))
    assert f"[Described](#faster): {FINDING}: 2× ({WHY})." in text
    assert "Fast wins" not in text


@pytest.mark.parametrize(
    ("spread", "stands"), [((0.4, 0.45), True), ((0.4, 0.6), False), (None, False)]
)
def test_of_two_processes_what_they_gave_bears_a_claim_out_and_no_interval(
    tmp_path: Path, example: Problem, spread: tuple[float, float] | None, stands: bool
) -> None:
    page = judged(example, 2.0, 1.0, bound=Bound(below=0.5))
    of_two = replace(
        page.results[0].measured,
        value=0.42, low=0.05, high=3.5, samples=9, rounds=2, timed=True, spread=spread,
    )  # fmt: skip
    result = replace(page.results[0], measured=of_two, verdict="described")
    text = rendered(tmp_path, replace(page, results=[result]))
    assert ("Fast wins ([described](#faster))." in text) == stands


@pytest.mark.parametrize("end", ["| a table |", "```", "![a figure](a.svg)"])
def test_the_note_stands_below_what_is_no_sentence(
    tmp_path: Path, example: Problem, end: str
) -> None:
    text = f"{{% call w.concludes('faster') %}}\nFast wins.\n\n{end}\n{{% endcall %}}\nLast.\n"
    shown = rendered(tmp_path, untested(example, 2.0, 1.0), text)
    assert shown == f"Fast wins.\n\n{end}\n\n([described](#faster))\nLast.\n"


def test_a_conclusion_within_a_line_leaves_its_paragraph_where_it_ends(
    tmp_path: Path, example: Problem
) -> None:
    text = "{% call w.concludes('faster') %}Fast wins.{% endcall %}\n\nNext.\n"
    for fast, told in ((1.0, "Fast wins."), (4.0, "[Refuted](#faster): ")):
        shown = rendered(tmp_path, judged(example, 2.0, fast), text)
        first, last = shown.rstrip("\n").split("\n\n")
        assert (first.startswith(told), last) == (True, "Next.")


def test_a_claim_that_was_not_measured_concludes_nothing(tmp_path: Path, example: Problem) -> None:
    empty = timed_page(example)
    page = replace(empty, results=judge(example, empty.metrics, "cuda"))
    assert rendered(tmp_path, page) == "First.\n\nLast.\n"


@pytest.mark.parametrize("named", ["'slower'", ""])
def test_a_conclusion_names_claims_that_there_are(
    tmp_path: Path, example: Problem, named: str
) -> None:
    text = f"{{% call w.concludes({named}) %}}x{{% endcall %}}"
    with pytest.raises(ManifestError, match="conclusion"):
        rendered(tmp_path, judged(example, 2.0, 1.0), text)
