"""Planted defects: each, alone, turns the tests of its room red."""

from collections.abc import Iterator

import pytest

from tests.support.battery import Figures
from tests.support.defects import DEFECTS, Defect
from tests.support.shadow import Shadow

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def shadow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shadow]:
    with Shadow(tmp_path_factory.mktemp("shadow")) as shadow:
        yield shadow


def test_without_a_defect_the_tests_pass(shadow: Shadow, figures: Figures) -> None:
    tests = sorted({defect.killer for defect in DEFECTS})
    status, told = shadow.run(tests, deadline_s=600)
    assert status == "passed", told
    figures(defects=len(DEFECTS))


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_defect_fails_the_tests(shadow: Shadow, defect: Defect) -> None:
    before = (shadow.root / defect.file).read_text(encoding="utf-8")
    assert before.count(defect.old) == 1, "the table is behind the code"
    with shadow.planted(defect.file, before.replace(defect.old, defect.new)):
        status, told = shadow.run([defect.killer])
    assert status == "failed", told
