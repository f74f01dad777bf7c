"""What an engine says it will download, against the locks that its commands name."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines import downloads
from harness.engines.downloads import Downloads, digest, in_words
from harness.engines.image import builds
from harness.engines.local import CPU_TORCH, Local
from harness.engines.options import Options
from harness.machine import target
from harness.machine.host import Host
from harness.machine.target import Gpu
from harness.problem import manifest
from tests.support.bench import on_cpu
from tests.support.paths import ROOT

STUDY = manifest.find(ROOT / "problems", "1")
ENVIRONMENTS = ["torchao-0.13.0", "torchao-0.18.0"]


def local(tmp_path: Path, wheels: Path | None = None) -> Local:
    engine = Local(STUDY, on_cpu(), Options(wheels=wheels))
    engine.store = tmp_path
    return engine


def test_the_locks_are_those_of_the_commands(tmp_path: Path) -> None:
    engine = local(tmp_path)
    wanted = engine.downloads(ENVIRONMENTS)
    named = [
        argv[argv.index("-r") + 1] for argv in engine.preparation(ENVIRONMENTS) if "-r" in argv
    ]
    assert [str(path.resolve()) for path in wanted.locks] == named
    assert (wanted.packages, wanted.into) == ((CPU_TORCH,), str(tmp_path))


def test_what_is_here_is_not_downloaded(tmp_path: Path) -> None:
    engine = local(tmp_path)
    for folder, *_ in list(engine._installs(ENVIRONMENTS))[:2]:
        folder.mkdir()
    (left,) = engine.downloads(ENVIRONMENTS).locks
    assert left.name == "torchao-0.18.0.lock"
    assert engine.downloads(ENVIRONMENTS).packages == ()
    assert not engine.downloads(ENVIRONMENTS[:1])
    assert not local(tmp_path / "other", ROOT).downloads(ENVIRONMENTS)


@pytest.mark.parametrize(
    ("gpu", "study", "arguments", "images", "locks"),
    [
        (False, "1", (), ["python"], {"torch-cpu", "tools", "torchao-0.13.0"}),
        (True, "4", (), ["python", "nvidia/cuda"], {"torch-gpu", "tools", "probe"}),
        (True, "1", ("PROFILERS=without", "BASE_IMAGE=mine"), ["mine"], {"torch-gpu"}),
    ],
)
def test_an_image_is_made_of_the_locks_and_images_that_its_arguments_choose(
    gpu: bool, study: str, arguments: tuple[str, ...], images: list[str], locks: set[str]
) -> None:
    here = replace(target.detect(), gpu=None)
    if gpu:
        card = Gpu(0, "GPU-1", "a GPU", "9.0", 1 << 30, "580", "13.0")
        here = replace(here, gpu=card)
    options = Options(build_arguments=arguments)
    made = builds(manifest.find(ROOT / "problems", study), here, options)
    named = [build.downloads() for build in made]
    assert list(dict.fromkeys(re.split(r":|@", i)[0] for _, each in named for i in each)) == images
    assert locks <= {path.stem for each, _ in named for path in each}
    other = "torch-cpu" if gpu else "torch-gpu"
    assert other not in {path.stem for each, _ in named for path in each}


def test_a_size_is_that_of_the_lock_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, sizes = tmp_path / "a.lock", tmp_path / "sizes.json"
    lock.write_text("a==1\n")
    sizes.write_text(json.dumps({digest(lock): 2_500_000_000, "torch": 10_000_000}))
    monkeypatch.setattr(downloads, "SIZES", sizes)
    wanted = Downloads((lock,), ("torch",), ("python:3.12@sha256:0",), into="/here")
    assert in_words(wanted) == (
        "downloads first, once: 2.51 GB of packages (a, torch), and the images python:3.12"
        " (as large as its registry says) → /here"
    )
    lock.write_text("a==2\n")
    assert "packages of unknown size (a, torch)" in in_words(wanted)
    assert in_words(Downloads()) == ""


def test_the_sizes_of_the_base_interpreters_are_known() -> None:
    for name in ("harness", "torch-cpu", "torch-gpu", "probe"):
        lock = ROOT / "requirements" / f"{name}.lock"
        size = Downloads((lock,)).known_bytes()
        assert size, f"{name}.lock changed: python -m tests.support.download_sizes"


def test_a_host_is_not_asked_for_more(tmp_path: Path) -> None:
    given = Local(STUDY, Host(on_cpu().target), Options(python=Path("python3")))
    given.store = tmp_path
    assert [path.stem for path in given.downloads(ENVIRONMENTS).locks] == ENVIRONMENTS
