"""A site of a single page, built with MkDocs."""

from pathlib import Path

import pytest

from harness.site import build
from harness.site.terms import Places
from harness.site.tree import Tree


def test_a_relative_folder_is_below_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tree = Tree(tmp_path)
    tree.pages["index.md"] = "# Home\n"
    terms: dict[str, Places] = {"words": {}, "codes": {}, "findings": {}}
    build.build(build.Sources(tree, [{"Home": "index.md"}], terms), Path("site"))
    assert "Home" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
