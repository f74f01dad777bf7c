"""Folded parts: what is inside is Markdown as the template wrote it, and the summary is text."""

from pathlib import Path

from harness.problem.model import Problem
from harness.report.worklog import render
from tests.support.pages import page
from tests.support.small_evidence import tables


def test_a_call_block_is_folded_with_its_sections_rendered(
    example: Problem, tmp_path: Path
) -> None:
    template = tmp_path / "worklog.md.j2"
    template.write_text(
        "{% call w.details('Counters of <float>') %}\n| a |\n| --- |\n| {{ '1 < 2' }} |\n"
        "{{ w.ceilings() }}\n{% endcall %}\nafter\n"
    )
    lines = render(template, page(example, tables())).splitlines()
    assert lines == [
        "<details>",
        "<summary>Counters of &#60;float></summary>",
        "",
        "| a |",
        "| --- |",
        "| 1 &#60; 2 |",
        "*Ceilings: not measured on this target.*",
        "",
        "</details>",
        "after",
    ]
