"""What to do: each piece of advice with its gain, its nearest rival and its claim."""

import math
from collections.abc import Sequence

from harness.analysis.advice import Gain, nearness
from harness.analysis.claims import AdviceResult, advised
from harness.analysis.measured import Measured
from harness.analysis.verdict import THRESHOLD, Verdict, judged_ends
from harness.problem import needs
from harness.problem.model import Problem
from harness.report import verdicts
from harness.report.escape import Markdown, escape, prose, table
from harness.report.numbers import deciding, measured
from harness.report.page import Page
from harness.report.sections.claims import link, named
from harness.report.sections.details import details

_HEAD = ["do this", "you gain", "best alternative", "it holds for", "it costs", "claim"]
_SHOWN: tuple[Verdict, ...] = ("reproduced", "tie", "undecided", "described")
_MOST_LABELS = 4


def advice(page: Page, *, first: int | None = None) -> Markdown:
    """Return the table of advice: gain, best alternative, range, cost and verdict of each.

    ``first``: how many rows stand there at once; the others are folded away. Without it all do.

    Reproduced advice comes first, each verdict in the manifest's order: its author puts first what
    who has the problem should do. Refuted advice is left out: the claims' table names the better
    variant. Below the table, folded away, stand why advice is undecided or described and which
    alternatives were left out; then advice that was not measured.
    """
    results = advised(page.results)
    shown = sorted(
        (result for result in results if result.verdict in _SHOWN),
        key=lambda result: _SHOWN.index(result.verdict),
    )
    unmeasured = [result for result in results if result.verdict == "not measured"]
    none = Markdown("" if unmeasured else "*No advice is borne out on this target.*")
    parts = [
        _table(page, shown[:first]) if shown else none,
        _more(page, shown[first:] if first else []),
        _folded(page, shown),
        _unmeasured(unmeasured),
    ]
    return Markdown("\n\n".join(part for part in parts if part))


def _more(page: Page, results: Sequence[AdviceResult]) -> Markdown:
    """Return further rows, folded away below what they advise."""
    if not results:
        return Markdown("")
    told = "; ".join(prose(result.claim.statement).rstrip(".") for result in results)
    return details(page, f"More advice: {told}", lambda: _table(page, results))


def _table(page: Page, results: Sequence[AdviceResult]) -> Markdown:
    rows: list[list[str]] = [
        [
            prose(result.claim.statement),
            _gains(page, result),
            _rival(page.problem, result),
            prose(result.claim.holds_for),
            _costs(page.problem, result),
            link(page, result),
        ]
        for result in results
    ]
    return table(_HEAD, rows, numeric_from=len(_HEAD), whole=True)


def _gains(page: Page, result: AdviceResult) -> Markdown:
    """Return the metric, and the least and largest gain with case and values before and after."""
    ordered = sorted(result.gains, key=lambda gain: gain.gain.value or 0.0)
    places = _apart([page.problem.cases[gain.case].label for gain in ordered])
    ends = list(zip(ordered, places, strict=True))
    ends = ends if len(ends) < 2 else [ends[0], ends[-1]]
    several = len(ends) > 1
    gains = (
        f"{measured(gain.gain)}"
        f"{f' at {_whole(escape(place))}' if several else ''}"
        f"{_change(page, result, gain)}"
        for gain, place in ends
    )
    metric = page.problem.metric(result.claim.metric)
    # Of a ratio no values stand beside the gain to say which way it goes.
    word = "improves by " if metric.unit == "×" else ""
    return Markdown(f"{escape(metric.label)}: {word}{', '.join(gains)}")


