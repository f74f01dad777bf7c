"""Every command of docs/clusters.md, on a real SLURM: from the login node to a worklog."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.support import cluster_house
from tests.support.cluster_house import House
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")

NOT_OF_THE_HARNESS = {"git", "make", "for", "done", "wait", ".venv/bin/python", "docker"}
NO_APPTAINER = "--engine apptainer"
"""What Debian and PyPI do not have: tests/engines/test_apptainer.py holds its command lines."""


def commands() -> list[str]:
    """Return the harness's command lines of the page, without what follows a pipe."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.strip()]
    first = {line.split()[0] for line in lines}
    assert first == NOT_OF_THE_HARNESS | {"harness"}
    ours = (re.split(r" [|#] ?", line)[0].strip() for line in lines if line.startswith("harness"))
    return [line.removeprefix("harness ") for line in ours if NO_APPTAINER not in line]


@pytest.mark.slow
def test_every_command_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    cluster_house.needs_slurm()
    house = House(tmp_path / "house")
    for name in ("slurm", "h200", "a100"):
        shutil.copy(
            house.folder / "clusters" / "ci.toml", house.folder / "clusters" / f"{name}.toml"
        )
    (house.folder / "wheels").mkdir()
    run, did = "", []
    try:
        for command in commands():
            words = [_of_the_house(word, house, run) for word in shlex.split(command)]
            if words[0] in ("run", "fleet") and "--dry-run" not in words:
                words += ["--engine", "local", "--python", sys.executable, "--rounds", "1"]
            code, said = house.ended(house.start_harness(*words))
            assert code == 0, (command, said)
            did.append(words[0])
            run = next(iter(re.findall(r"^run: (.+)$", said, re.MULTILINE)), run)
    finally:
        house.end()
    assert {"run", "report", "check", "fleet"} <= set(did)
    assert list(house.folder.glob("reports/9-example/*/README.md"))


def _of_the_house(word: str, house: House, run: str) -> str:
    """Return a word of the page as it is in the test's checkout."""
    report = next(iter(house.folder.glob("reports/9-example/*/")), Path())
    known = {
        "1": "9",
        "4": "9",
        "RUN": run,
        "/shared/torch/bin/python": sys.executable,
        "docker": "local",
    }
    known |= {"reports/1-torchao-float8/nvidia-h200": str(report)}
    return known.get(word, word)
