"""Published figures: a dash for what is missing, and the source."""

from harness.problem.model import Problem, Reference
from harness.report.sections.reference import reference
from tests.support.pages import page, rows_of
from tests.support.small_evidence import tables


def test_published_figures_have_their_source(example: Problem) -> None:
    published = Reference(
        source="a paper",
        gpu="H100",
        software="torch 2.6",
        columns=["size", "time"],
        rows=[["small", 1.5], ["large", None]],
    )
    problem = example.model_copy(update={"references": {"paper": published}})
    text = reference(page(problem, tables()), "paper")
    assert rows_of(text)[1:] == [["small", "1.5"], ["large", "–"]]
    assert text.endswith("*Published, not measured here: a paper. H100; torch 2.6.*")