def _whole(text: str) -> str:
    """Return text that a narrow column does not break into words."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _change(page: Page, result: AdviceResult, gain: Gain) -> str:
    """Return the metric before and after, such as " (366 µs → 270 µs)"; of a ratio, nothing.

    Both are of the rounds that the gain has.
    """
    claim = result.claim
    if page.problem.metric(claim.metric).unit == "×":
        return ""
    before, after = ((claim.metric, side, gain.case) for side in (claim.instead_of, claim.take))
    values = page.metrics.sides(before, after)
    return f" ({_whole(' → '.join(measured(value, interval=False) for value in values))})"


def _costs(problem: Problem, result: AdviceResult) -> Markdown:
    """Return what an advice costs: words, then the range over its cases of each metric it pays.

    A metric that is better in every case, by more than 1 %, is saved, and comes last.
    """
    claim = result.claim
    paid, saved = [], []
    for metric in claim.pays:
        ratios = [gain.pays[metric] for gain in result.gains if gain.pays[metric].value is not None]
        if ratios:
            ends = sorted({_factor(ratio) for ratio in (_least(ratios), _most(ratios))})
            told = f"{escape(problem.metric(metric).label)} {' to '.join(ends)}"
            if _is_better(problem, metric, ratios):
                saved.append(f"saves: {told}")
            else:
                paid.append(told)
    return Markdown("; ".join(filter(None, [prose(claim.costs), *paid, *saved])) or "–")


def _is_better(problem: Problem, metric: str, ratios: Sequence[Measured]) -> bool:
    """Return whether all ratios of a metric are better than 1, by more than 1 %."""
    sign = 1 if problem.metric(metric).better == "higher" else -1
    return all(sign * ((ratio.value or 0.0) - 1) > THRESHOLD for ratio in ratios)


def _rival(problem: Problem, result: AdviceResult) -> Markdown:
    """Return the nearest alternative of any case, how far behind it is, and how many are left out.

    An alternative that is neither better nor worse by 1 %, with its whole interval, is not told
    apart; it ties if the whole interval is within 1 %.
    """
    compared = [gain for gain in result.gains if gain.rival]
    parts = []
    if compared:
        nearest = min(compared, key=lambda gain: nearness(gain.lead))
        label = escape(problem.variants[str(nearest.rival)].label)
        places = _apart([problem.cases[gain.case].label for gain in compared])
        place = places[compared.index(nearest)]
        where = f" at {_whole(escape(place))}" if compared[1:] else ""
        note = " (no gain)" if nearest.standing != "tie" and _is_no_better(nearest) else ""
        parts.append(f"{label}: {_standing(nearest)}{where}{note}")
    else:
        parts.append("none measured")
    if count := sum(map(len, _left_out(problem, result).values())):
        parts.append(f"{count} left out")
    return Markdown("; ".join(parts))


def _left_out(problem: Problem, result: AdviceResult) -> dict[str, list[str]]:
    """Return the labels of the alternatives left out, by reason.

    What the advice's cases do not measure is no alternative, so it was not left out.
    """
    labels: dict[str, list[str]] = {}
    for name in needs.measured(problem, result.claim, problem.variants):
        if name in result.claim.but:
            label = escape(problem.variants[name].label)
            labels.setdefault(result.claim.but[name], []).append(label)
    return labels


def _folded(page: Page, results: Sequence[AdviceResult]) -> Markdown:
    """Return why advice is open and which alternatives it leaves out, as far as there are any."""
    parts = {
        "why a row is undecided or described": _open(page, results),
        "which alternatives are left out": _alternatives(page, results),
    }
    told = {title: lines for title, lines in parts.items() if lines}
    if not told:
        return Markdown("")
    summary = " and ".join(told)
    body = "\n\n".join("\n".join(lines) for lines in told.values())
    return details(page, f"{summary[:1].upper()}{summary[1:]}", lambda: body)


def _alternatives(page: Page, results: Sequence[AdviceResult]) -> list[str]:
    """Return a line for each advice that leaves alternatives out: which, and why."""
    lines = []
    for result in results:
        left = _left_out(page.problem, result)
        if left:
            told = "; ".join(f"{_listed(alike)} ({prose(why)})" for why, alike in left.items())
            lines.append(f"- {named(page, result)} leaves out {told}.")
    return lines


def _standing(gain: Gain) -> str:
    """Return how far the alternative is behind, if it is, where there is a ratio."""
    if gain.lead.value is None:
        return "not comparable"
    word, lead = "behind by", measured(gain.lead)
    if gain.standing == "tie":
        equal = all(abs(end - 1) <= THRESHOLD for end in judged_ends(gain.lead))
        word, lead = "tie," if equal else "not told apart,", deciding(gain.lead)
        if not equal and _is_apart(gain.lead):
            word = "not told apart at all clocks seen,"
    ahead = gain.standing == "described" and gain.lead.value < 1
    return f"ahead by {measured(gain.behind)}" if ahead else f"{word} {lead}"


def _is_apart(ratio: Measured) -> bool:
    """Return whether an interval that no doubt widens is clear of 1 by more than 1 %."""
    low, high = ratio.low or 0.0, ratio.high or math.inf
    return ratio.clock_factor > 1 and (low > 1 + THRESHOLD or high < 1 - THRESHOLD)


def _is_no_better(gain: Gain) -> bool:
    """Return whether the alternative is as far behind as what the advice replaces, or further."""
    return (gain.lead.value or 0.0) >= (gain.gain.value or math.inf)


def _open(page: Page, results: Sequence[AdviceResult]) -> list[str]:
    """Return why advice is neither reproduced nor refuted, a line for each verdict and reason."""
    alike: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.verdict != "reproduced":
            key = (result.verdict, verdicts.why(page.problem, result))
            alike.setdefault(key, []).append(named(page, result))
    return [
        f"- {verdict.capitalize()}: {escape(why)} ({', '.join(links)})."
        for (verdict, why), links in alike.items()
    ]


def _listed(labels: Sequence[str]) -> str:
    """Return labels in a row; of more than ``_MOST_LABELS`` how many, the first and the last."""
    if len(labels) <= _MOST_LABELS:
        return "; ".join(labels)
    return f"{len(labels)} variants, from “{labels[0]}” to “{labels[-1]}”"


def _unmeasured(results: Sequence[AdviceResult]) -> Markdown:
    if not results:
        return Markdown("")
    return Markdown(
        f"*Not measured: {'; '.join(prose(r.claim.statement).rstrip('.') for r in results)}.*"
    )


def _apart(labels: list[str]) -> list[str]:
    """Return the labels less the parts between commas that all of them share, if any are left."""
    parts = [label.split(", ") for label in labels]
    shared = set(parts[0]).intersection(*parts[1:])
    short = [", ".join(part for part in of_label if part not in shared) for of_label in parts]
    return short if all(short) else labels


def _factor(ratio: Measured) -> str:
    return measured(ratio, interval=False)


def _least(ratios: list[Measured]) -> Measured:
    return min(ratios, key=lambda ratio: ratio.value or 0.0)


def _most(ratios: list[Measured]) -> Measured:
    return max(ratios, key=lambda ratio: ratio.value or 0.0)
