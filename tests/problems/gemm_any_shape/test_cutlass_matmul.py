"""What is compiled of CUTLASS, with which macros, and what happens without it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.support.hgemm import ANY_SHAPE

NVCC = """#!/bin/sh
echo "$@" >>"$NVCC_CALLS"
[ -z "$NVCC_FAILS" ] || { echo "error: $NVCC_FAILS"; exit 2; }
while [ "$1" != -o ]; do shift; done
echo library >"$2"
"""


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Put a compiler that notes its calls on PATH, and headers where Python looks for packages."""
    programs, package = tmp_path / "bin", tmp_path / "packages" / "cutlass_library"
    programs.mkdir()
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (programs / "nvcc").write_text(NVCC)
    (programs / "nvcc").chmod(0o755)
    calls = tmp_path / "calls"
    calls.touch()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("NVCC_CALLS", str(calls))
    monkeypatch.syspath_prepend(package.parent)
    return lambda: calls.read_text().splitlines()


def test_each_configuration_is_compiled_once_a_layout(
    module: Callable[[str], ModuleType], compiled: Callable[[], list[str]], tmp_path: Path
) -> None:
    cutlass = module("cutlass_matmul")
    for layout, order in (("nn", ("RowMajor", "RowMajor")), ("tn", ("ColumnMajor", "RowMajor"))):
        before = len(compiled())
        paths = {cutlass.build(each, layout, "bf16", tmp_path / "so") for each in cutlass.CONFIGS}
        assert len(paths) == len(cutlass.CONFIGS) == len(compiled()) - before
        assert {path.read_text() for path in paths} == {"library\n"}
        assert paths == {cutlass.build(c, layout, "bf16", tmp_path / "so") for c in cutlass.CONFIGS}
        assert len(compiled()) - before == len(cutlass.CONFIGS)
        for argv in compiled()[before:]:
            assert f"-DLAYOUT_A={order[0]} -DLAYOUT_B={order[1]}" in argv
            assert f"-I {tmp_path / 'packages/cutlass_library/source/include'}" in argv
    macros = {word.partition("=")[0] for word in compiled()[0].split() if word.startswith("-D")}
    source = (ANY_SHAPE / "cutlass_matmul.cu").read_text()
    ours = {macro for macro in macros if "CUTLASS" not in macro and macro != "-DNDEBUG"}
    assert all(macro.removeprefix("-D") in source for macro in ours)


def test_a_failure_of_nvcc_is_told_and_leaves_nothing(
    module: Callable[[str], ModuleType],
    compiled: Callable[[], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cutlass = module("cutlass_matmul")
    monkeypatch.setenv("NVCC_FAILS", "no such architecture")
    with pytest.raises(module("ladder").BuildError, match="no such architecture"):
        cutlass.build(cutlass.CONFIGS[0], "nn", "bf16", tmp_path / "so")
    assert len(compiled()) == 1
    assert list((tmp_path / "so").iterdir()) == []


def test_without_headers_it_says_what_to_install(
    module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cutlass = module("cutlass_matmul")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(module("ladder").BuildError, match=r"pip install .* nvidia-cutlass==\d"):
        cutlass.build(cutlass.CONFIGS[0], "nn", "bf16", tmp_path)


def test_rows_that_tma_cannot_read_have_no_configuration(
    module: Callable[[str], ModuleType], compiled: Callable[[], list[str]], tmp_path: Path
) -> None:
    cutlass, plans = module("cutlass_matmul"), module("plans")
    assert cutlass.runs(plans.Problem((5119, 5119, 5119)), "bf16", tmp_path) == {}
    assert compiled() == []


def test_operands_are_bound_once_and_launched_on_the_current_stream(
    module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    streams = iter([7, 8, 8, 8])
    torch = SimpleNamespace(
        uint8="uint8",
        empty=lambda size, **_: SimpleNamespace(data_ptr=lambda: 1000 + size),
        cuda=SimpleNamespace(
            current_stream=lambda: SimpleNamespace(cuda_stream=next(streams)),
        ),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)

    def bind(*arguments: Any) -> int:
        calls.append(("bind", *(getattr(each, "value", each) for each in arguments)))
        return 42 if arguments[2].value == 3 else 0

    library = SimpleNamespace(
        workspace_bytes=lambda *sizes: sum(sizes),
        bind_product=bind,
        run_product=lambda *pointers: calls.append(("run", *(each.value for each in pointers))),
    )
    cutlass, plans = module("cutlass_matmul"), module("plans")
    launch = cutlass._run(library, plans.Problem((64, 128, 256)), 8)
    a, b, c, d = (SimpleNamespace(data_ptr=lambda place=place: place) for place in (1, 2, 3, 4))
    launch(a, b, c)
    launch(a, b, c)
    size = 64 + 128 + 256 + 8
    assert calls == [
        ("bind", 1, 2, 3, 64, 128, 256, 8, 1000 + size, 7),
        ("run", 42, 7),
        ("run", 42, 8),
    ]
    with pytest.raises(RuntimeError, match="refuses"):
        launch(a, b, d)
