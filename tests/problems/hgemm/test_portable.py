"""The portable steps ask for nothing that is newer than sm_80, and are compiled once."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import build_cache

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")


def test_each_portable_step_is_ptx_of_sm_80(module: Callable[[str], ModuleType]) -> None:
    rungs, portable = module("steps").RUNGS, module("portable")
    cache = build_cache.of_compiler("nvcc")
    steps = {name: step for name, step in rungs.items() if step.architecture == "sm_80"}
    assert list(steps) == [f"p{at}" for at in range(9)]
    for step in steps.values():
        text = portable.ptx(step, "bf16", cache).read_text()
        assert re.search(r"^\.target sm_80$", text, re.M), step.name
        assert f".entry {step.kernel}(" in text
        # what the launch gives it fits a GPU of compute capability 8.6 or 8.9: 99 KiB a block
        assert step.shared_bytes <= 99 << 10


@pytest.mark.parametrize("architecture", ["sm_80", "sm_86", "sm_89", "sm_90"])
def test_the_ptx_is_assembled_for_each_generation(
    module: Callable[[str], ModuleType], architecture: str, tmp_path: Path
) -> None:
    """By the assembler that the driver has, too: nvcc checks no inline PTX."""
    rungs, portable = module("steps").RUNGS, module("portable")
    for name in ("p0", "p8"):
        ptx = portable.ptx(rungs[name], "bf16", build_cache.of_compiler("nvcc"))
        argv = ["nvcc", "-cubin", f"-arch={architecture}", "-o", str(tmp_path / name), str(ptx)]
        assert subprocess.run(argv, check=False, capture_output=True).returncode == 0, name


def test_it_is_compiled_once(
    module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, portable = module("steps").RUNGS["p1"], module("portable")
    first = portable.ptx(step, "bf16", tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("compiled again"))
    assert portable.ptx(step, "bf16", tmp_path) == first
    with pytest.raises(pytest.fail.Exception, match="compiled again"):
        portable.ptx(step, "fp16", tmp_path)


def test_what_does_not_compile_leaves_nothing(
    module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    step, portable = module("steps").RUNGS["p0"], module("portable")
    with pytest.raises(module("build").BuildError, match=r"p0_wmma \(bf16\): nvcc failed"):
        portable.ptx(replace(step, source="no_such_kernel"), "bf16", tmp_path)
    assert list(tmp_path.iterdir()) == []
