"""What a step takes beyond own work: by hand on the report's numbers."""

from statistics import median

from harness.report.page import Page
from tests.support.split_study import SECTIONS, by_process

CASES = ["llama", "train"]


def told_rows(report: Page) -> dict[str, list[str]]:
    told = SECTIONS.exposed(report, "in-turn", CASES)
    lines = [line for line in told.splitlines() if line.startswith("| `")]
    return {line.split("`")[1]: [cell.strip() for cell in line.split("|")[2:5]] for line in lines}


def test_own_work_and_the_bubble_are_taken_from_both(report: Page) -> None:
    name = "prefill-by-ring"
    step, law, own = (
        by_process(report, f"{metric}@{name}", "llama")
        for metric in ("step_ms", "predicted_ms", "part_ms")
    )
    measured = [a - b for a, b in zip(step, own, strict=True)]
    predicted = [a - b for a, b in zip(law, own, strict=True)]
    rows = told_rows(report)
    assert rows[name][0].startswith(f"{median(measured):.2g} ms (")
    assert rows[name][1].startswith(f"{median(predicted):.2g} ms (")
    assert rows[name][2] == f"{median(measured) / median(predicted):.2g}×"
    pipeline = "train-by-1f1b"
    drawn_out = [
        step - part / (1 - bubble / 100)
        for step, part, bubble in zip(
            *(
                by_process(report, f"{metric}@{pipeline}", "train")
                for metric in ("step_ms", "part_ms", "bubble_law")
            ),
            strict=True,
        )
    ]
    assert rows[pipeline][0].startswith(f"{median(drawn_out):.2g} ms (")


def test_what_is_below_zero_has_no_quotient_and_is_in_no_range(report: Page) -> None:
    rows = told_rows(report)
    assert rows["train-by-naive"][0].startswith("-")
    assert rows["train-by-naive"][2] == "–"
    quotients = [float(row[2][:-1]) for row in rows.values() if row[2] != "–"]
    least, most = map(float, SECTIONS.exposed_over(report, "in-turn", CASES).split(" to "))
    assert (least, most) == (min(quotients), max(quotients))


def test_the_most_exposed_way_is_looked_for_among_all(report: Page) -> None:
    ways = report.problem.cases["train"].params["works"]["train"]["ways"]
    shares = [
        report.metrics.get(f"exposed_share@train-by-{way}", "in-turn", "train").value
        for way in ways
        if way != "whole"
    ]
    told = SECTIONS.most_exposed(report, "in-turn", "train", "train")
    assert told == f"{max(abs(share) for share in shares if share is not None):.3g}%"


def test_nothing_is_made_up_where_nothing_was_measured(report: Page) -> None:
    assert "not measured" in SECTIONS.exposed(report, "in-turn", ["llama-4"])
    assert SECTIONS.exposed_over(report, "in-turn", ["llama-4"]) == "not measured"
    assert SECTIONS.most_exposed(report, "in-turn", "llama-4", "prefill") == "not measured"
