"""The way from a claim back to samples, tables and captures, held against the files themselves."""

import hashlib
import re
from html import unescape
from statistics import median

import polars as pl
import pytest

from harness.report import publish
from harness.report.page import Page
from harness.site import claim_page
from harness.site.claim_evidence import ClaimEvidence, prose_html
from harness.site.tree import Tree
from tests.support.reports import KEPT, copied, kept_study

WARM_UP = pl.col("mark").eq_missing("warm-up")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return publish.page_of(kept_study(), copied(KEPT, tmp_path_factory.mktemp("reports")))


def test_a_cell_tells_the_samples_that_its_table_holds(study: Page) -> None:
    samples = study.tables["samples"].filter(~WARM_UP)
    counted = 0
    for result in study.results:
        for side in ClaimEvidence(study).sides(result):
            dots = re.findall(r"M[\d.]+ [\d.]+h0", side.strip)
            told = 0
            for cell in side.cells:
                name = str(re.search(r"samples <code>(\w+)</code>", side.said)[1])  # type: ignore[index]
                values = samples.filter((pl.col("cell") == cell.name) & (pl.col("metric") == name))[
                    "value"
                ].to_list()
                assert cell.values.startswith(f"{len(values)}, median ")
                shown = float(cell.values.split()[2])
                assert shown == pytest.approx(
                    median(values) * (1000 if cell.values.endswith("µs") else 1), rel=5e-3
                )
                told += len(values)
            assert len(dots) == told
            counted += told
    assert counted > 0


def test_sha256_are_those_of_the_files(study: Page) -> None:
    (side, *_) = ClaimEvidence(study).sides(study.results[0])
    assert [name for name, _ in side.tables] == ["evidence/samples.parquet"]
    for name, sha256 in side.tables:
        assert hashlib.sha256((study.folder / name).read_bytes()).hexdigest() == sha256


def test_the_page_opens_each_claim_once(study: Page) -> None:
    tree = Tree(study.folder.parents[1])
    tree.pages[f"{study.folder.relative_to(tree.checkout)}/README.md"] = "# Worklog\n"
    page = claim_page.add(tree, study)
    text = tree.made[page]
    for result in study.results:
        assert text.count(f'<details class="claim" id="{result.claim.id}">') == 1
        assert text.count(f'<a href="#{result.claim.id}">') == 1


def test_a_sentence_is_text_but_for_code() -> None:
    made = prose_html("a <b>b</b> `c<d>` & e")
    assert made == "a &lt;b&gt;b&lt;/b&gt; <code>c&lt;d&gt;</code> &amp; e"
    assert unescape(re.sub(r"</?code>", "`", made)) == "a <b>b</b> `c<d>` & e"
