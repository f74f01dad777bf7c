"""The table of advice: gain, nearest rival and verdict of each, in the manifest's order."""

from dataclasses import replace
from html import unescape

import pytest

from harness.analysis.claims import AdviceResult, judge
from harness.problem.model import Bound, Problem
from harness.report.page import Page
from harness.report.sections import advice, claims
from tests.support.advice import CLEAR, Times, advising, changed, timed
from tests.support.pages import page, rows_of

BEATEN = {**CLEAR, "low": {**CLEAR["low"], "other": 1.0}}


@pytest.fixture
def study(example: Problem) -> Problem:
    return advising(example)


def judged(study: Problem, times: Times, spread: float = 0.0) -> Page:
    made = page(study, timed(times, spread=spread))
    return replace(made, results=judge(study, made.metrics, "cuda"))


def test_advice_says_what_it_gains_where_and_for_what(study: Problem) -> None:
    study = changed(study, costs="more memory", but={"other": "its accuracy is lower"})
    shown = advice.advice(judged(study, CLEAR))
    head, row = rows_of(shown)
    assert head == [
        "do this",
        "you gain",
        "best alternative",
        "it holds for",
        "it costs",
        "claim",
    ]
    assert row == [
        "Take `fast`.",
        "time: 1.5× at size_low (3_ms_→_2_ms), 2× at size_high (4_ms_→_2_ms)".replace("_", "\xa0"),
        "none measured; 1 left out",
        "all sizes",
        "more memory",
        "[reproduced](#take-fast)",
    ]


@pytest.mark.parametrize(
    ("other", "told", "verdict"),
    [
        (2.5, "Other: behind by 1.25× at size_low", "reproduced"),
        (2.0, "Other: tie, 1× at size_low", "tie"),
        (1.0, "", "refuted"),
    ],
)
def test_the_alternative_that_comes_closest_stands_beside_the_gain(
    study: Problem, other: float, told: str, verdict: str
) -> None:
    page = judged(study, {**CLEAR, "low": {**CLEAR["low"], "other": other}})
    assert page.results[0].verdict == verdict
    shown = advice.advice(page)
    if told:
        assert rows_of(shown)[1][2] == told.replace("_", "\xa0")
    else:
        assert "do this" not in shown


def test_an_alternative_that_processes_hide_is_not_told_apart(study: Problem) -> None:
    page = judged(study, {**CLEAR, "low": {**CLEAR["low"], "other": 2.0}}, spread=0.05)
    assert rows_of(advice.advice(page))[1][2].startswith("Other: not told apart, ")


def test_an_alternative_that_clocks_may_account_for_says_so(study: Problem) -> None:
    page = judged(study, {**CLEAR, "low": {**CLEAR["low"], "other": 2.4}})
    (result,) = page.results
    assert isinstance(result, AdviceResult)
    gains = tuple(
        replace(gain, lead=replace(gain.lead, clock_factor=2.0, doubt="power cap"))
        for gain in result.gains
    )
    told = rows_of(advice.advice(replace(page, results=[replace(result, gains=gains)])))[1][2]
    assert told.startswith("Other: not told apart at all clocks seen, ")


def test_what_an_advice_pays_with_is_a_cost_unless_it_is_better(study: Problem) -> None:
    study = changed(study, costs="more memory", pays=["time"])
    assert rows_of(advice.advice(judged(study, CLEAR)))[1][4] == (
        "more memory; saves: time 0.5× to 0.667×"
    )
    rate = study.metrics["time"].model_copy(update={"label": "rate", "better": "higher"})
    study = study.model_copy(update={"metrics": study.metrics | {"rate": rate}})
    paid = rows_of(advice.advice(judged(changed(study, pays=["time", "rate"]), CLEAR)))[1][4]
    assert paid == "more memory; rate 0.5× to 0.667×; saves: time 0.5× to 0.667×"


def test_ends_of_a_range_are_named_by_what_sets_them_apart_from_all_cases(study: Problem) -> None:
    labels = {"low": "4096², M = 16", "high": "wide, M = 16", "most": "4096², M = 4"}
    cases = {
        name: study.cases["low"].model_copy(update={"label": label})
        for name, label in labels.items()
    }
    study = changed(study.model_copy(update={"cases": cases}), at=list(labels))
    times = {**CLEAR, "most": {"slow": 3.5, "fast": 2.0, "other": 2.5}}
    gained = rows_of(advice.advice(judged(study, times)))[1][1].replace("\xa0", " ")
    assert "1.5× at 4096², M = 16" in gained
    assert "2× at wide, M = 16" in gained


def test_an_alternative_that_gains_nothing_says_so(study: Problem) -> None:
    times = {"low": {**CLEAR["low"], "other": 3.2}, "high": {**CLEAR["high"], "other": 4.0}}
    told = rows_of(advice.advice(judged(study, times)))[1][2]
    assert told == "Other: behind by 1.6× at size_low (no gain)".replace("_", "\xa0")
    times["low"]["other"] = 2.9
    assert "no gain" not in rows_of(advice.advice(judged(study, times)))[1][2]


