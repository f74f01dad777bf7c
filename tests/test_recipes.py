"""docs/record.md: its recipes are Python, and that of plain PyTorch leaves a trace of its steps."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import recipes
from tests.support.torch_cpu import PYTHON, needs_torch

TITLES = re.findall(r"^## (.+)$", recipes.PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("title", ["", *TITLES])
def test_the_blocks_of_a_recipe_are_python(title: str) -> None:
    for block in recipes.blocks(title):
        ast.parse(block)


@pytest.mark.parametrize("title", TITLES)
def test_the_commands_of_a_recipe_are_shell(title: str) -> None:
    section = recipes.PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2]
    for block in re.findall(r"^```sh\n(.*?)^```", section.partition("\n## ")[0], re.M | re.S):
        subprocess.run(["bash", "-n"], input=block, check=True, text=True)


def test_each_framework_of_the_table_has_its_recipe() -> None:
    page = recipes.PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^\]]+\]\(#([\w-]+)\) \| .* \| (.*) \|$", page, re.MULTILINE)
    titles = [re.sub(r"[^a-z]+", "-", title.lower()) for title in TITLES]
    assert [anchor for anchor, _ in rows] == titles[:-1]  # the last one is what follows
    tried = {title for title, (_, how) in zip(TITLES, rows, strict=False) if "on an H200" in how}
    assert tried == {*recipes.PROGRAMS, *recipes.UNDER_NSYS}


@pytest.mark.slow
@needs_torch
def test_the_recipe_of_plain_pytorch_records_its_steps(tmp_path: Path) -> None:
    assert PYTHON
    assert recipes.run(PYTHON, "Plain PyTorch", tmp_path) == recipes.STEPS
