"""Signatures of kernels: the number that decides, of both twins, as the evidence has it."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harness.ground import files
from harness.problem.manifest import find
from harness.report import own_sections, publish
from harness.report.page import Page
from tests.support.paths import ROOT
from tests.support.reports import committed

FIGURES = sorted(committed("6-bottleneck-zoo").glob("figures/signature-*.json"))


@pytest.fixture(scope="module")
def page() -> Page:
    return publish.page_of(find(ROOT / "problems", "6"), committed("6-bottleneck-zoo"))


@pytest.fixture(scope="module")
def signature(page: Page) -> ModuleType:
    own_sections.load(page.problem.folder)
    (name,) = (name for name in sys.modules if name.endswith("bottleneck_zoo.sections.signature"))
    return sys.modules[name]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.stem)
def test_a_picture_has_the_number_and_the_threshold_that_its_page_prints(figure: Path) -> None:
    """Bytes may stand in another unit, so digits are compared."""
    drawn = str(files.read_json(figure)["specification"])
    sick = re.findall(r"'shown': '([^']+)', 'baseline': True", drawn)[0]
    threshold = re.findall(r"'shown': 'threshold: ([^']+)'", drawn)[0]
    pages = (path.read_text("utf-8") for path in figure.parents[1].glob("pages/*.md"))
    (text,) = (text for text in pages if f"/{figure.stem}.svg" in text)
    digits = (r"\.?".join(each.replace(".", "")) for each in (sick, threshold))
    assert re.search(r": {}(?!\d)[^\n]*\(threshold {}(?!\d)".format(*digits), text)


@pytest.mark.slow
def test_what_is_computed_of_a_twin_is_what_the_diagnosis_computes(
    page: Page, signature: ModuleType
) -> None:
    kernels = [
        case
        for case, each in page.problem.cases.items()
        if str(each.params["specimen"]).startswith("kernel")
    ]
    decided = {case: found for case in kernels if (found := signature.decides(page, case))}
    assert len(decided) == len(FIGURES)
    for case, (evidence, _) in decided.items():
        views = signature.launches(page, page.problem.baseline, case)
        assert evidence.value in {signature.value_of(view, evidence.metric) for view in views}
    assert signature.COMPUTED.keys() <= {evidence.metric for evidence, _ in decided.values()}
