"""Excerpts: the lines that are shown are those of the file, and the link leads to them."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from harness.evidence import capture_list
from harness.evidence.capture_list import CaptureList, KeptCapture
from harness.ground.errors import CaptureError, ManifestError
from harness.problem import manifest
from harness.problem.model import Problem
from harness.report.page import Page
from harness.report.sections import excerpts
from tests.support.pages import page
from tests.support.paths import ROOT
from tests.support.reports import KEPT, copied, kept_study
from tests.support.small_evidence import tables

PLACE = ("f8-0.13.0-compiled", "stack-m1")


@pytest.fixture
def study(example: Problem) -> Problem:
    """A study of one source file, indented by tabs and by spaces."""
    lines = ["int before;", "\tint a;  // begin", "\t\tint b;", "    int c;  // end", "int after;"]
    (example.folder / "kernel.cu").write_text("\n".join(lines) + "\n")
    return example


@pytest.fixture
def published(tmp_path: Path) -> Page:
    """A page of the kept study beside the captures of its report."""
    return replace(page(kept_study(), tables()), folder=copied(KEPT, tmp_path))


def fenced(markdown: str) -> list[str]:
    """Return the lines between the fences."""
    return markdown.split("```")[1].splitlines()[1:]


def test_an_excerpt_is_the_lines_of_the_file_without_their_common_indentation(
    study: Problem,
) -> None:
    shown = excerpts.source(page(study, tables()), "kernel.cu", 2, 4)
    assert fenced(shown) == ["int a;  // begin", "    int b;", "int c;  // end"]
    assert "```cuda\n" in shown
    again = excerpts.source(page(study, tables()), "kernel.cu", between=("// begin", "// end"))
    assert again == shown


def test_its_link_leads_from_each_page_to_the_lines() -> None:
    study = manifest.find(ROOT / "problems", "1")
    worklog = page(study, tables())
    for root, folder in (("", "reports/1/gpu"), ("../", "reports/1/gpu/pages")):
        shown = excerpts.source(replace(worklog, root=root), "repro.py", 1, 3)
        link, first, last = re.findall(r"\]\(([^#]*)#L(\d+)-L(\d+)\)", shown)[0]
        assert (first, last) == ("1", "3")
        file = Path(ROOT / folder / link).resolve()
        assert file == study.folder / "repro.py"
        assert fenced(shown) == file.read_text().splitlines()[:3]


def test_a_shared_workload_is_found() -> None:
    study = manifest.find(ROOT / "problems", "1")
    shown = excerpts.source(page(study, tables()), study.workloads[0], 1, 2)
    assert f"problems/workloads/{study.workloads[0]}#L1-L2)" in shown


@pytest.mark.parametrize(
    ("file", "lines", "said"),
    [
        ("no.cu", {"start": 1}, "no such source file"),
        ("../../../etc/passwd", {"start": 1}, "no such source file"),
        ("kernel.cu", {"start": 3, "end": 9}, "has no lines 3 to 9"),
        ("kernel.cu", {"between": ("// end", "// begin")}, "has no lines between"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_the_file(
    study: Problem, file: str, lines: dict[str, Any], said: str
) -> None:
    with pytest.raises(ManifestError, match=said) as raised:
        excerpts.source(page(study, tables()), file, **lines)
    assert Path(file).name in str(raised.value)


def test_a_kept_text_is_shown_from_mark_to_mark(published: Page) -> None:
    shown = excerpts.kept(published, *PLACE, "output_code.py", ("import torch", "import"))
    link = re.findall(r"\]\(([^)]*)\)", shown)[0]
    raw = (published.folder / link).read_bytes()
    plain = zstandard.ZstdDecompressor().decompress(raw, max_output_size=1 << 24).decode()
    assert len(fenced(shown)) >= 2
    assert "\n".join(fenced(shown)) in plain
    assert "](../captures/" in excerpts.kept(
        replace(published, root="../"), *PLACE, "output_code.py", ("import torch", "import")
    )


def test_without_the_text_or_its_lines_the_page_says_so(published: Page) -> None:
    none = excerpts.kept(published, *PLACE, "other_code.py", ("a", "b"))
    assert "not kept by this report" in none
    other = excerpts.kept(published, *PLACE, "output_code.py", ("def no_such_kernel", "b"))
    assert "has no lines" in other
    assert "no_such" in other


def test_a_text_that_was_changed_after_publishing_is_not_shown(published: Page) -> None:
    path = published.folder / "captures" / f"{PLACE[1]}.{PLACE[0]}.output_code.py.zst"
    listed = KeptCapture(
        name=path.name,
        sha256="0" * 64,
        bytes=path.stat().st_size,
        in_git=True,
        cell="stack-m1.f8-0.13.0-compiled.timing.r0",
        artifact="output_code.py",
        artifact_sha256="0" * 64,
        artifact_bytes=1,
    )
    capture_list.write(published.folder / "evidence", CaptureList(captures=(listed,)))
    with pytest.raises(CaptureError, match="not the capture that was published"):
        excerpts.kept(published, *PLACE, "output_code.py", ("import torch", "import"))


def test_a_docstring_is_a_sentence_and_its_labelled_paragraphs(study: Problem) -> None:
    text = "Add it; torch._foreach_ does.\n\nWork: a < b\nin two lines.\nGives it away: `x_`."
    (study.folder / "specimen.py").write_text(f'"""{text}\n"""\n')
    assert excerpts.docstring(page(study, tables()), "specimen.py") == (
        "Add it; torch.&#95;foreach&#95; does.\n\n"
        "- **Work**: a &#60; b in two lines.\n"
        "- **Gives it away**: `x_`."
    )
