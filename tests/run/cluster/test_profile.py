"""Profiles of clusters: every key is checked, and becomes what SLURM expects."""

from pathlib import Path
from typing import Any

import pytest

from harness.ground import checkout
from harness.ground.errors import HarnessError
from harness.problem.plan import Selected
from harness.run.cluster import profile, session, slurm
from harness.run.session import Request
from harness.run.session import session as local_session
from tests.support.manifests import GOOD, written
from tests.support.paths import ROOT

CASES = "".join(f"  c{number}: {{label: C{number}}}\n" for number in range(3))
BUSY = "  busy: {label: Busy, loads_host: true}\n"
TEXT = GOOD.replace("  small: {label: Small}\n", CASES + BUSY).replace("case: small", "case: c0")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one problem."""
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    (tmp_path / "problems").mkdir()
    written(tmp_path / "problems", TEXT)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("jobs = 0\n[slurm]", "jobs: Input should be greater than or equal to 1"),
        ("jobs = 2", "slurm: Field required"),
        ("[slurm]\n[kubernetes]", "kubernetes: Extra inputs are not permitted"),
        ("[slurm]\npartitions = 'a'", "slurm.partitions: Extra inputs are not permitted"),
        ("[slurm]\ntime = '1 h'", "slurm.time: Input should be a valid integer"),
        ("[slurm", "no TOML: "),
    ],
)
def test_a_mistake_is_told_with_file_and_key(tmp_path: Path, text: str, mistake: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(HarnessError) as caught:
        profile.load(str(path))
    assert str(caught.value).startswith(f"{path}: {mistake}")


def test_a_cluster_that_is_not_there_is_told() -> None:
    with pytest.raises(HarnessError, match=r"no cluster 'mine' .*there are: slurm"):
        profile.load("mine")


@pytest.mark.parametrize("path", sorted((ROOT / "clusters").glob("*.toml")), ids=lambda p: p.stem)
def test_the_committed_profiles_are_read(path: Path) -> None:
    assert profile.load(path.stem).device == "cuda"


def test_slurm_gets_its_options_under_its_own_names() -> None:
    given = profile.Slurm(
        partition="gpu",
        gres="gpu:h200:1",
        time=90,
        cpus_per_task=16,
        mem_gb=64,
        options={"nice": 5},
    )
    assert slurm.parameters(given, "a-name", alone=True) == {
        "partition": "gpu",
        "gres": "gpu:h200:1",
        "job_name": "a-name",
        "time": 90,
        "nodes": 1,
        "ntasks_per_node": 1,
        "array_parallelism": 256,
        "signal_delay_s": 90,
        "stderr_to_stdout": True,
        "cpus_per_task": 16,
        "mem": "64G",
        "exclusive": True,
        "srun_args": ["--cpus-per-task=16"],
        "additional_parameters": {"requeue": True, "nice": 5},
    }


def understood(known: profile.Profile, **more: Any) -> session.OnCluster:
    return session.session(Request("9", Selected(rounds=2), **more), known)


@pytest.mark.usefixtures("house")
def test_a_job_has_whole_comparisons_and_what_loads_the_host_is_apart() -> None:
    parts = understood(profile.Profile(jobs=2, slurm=profile.Slurm())).parts
    cases = [sorted({cell.case for cell in part}) for part in parts]
    assert sorted(map(len, parts)) == [4, 4, 8]
    assert cases[-1] == ["busy"]
    assert sorted(case for of in cases for case in of) == ["busy", "c0", "c1", "c2"]


@pytest.mark.usefixtures("house")
def test_gpus_of_this_host_are_not_for_a_cluster() -> None:
    with pytest.raises(HarnessError, match="--gpus names GPUs of this host"):
        understood(profile.Profile(slurm=profile.Slurm()), gpus=("0",))


@pytest.mark.usefixtures("house")
def test_the_parts_of_a_plan_are_the_jobs_of_a_cluster() -> None:
    asked = understood(profile.Profile(jobs=2, slurm=profile.Slurm()))
    asked_here = [
        local_session(Request("9", Selected(rounds=2), "local", part=(number, 2)))
        for number in range(len(asked.parts))
    ]
    cells = [cell.name for each in asked_here for cell in each.cells]
    assert sorted(cells) == sorted(cell.name for cell in asked.cells)
    assert len(set(cells)) == len(cells)


@pytest.mark.usefixtures("house")
@pytest.mark.parametrize("part", [(3, 2), (0, 0), (-1, 2)])
def test_a_part_that_there_is_not_is_told(part: tuple[int, int]) -> None:
    with pytest.raises(HarnessError, match="--part"):
        local_session(Request("9", Selected(rounds=2), "local", part=part))
