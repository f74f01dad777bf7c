"""Rules on what claims divide, in how many processes, and what is said where one fails."""

from pathlib import Path

import pytest

from harness import lint
from harness.lint.study import Remark, Study
from harness.problem import manifest
from tests.support.manifests import GOOD, TAKE_FAST, written

ADVICE = f"""\
{TAKE_FAST}    at: [small]
    holds_for: small, 1
"""
CARD = "card: {sentence: It is., claim: faster, number: of slow}\n"
OF_RATIO = GOOD.replace("unit: ms", "unit: ×")
PROFILED = GOOD.replace("timing: {}", "nsys: {}").replace(
    "capture: timing, sample: wall_time", "capture: nsys, measure: gpu_idle_share"
)


def remarks(tmp_path: Path, text: str, rule: str) -> list[Remark]:
    study = Study.read(manifest.load(written(tmp_path, text)))
    return [remark for remark in lint.review(study) if remark.rule == rule]


def lines(tmp_path: Path, text: str, rule: str) -> list[str]:
    """Return the line of the manifest that each remark points to."""
    return [text.splitlines()[each.line - 1].strip() for each in remarks(tmp_path, text, rule)]


def headline(text: str) -> str:
    return text.replace("    metric: time\n", "    metric: time\n    headline: true\n")


@pytest.mark.parametrize("unit", ["×", '"%"'])
def test_a_headline_that_divides_ratios_is_told(tmp_path: Path, unit: str) -> None:
    text = GOOD.replace("unit: ms", f"unit: {unit}")
    assert lines(tmp_path, text, "ratio-of-ratios") == []
    assert lines(tmp_path, headline(text), "ratio-of-ratios") == ["metric: time"]
    assert lines(tmp_path, text + CARD, "ratio-of-ratios") == ["metric: time"]
    assert lines(tmp_path, headline(text + ADVICE), "ratio-of-ratios") == ["metric: time"] * 2


def test_a_ratio_of_times_may_lead_and_so_may_a_bounded_ratio(tmp_path: Path) -> None:
    assert lines(tmp_path, headline(GOOD), "ratio-of-ratios") == []
    bounded = headline(OF_RATIO).replace("    over: {variant: slow}\n", "")
    assert lines(tmp_path, bounded, "ratio-of-ratios") == []


def test_two_rounds_of_a_capture_or_a_case_are_told_once(tmp_path: Path) -> None:
    assert lines(tmp_path, GOOD + ADVICE, "too-few-rounds") == []
    text = GOOD.replace("timing: {}", "timing:\n    rounds: 2") + ADVICE
    assert lines(tmp_path, text, "too-few-rounds") == ["rounds: 2"]
    (told,) = remarks(tmp_path, text, "too-few-rounds")
    assert told.what.endswith("judge faster, and 1 more")
    assert "3 rounds" in told.remedy
    text = GOOD.replace("{label: Small}", "\n    label: Small\n    rounds: 1")
    assert lines(tmp_path, text, "too-few-rounds") == ["rounds: 1"]


def test_a_rival_counts_and_what_an_advice_pays_does_not(tmp_path: Path) -> None:
    text = (GOOD.partition("claims:")[0] + "claims:\n" + ADVICE).replace(
        "claims:", "  cost: {label: cost, unit: ms, capture: timing, sample: cost}\nclaims:"
    )
    few = text.replace("{label: Small}", "{label: Small, rounds: 2}")
    assert lines(tmp_path / "a", few, "too-few-rounds") == ["small: {label: Small, rounds: 2}"]
    of_bytes = few.replace("ms, capture: timing, sample: wall_time", "B, capture: timing, fact: a")
    assert lines(tmp_path / "b", of_bytes + "    pays: [cost]\n", "too-few-rounds") == []


def test_a_start_is_one_process_and_the_later_ones_are_the_rest(tmp_path: Path) -> None:
    for start, rounds, told in (("first", 5, True), ("later", 3, True), ("later", 4, False)):
        text = GOOD.replace("sample: wall_time", f"sample: wall_time, start: {start}")
        text = text.replace("timing: {}", f"timing: {{rounds: {rounds}}}")
        assert bool(lines(tmp_path, text, "too-few-rounds")) == told


def test_the_short_path_has_to_judge_headline_claims(tmp_path: Path) -> None:
    text = GOOD + "short: {rounds: 2}\n"
    assert lines(tmp_path, text, "too-few-rounds") == []
    assert lines(tmp_path, headline(text), "too-few-rounds") == ["short: {rounds: 2}"]


def test_a_count_needs_no_rounds_and_a_profiled_time_is_no_headline(tmp_path: Path) -> None:
    counted = GOOD.replace("ms, capture: timing, sample: wall_time", "B, capture: timing, fact: a")
    counted = counted.replace("timing: {}", "timing: {rounds: 1}")
    assert lines(tmp_path / "a", counted, "too-few-rounds") == []
    shares = PROFILED.replace("unit: ms", 'unit: "%"')
    assert lines(tmp_path, shares, "too-few-rounds") == []
    assert lines(tmp_path, headline(shares), "too-few-rounds") == ["metric: time"]


@pytest.mark.parametrize(
    ("bound", "unit", "otherwise", "told"),
    [
        ("{below: 1.15}", "×", "It exposes more than 1.15 times the floor.", True),
        ("{below: 1.15}", "×", "It exposes 15 % more than the floor.", True),
        ("{below: 1.15}", "×", "It exposes more than the floor.", False),
        ("{above: 95}", "%", "It draws less than 95 % of the limit.", True),
        ("{above: 103}", "%", "It is not 3 % faster.", True),
        ("{above: 110}", "%", "It is less than 1.1 times as fast.", True),
        ("{between: [0.98, 1.02]}", "×", "They differ by more than 2 %.", True),
        ("{below: 40}", "ms", "It takes longer than 40 ms.", True),
        ("{below: 40}", "ms", "At 40 rows it takes longer.", False),
        ("{above: 32}", "candidates", "There were fewer than 32 candidates.", True),
        ("{below: 1}", "×", "It takes as long, of 1 of the kernels.", False),
    ],
)  # fmt: skip
def test_what_is_true_instead_does_not_repeat_the_bound(
    tmp_path: Path, bound: str, unit: str, otherwise: str, told: bool
) -> None:
    text = GOOD.replace("unit: ms", f'unit: "{unit}"').replace("{below: 1}", bound)
    text += f'    otherwise: "{otherwise}"\n'
    expected = [f'otherwise: "{otherwise}"'] * told
    assert lines(tmp_path, text, "negated-bound") == expected


def test_a_template_states_no_verdict_itself(tmp_path: Path) -> None:
    folder = written(tmp_path, GOOD)
    (folder / "worklog.md.j2").write_text(
        "All is inconclusive.\n\n{% if w.has('a') %}So much is undecided.{% endif %}\n"
        '{% call w.concludes("faster") %}Nothing is undecided.{% endcall %}\n'
        "{# no conclusion: a definition #}A claim is undecided if its interval crosses.\n"
        "`undecided` is a word.\n"
    )
    found = lint.review(Study.read(manifest.load(folder)))
    assert [each.line for each in found if each.rule == "open-assertion"] == [1, 3]
