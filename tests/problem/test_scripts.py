"""Which names scripts can give; and that what the harness says of the probe is so."""

import ast
from pathlib import Path

import pytest

from harness.evidence.kinds import KINDS, unprofiled
from harness.probe.series import LIMITS
from harness.problem.scripts import Scripts
from harness.problem.settings import Settings
from tests.support.paths import ROOT

SCRIPT = '''
"""The docstring names documented."""
cell.fact("quoted", 1)  # and the comment names commented
cell.fact(f"{kind}_bytes", 1)
cell.sample("a", prefix + ".rate", "", rates)
read(first=1).second
for direction in ("up", "down"):
    pass
'''


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    (tmp_path / "repro.py").write_text(SCRIPT)
    (tmp_path / "sizes.json").write_text('{"in_json": 1}')
    return Scripts([tmp_path / "repro.py", tmp_path / "sizes.json"])


@pytest.mark.parametrize(
    "name", ["quoted", "first", "second", "in_json", "up_bytes", "down_bytes", "up.rate"]
)
def test_a_name_that_stands_in_a_script_or_is_put_together_there(
    scripts: Scripts, name: str
) -> None:
    assert scripts.name(name)


@pytest.mark.parametrize(
    "name", ["documented", "commented", "bytes_up", "upp_bytes", "quote", "up_byte", "", "n16"]
)
def test_a_name_that_no_script_gives(scripts: Scripts, name: str) -> None:
    assert not scripts.name(name)


def test_a_region_may_be_named_by_a_size(scripts: Scripts) -> None:
    assert scripts.region("n16")
    assert not scripts.region("decode")


def test_of_a_script_that_is_no_python_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "repro.py").write_text("def")
    assert Scripts([tmp_path / "repro.py"]).name("anything")


def test_the_timing_kind_names_what_its_probe_samples() -> None:
    tree = ast.parse((ROOT / "harness" / "probe" / "timing.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Name)
        and call.func.id == "collect"
        and isinstance(call.args[0], ast.Constant)
    ]
    assert sorted({str(name) for name in named}) == sorted(KINDS[unprofiled()].samples)


def test_the_settings_default_to_the_probe_s_limits() -> None:
    defaults = Settings()
    assert {name: getattr(defaults, name) for name in LIMITS} == LIMITS
