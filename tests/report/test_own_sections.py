"""A study of the checkout brings sections of its own; code from elsewhere is never loaded."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.contribute import receive
from harness.ground import checkout
from harness.ground.errors import ManifestError
from harness.problem import manifest
from harness.report.worklog import render
from tests.support.manifests import GOOD, written
from tests.support.pages import timed_page
from tests.support.reports import KEPT, copied

OWN = """\
from pathlib import Path

from harness.report.escape import Markdown
from harness.report.page import Page

(Path(__file__).parent / "loaded").touch()


def slowest(page: Page, case: str) -> Markdown:
    return Markdown(f"**{_name(page)}** in {case}")


def _name(page: Page) -> str:
    return page.problem.baseline
"""


@pytest.fixture
def problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path / "checkout")
    folder = tmp_path / "checkout" / "problems"
    folder.mkdir(parents=True)
    yield folder
    assert not list(tmp_path.glob("elsewhere/**/loaded"))


def study(folder: Path, own: str = OWN, name: str = "sections.py") -> Path:
    made = written(folder, GOOD)
    (made / name).parent.mkdir(exist_ok=True)
    (made / name).write_text(own)
    return made


def shown(made: Path, text: str = "{{ w.slowest('small') }}") -> str:
    (made / "worklog.md.j2").write_text(text)
    page = timed_page(manifest.load(made), slow=2.0, fast=1.0)
    return render(made / "worklog.md.j2", page)


def test_a_template_asks_for_a_section_of_its_study(problems: Path) -> None:
    made = study(problems)
    assert shown(made) == "**slow** in small"
    assert (made / "loaded").exists()
    with pytest.raises(ManifestError, match="no section '_name'"):
        shown(made, "{{ w._name() }}")
    with pytest.raises(ManifestError, match="no section 'Markdown'"):
        shown(made, "{{ w.Markdown('a') }}")


def test_sections_may_be_several_files(problems: Path) -> None:
    made = study(problems, OWN, "sections/slowest.py")
    (made / "sections" / "__init__.py").write_text("from .slowest import slowest\n")
    assert shown(made) == "**slow** in small"


def test_pages_code_is_none_that_a_cell_runs(problems: Path) -> None:
    made = study(problems, OWN, "sections/slowest.py")
    (made / "sections.py").write_text(OWN)
    assert [path.name for path in manifest.load(made).scripts] == ["repro.py"]


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ("def claims(page): ...\n", "the harness has a section 'claims' as well"),
        ("import nowhere_to_be_found\n", "not loaded: ModuleNotFoundError: No module named"),
        ("def broken(:\n", "not loaded: SyntaxError: "),
        ("1 / 0\n", "not loaded: ZeroDivisionError: "),
    ],
)
def test_what_cannot_be_offered_is_one_line(problems: Path, own: str, told: str) -> None:
    with pytest.raises(ManifestError) as raised:
        shown(study(problems, own))
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_study_elsewhere_is_not_executed(problems: Path, tmp_path: Path) -> None:
    elsewhere = study(tmp_path / "elsewhere")
    with pytest.raises(ManifestError, match=r"only loaded from a study in problems/ of the check"):
        shown(elsewhere)
    (problems / "9-example").symlink_to(elsewhere)
    with pytest.raises(ManifestError, match="is a link"):
        shown(problems / "9-example")


def test_a_link_is_not_followed(problems: Path, tmp_path: Path) -> None:
    elsewhere = study(tmp_path / "elsewhere")
    made = written(problems, GOOD)
    (made / "sections.py").symlink_to(elsewhere / "sections.py")
    with pytest.raises(ManifestError, match="is a link"):
        shown(made)


def test_what_a_stranger_sends_is_not_executed(
    problems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither code in a report, nor that of a study that stands where the report was unpacked."""
    report = copied(KEPT, tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")
    name = report.parent.name
    for folder in (report, report / "evidence", report.parent, tmp_path / "elsewhere" / name):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sections.py").write_text(OWN)
    faults = receive.check(report, problems).faults
    assert "'sections.py': no file of a report" in faults
    for path in (report / "sections.py", report / "evidence" / "sections.py"):
        path.unlink()
    there = tmp_path / "elsewhere" / name
    (there / "problem.yaml").write_text((KEPT.parent / "problem.yaml").read_text())
    (there / "repro.py").write_text("")
    assert "only loaded from a study" in "\n".join(receive.check(report, problems).faults)
