"""The packages that a cell used: the base's, and those of its environment's overlay."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def imported(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    for name in ("torch", "triton", "numpy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, version in versions.items():
        module: Any = ModuleType(name)
        module.__version__ = version
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Any:
    imported(monkeypatch, torch="2.13.0+cpu", numpy="2.5.2")
    monkeypatch.delitem(sys.modules, "harness.probe.profiler_range", raising=False)
    yield importlib.import_module("harness.probe.profiler_range").packages
    sys.modules.pop("harness.probe.profiler_range", None)


def test_an_imported_package_of_the_overlay_is_listed_and_no_other(
    packages: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("torchao-0.13.0", "fast_kernels-1.2"):
        (tmp_path / "overlay" / f"{name}.dist-info").mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'source'}:{tmp_path / 'overlay'}")
    python = sys.version.split()[0]
    assert packages() == {"python": python, "torch": "2.13.0+cpu", "numpy": "2.5.2"}
    imported(monkeypatch, torch="2.13.0+cpu", torchao="0.13.0+git", triton="3.6.0", elsewhere="1.0")
    assert list(packages().items()) == [
        ("python", python),
        ("torch", "2.13.0+cpu"),
        ("torchao", "0.13.0+git"),
        ("triton", "3.6.0"),
    ]


def test_without_an_overlay_only_the_base_is_listed(
    packages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    imported(monkeypatch, torch="2.13.0", torchao="0.13.0")
    assert set(packages()) == {"python", "torch"}


def test_a_package_without_a_version_attribute_has_that_of_its_first_distribution(
    packages: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("overlay/nvtx-0.2.14", "beneath/nvtx-0.1.0"):
        (tmp_path / f"{name}.dist-info").mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'overlay'}:{tmp_path / 'beneath'}")
    monkeypatch.setitem(sys.modules, "nvtx", ModuleType("nvtx"))
    monkeypatch.setitem(sys.modules, "triton", ModuleType("triton"))
    versions = packages()
    assert versions["nvtx"] == "0.2.14"
    assert versions["triton"] == "unknown"


@pytest.mark.usefixtures("packages")
def test_no_step_begins_before_a_profiler_records_the_workloads_other_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = sys.modules["harness.probe.profiler_range"]
    happened: list[str] = []
    runtime: Any = ModuleType("cudart")
    runtime.cudaProfilerStart = lambda: happened.append("start")
    runtime.cudaProfilerStop = lambda: happened.append("stop")
    cuda: Any = ModuleType("cuda")
    cuda.synchronize = lambda: None
    cuda.cudart = lambda: runtime
    monkeypatch.setattr(module, "torch", cuda, raising=False)
    cuda.cuda = cuda
    monkeypatch.setattr(module.time, "sleep", lambda _: happened.append("wait"))
    with module.cuda_range():
        happened.append("step")
    assert happened == ["start", "wait", "step", "stop"]