def test_described_advice_shares_a_line_for_each_reason(study: Problem) -> None:
    (first,) = study.claims
    second = first.model_copy(update={"id": "again"})
    study = study.model_copy(update={"claims": [first, second]})
    made = page(study, timed(CLEAR, spread=0.0, rounds=1))
    shown = unescape(advice.advice(replace(made, results=judge(study, made.metrics, "cuda"))))
    assert "\n- Described: a stack, size low: 1.5×; one process; 3 decide" in shown
    assert "([`take-fast`](#take-fast), [`again`](#again)).\n\n</details>" in shown


def test_variants_that_are_left_out_for_one_reason_stand_together(study: Problem) -> None:
    apart = study.variants["other"].model_copy(update={"label": "Apart"})
    more = {name: apart.model_copy(update={"label": name}) for name in ("b", "c")}
    study = study.model_copy(update={"variants": study.variants | more})
    why = {"other": "it needs root", "b": "it is slower", "c": "it needs root"}
    shown = advice.advice(judged(changed(study, but=why), CLEAR))
    assert rows_of(shown)[1][2] == "none measured; 3 left out"
    left = "[`take-fast`](#take-fast) leaves out Other; c (it needs root); b (it is slower)."
    assert f"are left out</summary>\n\n- {left}\n\n</details>" in shown


def test_a_variant_that_is_not_measured_there_is_not_left_out(study: Problem) -> None:
    elsewhere = study.variants["other"].model_copy(update={"needs": "cpu"})
    study = study.model_copy(update={"variants": study.variants | {"other": elsewhere}})
    study = changed(study, but={"other": "it comes later"}, needs="cuda")
    assert rows_of(advice.advice(judged(study, CLEAR)))[1][2] == "none measured"


def test_of_many_variants_left_out_alike_the_first_and_the_last_are_named(study: Problem) -> None:
    other = study.variants["other"]
    more = {name: other.model_copy(update={"label": name}) for name in "bcde"}
    study = study.model_copy(update={"variants": study.variants | more})
    why = dict.fromkeys(("e", "d", "c", "b", "other"), "comes later")  # not the study's order
    shown = advice.advice(judged(changed(study, but=why), CLEAR))
    assert "(#take-fast) leaves out 5 variants, from “Other” to “e” (comes later)." in shown


def test_advice_that_is_refuted_is_no_advice_and_its_claim_says_what_is_better(
    study: Problem,
) -> None:
    shown = judged(study, BEATEN)
    assert advice.advice(shown) == "*No advice is borne out on this target.*"
    row = dict(zip(*rows_of(claims.claims(shown)), strict=True))
    assert row["verdict"].startswith("**refuted**: a stack, size low: Other is better by 2×")
    assert row["claim"] == '<a id="take-fast"></a>`take-fast`'  # no headline


def test_what_is_reproduced_comes_first_in_the_manifests_order(study: Problem) -> None:
    (best,) = study.claims
    ends = {"low": best.model_copy(update={"id": "low", "at": ["low"]})}
    ends["high"] = best.model_copy(update={"id": "high", "at": ["high"]})
    unclear = best.model_copy(update={"id": "unclear", "bound": Bound(above=1.5)})
    study = study.model_copy(update={"claims": [unclear, ends["low"], ends["high"]]})
    shown = advice.advice(judged(study, CLEAR))
    _, *rows = rows_of(shown)
    assert [row[-1] for row in rows] == [
        "[reproduced](#low)",
        "[reproduced](#high)",
        "[tie](#unclear)",
    ]
    why = "a stack, size low: 1.5× [1.5, 1.5]; within 1 % of the bound"
    assert f"\n\n- Tie: {why} ([`unclear`](#unclear))." in unescape(shown)


def test_rows_after_the_first_are_folded_away_below_what_they_advise(study: Problem) -> None:
    (best,) = study.claims
    others = [
        best.model_copy(update={"id": name, "at": [name], "statement": f"Take it at {name}."})
        for name in ("low", "high")
    ]
    study = study.model_copy(update={"claims": [best, *others]})
    shown = advice.advice(judged(study, CLEAR), first=1)
    at_once, folded = shown.split("<details>", 1)
    assert [row[0] for row in rows_of(at_once)[1:]] == ["Take `fast`."]
    assert folded.startswith("\n<summary>More advice: Take it at low; Take it at high</summary>")
    table = folded.split("</details>")[0]
    assert [row[0] for row in rows_of(table)[1:]] == ["Take it at low.", "Take it at high."]
    assert "More advice" not in advice.advice(judged(study, CLEAR), first=3)


def test_what_was_not_measured_is_told_below(study: Problem) -> None:
    shown = advice.advice(judged(study, {"low": CLEAR["low"]}))
    assert "*Not measured: Take `fast`.*" in shown
    assert "|" not in shown


def test_a_page_of_its_own_links_to_the_worklog(study: Problem) -> None:
    shown = replace(judged(study, CLEAR), root="../")
    assert "[reproduced](../README.md#take-fast)" in advice.advice(shown)
