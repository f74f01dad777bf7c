"""The table of defects that the battery plants: it follows the code and the tests."""

import pytest

from tests.support.defects import DEFECTS, Defect
from tests.support.paths import ROOT


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_defect_can_be_planted(defect: Defect) -> None:
    assert (ROOT / defect.file).read_text(encoding="utf-8").count(defect.old) == 1
    file, _, name = defect.killer.partition("::")
    assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8")
