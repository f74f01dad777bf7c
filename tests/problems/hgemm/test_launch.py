"""What the driver is asked, in structures laid out as its header says, and who has PDL."""

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.support.cuda_driver import Driver

HEADER = """
#include <cstddef>
#include <cuda.h>
#define SAME(python, c) static_assert((python) == (c), #c)
constexpr CUlaunchAttribute* ATTRIBUTE = nullptr;
SAME(PROGRAMMATIC_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(LAUNCHATTRIBUTE, sizeof(CUlaunchAttribute));
SAME(LAUNCHATTRIBUTE_id, offsetof(CUlaunchAttribute, id));
SAME(LAUNCHATTRIBUTE_id_SIZE, sizeof(ATTRIBUTE->id));
SAME(LAUNCHATTRIBUTE_number,
     offsetof(CUlaunchAttribute, value.programmaticStreamSerializationAllowed));
SAME(LAUNCHATTRIBUTE_number_SIZE, sizeof(ATTRIBUTE->value.programmaticStreamSerializationAllowed));
SAME(LAUNCHCONFIG, sizeof(CUlaunchConfig));
SAME(LAUNCHCONFIG_grid, offsetof(CUlaunchConfig, gridDimX));
SAME(LAUNCHCONFIG_grid + LAUNCHCONFIG_grid_SIZE, offsetof(CUlaunchConfig, gridDimZ) + 4);
SAME(LAUNCHCONFIG_block, offsetof(CUlaunchConfig, blockDimX));
SAME(LAUNCHCONFIG_block + LAUNCHCONFIG_block_SIZE, offsetof(CUlaunchConfig, blockDimZ) + 4);
SAME(LAUNCHCONFIG_shared_bytes, offsetof(CUlaunchConfig, sharedMemBytes));
SAME(LAUNCHCONFIG_stream, offsetof(CUlaunchConfig, hStream));
SAME(LAUNCHCONFIG_attributes, offsetof(CUlaunchConfig, attrs));
SAME(LAUNCHCONFIG_attribute_count, offsetof(CUlaunchConfig, numAttrs));
// What is called is what the header declares.
CUresult (*const called)(const CUlaunchConfig*, CUfunction, void**, void**) = cuLaunchKernelEx;
"""
PDL = ((6, 1),)
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, allowed."""
STREAM = 0x7F00_1234_5678
SHAPE, ODD = (1024, 1024, 1024), (64, 1000, 999)


@pytest.fixture
def launch(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("launch")


@pytest.fixture
def gpu(launch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """The driver that is asked, and torch as far as it tells the stream."""
    played = Driver()
    monkeypatch.setattr(launch, "driver", lambda: played)
    torch: Any = ModuleType("torch")
    torch.cuda = SimpleNamespace(current_stream=lambda: SimpleNamespace(cuda_stream=STREAM))
    monkeypatch.setitem(sys.modules, "torch", torch)
    return played


@pytest.fixture
def cubin(tmp_path: Path) -> Path:
    path = tmp_path / "step.cubin"
    path.write_bytes(b"cubin")
    return path


@pytest.fixture
def asked(
    module: Callable[[str], ModuleType], cubin: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Any]:
    """The steps that a build was asked for; all have been built before."""
    steps: list[Any] = []

    def build(step: Any, _element: str, _cache: Path) -> Any:
        steps.append(step)
        return SimpleNamespace(cubin=cubin)

    monkeypatch.setattr(module("build"), "build", build)
    return steps


def matrix(rows: int, columns: int, address: int) -> Any:
    return SimpleNamespace(
        shape=(rows, columns), data_ptr=lambda: address, is_contiguous=lambda: True
    )


def operands(m: int, n: int, k: int) -> tuple[Any, Any, Any]:
    return matrix(m, k, 1 << 32), matrix(k, n, 2 << 32), matrix(m, n, 3 << 32)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
def test_structures_lie_as_in_the_drivers_header(launch: ModuleType, tmp_path: Path) -> None:
    names = ("PROGRAMMATIC_SERIALIZATION", "MULTIPROCESSOR_COUNT", "MAX_DYNAMIC_SHARED")
    macros = {name: getattr(launch, name) for name in names}
    for of in (launch.LaunchAttribute, launch.LaunchConfig):
        name = of.__name__.upper()
        macros[name] = ctypes.sizeof(of)
        for field, *_ in of._fields_:
            macros[f"{name}_{field}"] = getattr(of, field).offset
            macros[f"{name}_{field}_SIZE"] = getattr(of, field).size
    (tmp_path / "header.cu").write_text(HEADER)
    argv = ["nvcc", "-c", "-o", str(tmp_path / "header.o"), str(tmp_path / "header.cu")]
    argv += [f"-D{name}={value}" for name, value in macros.items()]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_launch_says_pdl_where_the_step_has_it(
    launch: ModuleType, module: Callable[[str], ModuleType], gpu: Driver, cubin: Path
) -> None:
    steps = module("steps").EVERY.values()
    m, n, _ = SHAPE
    for step in steps:
        launch.Kernel(step, cubin, "bf16")(*operands(*SHAPE))
        launched = gpu.launches[-1]
        assert launched.attributes == (PDL if step.pdl else ()), step.name
        assert launched.grid == step.grid(m, n)
        assert (launched.threads, launched.shared_bytes) == (step.threads, step.shared_bytes)
        assert launched.stream == STREAM
    assert len(gpu.launches) == len(steps)


def test_the_stream_is_that_of_the_call(
    launch: ModuleType, module: Callable[[str], ModuleType], gpu: Driver, cubin: Path
) -> None:
    for name in ("h8", "h9"):
        kernel = launch.Kernel(module("steps").RUNGS[name], cubin, "bf16")
        bound = kernel.bind(*operands(*SHAPE))
        assert kernel.bind(*operands(*SHAPE)) is bound
        before = bytes(bound.config)
        for stream in (STREAM, 0, 7):
            bound(stream)
            assert gpu.launches[-1].stream == stream
            assert bytes(bound.config) == before  # another thread may be launching it


def test_a_launch_that_the_driver_refuses(
    launch: ModuleType, module: Callable[[str], ModuleType], gpu: Driver, cubin: Path
) -> None:
    bound = launch.Kernel(module("steps").RUNGS["h9"], cubin, "bf16").bind(*operands(*SHAPE))
    gpu.cuLaunchKernelEx = lambda *_: 1  # type: ignore[method-assign]
    with pytest.raises(launch.LaunchError, match="cuLaunchKernelEx: error 1"):
        bound(STREAM)


@pytest.mark.parametrize("pdl", [True, False])
def test_a_dispatcher_launches_as_it_was_told(
    module: Callable[[str], ModuleType], gpu: Driver, asked: list[Any], tmp_path: Path, pdl: bool
) -> None:
    multiply = module("dispatch").Dispatcher("bf16", tmp_path, pdl=pdl)
    for _ in range(2):
        multiply(*operands(*SHAPE))
    assert [one.attributes for one in gpu.launches] == [PDL if pdl else ()] * 2
    assert [step.pdl for step in asked] == [pdl]  # the second time it has been loaded


def test_the_same_configuration_is_another_cubin_without_pdl(
    module: Callable[[str], ModuleType], gpu: Driver, asked: list[Any], tmp_path: Path
) -> None:
    dispatch, building = module("dispatch"), module("build")
    for given in ({}, {"pdl": True}, {"pdl": False}):
        dispatch.Dispatcher("bf16", tmp_path, **given)(*operands(*SHAPE))
    usual, with_pdl, waiting = asked
    assert usual == with_pdl == dispatch.choose(*SHAPE)
    assert with_pdl.name == waiting.name
    assert with_pdl.defines() == waiting.defines() | {"PDL": 1}
    assert waiting.defines()["PDL"] == 0
    keys = {building._key(step, "bf16", building.HOPPER, None) for step in asked}
    assert len(keys) == 2
    usual_launch, pdl_launch, waiting_launch = gpu.launches
    assert usual_launch.attributes == pdl_launch.attributes == PDL
    assert waiting_launch.attributes == ()
    assert pdl_launch.grid == waiting_launch.grid


@pytest.mark.parametrize("pdl", [True, False])
def test_the_fallback_never_has_pdl(
    module: Callable[[str], ModuleType], gpu: Driver, asked: list[Any], tmp_path: Path, pdl: bool
) -> None:
    """It waits for nothing: with PDL it would read what is not there yet."""
    module("dispatch").Dispatcher("bf16", tmp_path, pdl=pdl)(*operands(*ODD))
    assert [(step.name, step.pdl) for step in asked] == [("fallback", False)]
    (launched,) = gpu.launches
    assert launched.attributes == ()


@pytest.mark.usefixtures("asked")
def test_the_contenders_are_the_choice_with_pdl_and_waiting(
    module: Callable[[str], ModuleType], gpu: Driver
) -> None:
    contenders = module("contenders")
    made = [contenders.contender(name, "bf16", SHAPE, []) for name in ("best", contenders.WAITING)]
    for run, _ in made:
        run(*operands(*SHAPE))
    assert [one.attributes for one in gpu.launches] == [PDL, ()]
    assert {chosen for _, chosen in made} == {module("dispatch").choose(*SHAPE).name}
