"""The table of advice: what the evidence bears out, best first, each linked to its claim."""

from dataclasses import replace

import pytest

from harness.analysis.claims import judge
from harness.problem.model import Bound, Problem
from harness.report.page import Page
from harness.report.sections import advice, claims
from tests.support.advice import CLEAR, Times, advising, changed, timed
from tests.support.pages import page, rows_of

BEATEN = {**CLEAR, "low": {**CLEAR["low"], "other": 1.0}}


@pytest.fixture
def study(example: Problem) -> Problem:
    return advising(example)


def judged(study: Problem, times: Times) -> Page:
    made = page(study, timed(times, spread=0.0))
    return replace(made, results=judge(study, made.metrics, "cuda"))


def test_advice_says_what_it_gains_where_and_for_what(study: Problem) -> None:
    study = changed(study, costs="more memory", but={"other": "its accuracy is lower"})
    shown = advice.advice(judged(study, CLEAR))
    head, row = rows_of(shown)
    assert head == ["do this", "you gain", "it holds for", "it costs", "claim"]
    assert row == [
        "Take `fast`.",
        "1.5× at size_low (3_ms_→_2_ms), 2× at size_high (4_ms_→_2_ms)".replace("_", "\xa0"),
        "all sizes",
        "more memory",
        "[reproduced](#take-fast)",
    ]
    assert "*No alternatives. Its accuracy is lower: Other.*" in shown


def test_variants_that_are_left_out_for_one_reason_stand_together(study: Problem) -> None:
    apart = study.variants["other"].model_copy(update={"label": "Apart"})
    more = {name: apart.model_copy(update={"label": name}) for name in ("b", "c")}
    study = study.model_copy(update={"variants": study.variants | more})
    why = {"other": "it needs root", "b": "it is slower", "c": "it needs root"}
    shown = advice.advice(judged(changed(study, but=why), CLEAR))
    assert "*No alternatives. It needs root: Other; c. It is slower: b.*" in shown


def test_of_many_variants_left_out_alike_the_first_and_the_last_are_named(study: Problem) -> None:
    other = study.variants["other"]
    more = {name: other.model_copy(update={"label": name}) for name in "bcde"}
    study = study.model_copy(update={"variants": study.variants | more})
    why = dict.fromkeys(("e", "d", "c", "b", "other"), "comes later")  # not the study's order
    shown = advice.advice(judged(changed(study, but=why), CLEAR))
    assert "*No alternatives. Comes later: 5 variants, from “Other” to “e”.*" in shown


def test_advice_that_is_refuted_is_no_advice_and_its_claim_says_what_is_better(
    study: Problem,
) -> None:
    shown = judged(study, BEATEN)
    assert advice.advice(shown) == "*No advice is borne out on this target.*"
    row = dict(zip(*rows_of(claims.claims(shown)), strict=True))
    assert row["verdict"].startswith("**refuted**: a stack, size low: Other is better by 2×")
    assert row["claim"] == '<a id="take-fast"></a>`take-fast`'


def test_the_best_that_is_reproduced_comes_first(study: Problem) -> None:
    (best,) = study.claims
    ends = {"low": best.model_copy(update={"id": "low", "at": ["low"]})}
    ends["high"] = best.model_copy(update={"id": "high", "at": ["high"]})
    unclear = best.model_copy(update={"id": "unclear", "bound": Bound(above=1.5)})
    study = study.model_copy(update={"claims": [unclear, ends["low"], ends["high"]]})
    shown = advice.advice(judged(study, CLEAR))
    _, *rows = rows_of(shown)
    assert [row[-1] for row in rows] == [
        "[reproduced](#high)",
        "[reproduced](#low)",
        "[inconclusive](#unclear)",
    ]
    assert "\n\n- [Inconclusive](#unclear): Take `fast`; a stack, size low: 1.5×" in shown


def test_what_was_not_measured_is_told_below(study: Problem) -> None:
    shown = advice.advice(judged(study, {"low": CLEAR["low"]}))
    assert "*Not measured: Take `fast`.*" in shown
    assert "|" not in shown


def test_a_page_of_its_own_links_to_the_worklog(study: Problem) -> None:
    shown = replace(judged(study, CLEAR), root="../")
    assert "[reproduced](../README.md#take-fast)" in advice.advice(shown)
