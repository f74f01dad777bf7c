"""The exam of the diagnosis: a row a specimen, and what is named where evidence is missing."""

from collections import Counter
from statistics import median

from harness.analysis.diagnose.finding import ABSTAIN, HEALTHY
from harness.report.escape import Markdown, escape, prose, table
from harness.report.page import Page, not_measured
from harness.report.sections.details import details

from . import grading
from .exam_gains import exam_gains
from .grading import Answer

_HEAD = [
    *("specimen", "planted", "named first", "twin, named first", "highest rule of Nsight Compute"),
    *("gain predicted", "twin gained"),
]
_FOLDED = "Every specimen: what was planted, what was named, what it gained"
_NONE = "–"

_MORE = 0.01
"""A twin that gained so much more than predicted, of the specimen's time or memory, is counted."""
_FAR_OFF = 0.15
"""A prediction that is off by as much, as a fraction of what the twin gained, is counted."""


def exam(page: Page) -> Markdown:
    """Return how many planted bottlenecks are named, their gains, and a row a specimen."""
    answers = grading.answers(page.problem, page.metrics)
    if not answers:
        return not_measured("The exam")
    further = f"{_margins(answers)}{_rules(answers)}".strip()
    figure = exam_gains(page, answers)
    grid = details(page, _FOLDED, lambda: _table(page, answers))
    parts = filter(None, [_sentence(answers), further, figure, grid])
    return Markdown("\n\n".join(parts).rstrip())


def _table(page: Page, answers: list[Answer]) -> Markdown:
    rows = [
        [
            prose(page.problem.cases[answer.case].label),
            escape(answer.planted),
            _named(answer),
            _first(answer.of_twin, right=not answer.false_alarm),
            escape(answer.rules[0] if answer.rules else _NONE),
            _percent(None if answer.is_bound else answer.predicted),
            _percent(answer.gained),
        ]
        for answer in answers
    ]
    return table(_HEAD, rows, numeric_from=5, whole=True)


def exam_without(page: Page) -> Markdown:
    """Return a row a piece of evidence: the findings named first where the piece is missing."""
    outcomes = grading.degraded(page.problem, page.metrics)
    if not outcomes:
        return not_measured("The exam with less evidence")
    rows = []
    for piece, named in outcomes.items():
        count = Counter(named)
        known = (grading.RIGHT, ABSTAIN, grading.BROADER)
        wrong = {name: count[name] for name in count if name not in known}
        listed = ", ".join(f"{name} ({times})" for name, times in sorted(wrong.items()))
        shown = [str(len(named)), *(str(count[each]) for each in known), escape(listed or _NONE)]
        rows.append([escape(piece), *shown])
    head = ["without", "specimens", "still right", "abstained", "broader name", "another name"]
    return table(head, rows, numeric_from=1, whole=True)


def _sentence(answers: list[Answer]) -> Markdown:
    right = [answer for answer in answers if answer.right]
    bounds = sum(answer.is_bound for answer in right)
    alarms = [f"{each.case}: {each.of_twin[0]}" for each in answers if each.false_alarm]
    undecided = sum(answer.of_twin[:1] == (ABSTAIN,) for answer in answers)
    predicted = [
        (answer.predicted, answer.gained)
        for answer in answers
        if answer.predicted is not None and answer.gained is not None and answer.gained > 0
        if not answer.is_bound
    ]
    errors = [abs(foreseen - gained) / gained for foreseen, gained in predicted]
    more = sum(gained > foreseen + _MORE for foreseen, gained in predicted)
    gain = (
        f" Of {len(errors)} gains that the diagnosis predicts, half are off by at most"
        f" {100 * median(errors):.0f} % of what the twin gained, and"
        f" {sum(error >= _FAR_OFF for error in errors)} by {100 * _FAR_OFF:.0f} % or more;"
        f" {more} twins gained more, by over a hundredth of the time or memory."
        if errors
        else ""
    )
    limits = (
        f" Where a part of the GPU is the limit ({bounds}) it calls a specimen healthy first, names"
        " the limit second, and predicts no gain, as the twin gains by needing less."
        if bounds
        else ""
    )
    healthy = len(answers) - len(alarms) - undecided
    which = f" ({escape('; '.join(alarms))})" if alarms else ""
    return Markdown(
        f"Of {len(answers)} specimens the diagnosis names the planted bottleneck first in"
        f" {len(right) - bounds}, and at all in {len(right)}.{limits} It names a bottleneck"
        f" in **{len(alarms)}** of the healthy twins{which}: it calls {healthy} healthy and"
        f" leaves {undecided} open.{gain}"
    )


def _margins(answers: list[Answer]) -> Markdown:
    """Return how far the named bottlenecks are beyond the thresholds that name them."""
    known = {each.case: each.margin for each in answers if each.right and each.margin is not None}
    if not known:
        return Markdown("")
    nearest = min(known, key=lambda case: known[case])
    return Markdown(
        " Thresholds are shares of measured ceilings, or stand with their source in the code, and"
        " were set with these specimens at hand. A specimen lies beyond the threshold that names"
        f" it by {100 * median(known.values()):.0f} % in the median; the nearest,"
        f" {escape(nearest)}, by {100 * known[nearest]:.0f} %."
    )


def _rules(answers: list[Answer]) -> Markdown:
    """Return how often Nsight Compute's highest-ranked rule leads to what was planted."""
    asked = [answer for answer in answers if answer.rules]
    if not asked:
        return Markdown("")
    theirs = sum(answer.rule_right for answer in asked)
    anywhere = sum(answer.any_rule_right for answer in asked)
    ours = sum(answer.right and not answer.is_bound for answer in asked)
    return Markdown(
        f" Of the {len(asked)} specimens that Nsight Compute's rules speak of, the rule with the"
        f" largest estimate leads to the planted bottleneck in {theirs}, some rule in {anywhere};"
        f" the diagnosis names it first in {ours}."
    )


def _named(answer: Answer) -> Markdown:
    if answer.is_bound and answer.right:
        return escape(f"{HEALTHY}, then {answer.planted}")
    return _first(answer.named, right=answer.right)


def _first(named: tuple[str, ...], *, right: bool) -> Markdown:
    name = escape(named[0]) if named else Markdown(_NONE)
    return name if right or name == HEALTHY else Markdown(f"**{name}**")


def _percent(fraction: float | None) -> str:
    return _NONE if fraction is None else f"{100 * fraction:.0f} %"
