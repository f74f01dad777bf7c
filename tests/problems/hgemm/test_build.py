"""Every kernel compiles: without spills, without warnings, for both element types."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import build_cache

NVCC = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")

SPILLS = """ptxas info    : 0 bytes gmem
ptxas warning : Registers are spilled to local memory in function 'x', 8 bytes spill stores
ptxas info    : Function properties for x
    8 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers, 8 bytes cumulative stack size, 96 bytes smem
"""
SERIALISED = """ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions \
are serialized due to non wgmma instructions reading accumulator registers
ptxas info    : Used 96 registers, used 1 barriers
"""


@pytest.fixture(scope="module")
def building(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("build")


@pytest.fixture(scope="module")
def cache() -> Path:
    """Cubins of all runs: `build` calls each after all that it is made of."""
    return build_cache.of_compiler("nvcc")


def test_ptxas_report_is_read(building: ModuleType) -> None:
    built = building.read_log("x", "bf16", Path("x.cubin"), SPILLS)
    assert (built.registers, built.barriers) == (168, 16)
    assert (built.spill_bytes, built.stack_bytes, built.static_shared_bytes) == (20, 8, 96)
    assert len(built.warnings) == 1


def test_serialised_wgmma_counts_as_a_warning(building: ModuleType) -> None:
    built = building.read_log("x", "bf16", Path("x.cubin"), SERIALISED)
    assert len(built.warnings) == 1 and built.spill_bytes == 0


def test_cubins_of_a_cell_lie_beside_its_variants_caches(
    building: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HGEMM_CACHE", "HARNESS_CELL"):
        monkeypatch.delenv(name, raising=False)
    assert building.cache_folder() == building.READY
    monkeypatch.setenv("HARNESS_CELL", "{}")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "p0" / "triton"))
    assert building.cache_folder() == tmp_path / "p0" / "cubins"
    monkeypatch.setenv("HGEMM_CACHE", str(tmp_path))
    assert building.cache_folder() == tmp_path


def test_what_was_built_before_needs_no_compiler(
    building: ModuleType,
    module: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = module("steps").RUNGS["p3"]
    key = building._key(step, "bf16", building.HOPPER, None)
    (tmp_path / f"{key}.cubin").write_bytes(b"built elsewhere")
    (tmp_path / f"{key}.log").write_text("ptxas info    : Used 122 registers")
    monkeypatch.setattr(building, "READY", tmp_path)
    monkeypatch.setattr(building, "command", lambda *_: ["false"])
    built = building.build(step, "bf16", tmp_path / "empty")
    assert (built.cubin.read_bytes(), built.registers) == (b"built elsewhere", 122)
    with pytest.raises(building.BuildError, match="nvcc failed"):
        building.build(module("steps").RUNGS["p4"], "bf16", tmp_path / "empty")


def test_a_cubin_is_called_after_all_sources_and_whether_it_has_pdl(
    building: ModuleType,
    module: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernels = shutil.copytree(building.KERNELS, tmp_path / "kernels")
    monkeypatch.setattr(building, "KERNELS", kernels)
    step = module("steps").RUNGS["h9"]

    def key(step: Any) -> str:
        return str(building._key(step, "bf16", building.HOPPER, None))

    found = {key(step), key(replace(step, pdl=False))}
    for name in ("h08_ping_pong.cu", "hopper.cuh"):  # h9 includes both
        with (kernels / name).open("a") as file:
            file.write("// changed\n")
        found.add(key(step))
    assert len(found) == 4


@NVCC
@pytest.mark.slow
@pytest.mark.parametrize("element", ["bf16", "fp16"])
def test_every_step_builds(
    building: ModuleType, module: Callable[[str], ModuleType], cache: Path, element: str
) -> None:
    steps = module("steps")
    chosen = steps.EVERY if element == "bf16" else steps.STEPS
    results = building.build_all([(step, element) for step in chosen.values()], cache)
    assert [str(one) for one in results if isinstance(one, building.BuildError)] == []
    for step, built in zip(chosen.values(), results, strict=True):
        assert building.blocks_per_sm(step, built) >= step.blocks_per_sm, step.name
        assert f".text.{step.kernel}\0".encode() in built.cubin.read_bytes(), step.name


@NVCC
@pytest.mark.parametrize("pdl", [True, False])
def test_a_kernel_without_pdl_has_no_instructions_for_it(
    building: ModuleType, module: Callable[[str], ModuleType], tmp_path: Path, pdl: bool
) -> None:
    sources = {step.file: step for step in module("steps").EVERY.values() if step.pdl}
    assert len(sources) == 4
    if not pdl:
        del sources["h09_pdl.cu"]  # it has PDL in any case
    for step in sources.values():
        output = tmp_path / f"{step.name}.ptx"
        argv = building.command(replace(step, pdl=pdl), "bf16", building.HOPPER, output)
        argv[argv.index("-cubin")] = "-ptx"
        subprocess.run(argv, check=True, timeout=120, capture_output=True)
        text = output.read_text()
        for instruction in ("griddepcontrol.launch_dependents;", "griddepcontrol.wait;"):
            assert text.count(instruction) == pdl, (step.name, instruction)


@NVCC
def test_the_counters_build_and_fill_a_multiprocessor(
    building: ModuleType, module: Callable[[str], ModuleType], cache: Path
) -> None:
    counters = module("steps").COUNTERS
    built = building.build(counters, cache=cache)
    assert building.blocks_per_sm(counters, built) == 1
    assert (built.spill_bytes, built.warnings) == (0, ())


@NVCC
@pytest.mark.slow
def test_portable_steps_build_for_ampere(
    building: ModuleType, module: Callable[[str], ModuleType], cache: Path
) -> None:
    portable = [s for s in module("steps").STEPS.values() if s.architecture == "sm_80"]
    assert len(portable) == 10
    for step in portable:
        assert building.build(step, "bf16", cache, "sm_80").registers <= 255


@NVCC
def test_a_launch_the_kernel_was_not_written_for_is_not_built(
    building: ModuleType, module: Callable[[str], ModuleType], cache: Path
) -> None:
    step: Any = module("steps").STEPS["h3_two_consumers"]
    for wrong in (
        replace(step, threads=256),
        replace(step, shared_bytes=step.shared_bytes + 8),
        replace(step, tile=(128, 128, 64)),
    ):
        with pytest.raises(building.BuildError, match="static assertion"):
            building.build(wrong, "bf16", cache)


@NVCC
def test_a_ring_that_does_not_fit_is_not_built(
    building: ModuleType, module: Callable[[str], ModuleType], cache: Path
) -> None:
    with pytest.raises(building.BuildError, match="static assertion"):
        building.build(module("step").configured(stages=5), "bf16", cache)
