"""The tutorial's commands do what the page says, from a draft to a judged page."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness import lint
from harness.lint.study import Study
from harness.problem import manifest, new
from tests.support.paths import ROOT
from tests.support.torch_cpu import PYTHON, needs_torch
from tests.support.turns import in_turn

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
NAME = "1-nearest-centre"


def block(kind: str, begins: str) -> str:
    (found,) = (text for language, text in BLOCKS if language == kind and text.startswith(begins))
    return found


def written(problems: Path) -> Path:
    """Write the page's study over the draft, as the page says."""
    folder = new.write(problems, NAME.partition("-")[2]).folder
    (folder / "repro.py").write_text(block("python", '"""Which'), encoding="utf-8")
    (folder / "problem.yaml").write_text(block("yaml", "title:"), encoding="utf-8")
    (folder / "worklog.md.j2").unlink()
    return folder


def test_the_page_s_study_is_sound_and_has_no_remarks(tmp_path: Path) -> None:
    folder = written(tmp_path / "problems")
    assert folder.name == NAME
    problem = manifest.load(folder)
    assert lint.review(Study.read(problem)) == []
    for without, rule in (("product", "no-rival"), ("many", "no-range")):
        text = block("yaml", "title:")
        text = re.sub(rf"^  {without}: .*\n", "", text, flags=re.MULTILINE)
        text = text.replace(
            "at: [few, many]", "at: [few]" if without == "many" else "at: [few, many]"
        )
        text = text.replace("take: product", "take: cdist")
        (folder / "problem.yaml").write_text(text, encoding="utf-8")
        told = lint.review(Study.read(manifest.load(folder)))
        assert [remark.rule for remark in told] == [rule]


@pytest.mark.slow
@needs_torch
def test_its_commands_run_one_after_another(tmp_path: Path) -> None:
    for part in ("harness", "requirements"):
        (tmp_path / part).symlink_to(ROOT / part)
    (tmp_path / "problems").mkdir()
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    path = f"{ROOT}{os.pathsep}{packages}"
    environment = {**os.environ, "WORKLOGS_CHECKOUT": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    for line in COMMANDS:
        program, *words = shlex.split(line)
        if words[0] == "new":
            written(tmp_path / "problems")
            continue
        argv = (
            [str(PYTHON), *words]
            if program == "python"
            else [sys.executable, "-m", "harness", *words]
        )
        if words[0] == "run":
            argv += ["--engine", "local", "--python", str(PYTHON)]
        done = in_turn(argv, cwd=tmp_path, env={**environment, "PYTHONPATH": path})
        inconclusive = words[0] == "check" and done.returncode == 3
        assert done.returncode == 0 or inconclusive, f"{line}\n{done.stdout}{done.stderr}"
    page = tmp_path / "reports" / NAME / "cpu" / "README.md"
    assert "`take-product`" in page.read_text(encoding="utf-8")  # among what needs a GPU
    judged = subprocess.run(
        [sys.executable, "-m", "harness", "check", "1", "--json"],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    verdicts = {claim["id"]: claim["verdict"] for claim in json.loads(judged.stdout)}
    assert verdicts["same-centres"] == "reproduced"
