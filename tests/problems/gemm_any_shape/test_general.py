"""What the driver is handed: attributes byte for byte, arguments in the kernel's order."""

import ctypes
import re
import struct
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.support.hgemm import source


@pytest.fixture
def general(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("general")


@pytest.fixture
def packing(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("packing")


def attributes(config: object) -> list[tuple[int, ...]]:
    """Return each attribute as the integers of cuda.h's CUlaunchAttribute."""
    size = 72
    begin = ctypes.cast(config.attributes, ctypes.c_void_p).value or 0  # type: ignore[attr-defined]
    count = config.attribute_count  # type: ignore[attr-defined]
    return [struct.unpack("<18I", ctypes.string_at(begin + i * size, size)) for i in range(count)]


class Operand:
    """What a plan is bound to, in place of a tensor."""

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = rows, columns

    def data_ptr(self) -> int:
        return 256

    def stride(self, _: int) -> int:
        return self.shape[1]


def integers(launch: object, first: int, many: int) -> list[int]:
    """Return a launch's integer arguments from its ``first`` on."""
    pointers = launch.parameters  # type: ignore[attr-defined]
    return [ctypes.c_int.from_address(pointers[first + at]).value for at in range(many)]


def test_a_cluster_has_three_dimensions(
    packing: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    config = packing.configured(module("auxiliary").ALIGN_ROWS, 8, 4, pdl=True)
    dependent, cluster = attributes(config)
    assert (dependent[0], dependent[2]) == (6, 1)
    assert (cluster[0], cluster[2:5]) == (4, (4, 1, 1))
    assert attributes(packing.configured(module("auxiliary").ALIGN_ROWS, 8, 0, pdl=False)) == []


@pytest.mark.parametrize(
    ("kernel", "types"),
    [
        ("stream_k", ["CUtensorMap"] * 3 + ["element*", "float*", "int*"] + ["int"] * 4),
        ("ping_pong", ["CUtensorMap"] * 3 + ["element*", "float*", "int*"] + ["int"] * 4),
        ("split_k", ["CUtensorMap"] * 2 + ["element*"] + ["int"] * 3),
        ("dots", ["element*"] * 3 + ["int64_t"] * 4 + ["int"] * 4),
        ("transpose", ["element*"] * 2 + ["int64_t"] * 2 + ["int"] * 2),
        ("add_parts", ["float*", "element*"] + ["int"] * 8),
        (
            "sliced",
            ["CUtensorMap"] * 2
            + ["element*"] * 3
            + ["float*", "int*"]
            + ["int64_t"] * 3
            + ["int"] * 5,
        ),
    ],
)
def test_the_kernels_take_what_is_packed(kernel: str, types: list[str]) -> None:
    """general.py binds these in this order: maps, pointers, pitches, sizes."""
    found = re.search(rf"\b{kernel}\((.*?)\) {{", source(f"{kernel}.cu"), re.DOTALL)
    assert found
    arguments = [
        re.sub(r"const |__grid_constant__ ", "", text).strip() for text in found[1].split(",")
    ]
    assert [argument.rsplit(" ", 1)[0] for argument in arguments] == types


def test_the_copy_is_laid_out_as_in_the_kernel(packing: ModuleType) -> None:
    sizes = [(name, ctypes.sizeof(kind)) for name, kind in packing.Copy._fields_]
    assert sizes == [
        ("source", 8),
        ("target", 8),
        ("source_pitch", 8),
        ("target_pitch", 8),
        ("rows", 4),
        ("columns", 4),
    ]


def test_rows_of_a_single_row_matrix_need_no_alignment(packing: ModuleType) -> None:
    assert packing.Matrix(256, 1, 9, 9).aligned
    assert not packing.Matrix(256, 2, 9, 9).aligned
    assert not packing.Matrix(258, 2, 16, 16).aligned


@pytest.mark.parametrize("current", [None, 7])
def test_a_thread_without_a_context_gets_the_primary_one(
    packing: ModuleType, monkeypatch: pytest.MonkeyPatch, current: int | None
) -> None:
    """Autograd's threads begin without one, and a tensor map cannot be encoded there."""
    calls = []

    def driver(name: str, *arguments: object) -> None:
        calls.append(name)
        if name == "cuCtxGetCurrent":
            arguments[0]._obj.value = current  # type: ignore[attr-defined]

    monkeypatch.setattr(packing, "call_driver", driver)
    packing.enter_context(0)
    entered = ["cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"]
    assert calls == ["cuCtxGetCurrent", *([] if current else entered)]


def test_a_workspace_is_zeroed_beside_a_capture(
    packing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A captured stream forbids allocations, and nothing may be recorded into its graph."""
    calls, mode = [], 0  # global, as torch.cuda.graph captures

    def driver(name: str, *arguments: object) -> None:
        nonlocal mode
        calls.append(name)
        if name == "cuThreadExchangeStreamCaptureMode":
            exchanged = arguments[0]._obj  # type: ignore[attr-defined]
            mode, exchanged.value = exchanged.value, mode
        elif name == "cuMemAlloc_v2":
            assert mode == packing.CAPTURE_MODE_RELAXED
            assert arguments[1].value == 128  # type: ignore[attr-defined]
            arguments[0]._obj.value = 4096  # type: ignore[attr-defined]
        elif name == "cuMemsetD8Async":
            assert [each.value for each in (arguments[0], arguments[2])] == [4096, 128]  # type: ignore[attr-defined]

    monkeypatch.setattr(packing, "call_driver", driver)
    assert packing.Workspace(100).data_ptr() == 4096
    assert mode == 0
    assert calls.index("cuMemsetD8Async") < calls.index("cuStreamSynchronize")


@pytest.mark.parametrize(
    ("failures", "capturing", "emptied", "attempts"),
    [
        ([2], False, 1, 2),  # torch had cached what was free
        ([2, 2], False, 1, 2),
        ([2], True, 0, 1),
        ([700], False, 0, 1),  # nothing that memory would help
    ],
)
def test_where_memory_is_short_torchs_cache_is_emptied_once(
    packing: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    failures: list[int],
    capturing: bool,
    emptied: int,
    attempts: int,
) -> None:
    calls: list[str] = []
    statuses = iter(failures)

    def driver(name: str, *arguments: object) -> None:
        calls.append(name)
        if name == "cuMemAlloc_v2":
            if status := next(statuses, 0):
                raise packing.LaunchError(f"cuMemAlloc_v2: error {status}, out of it")
            arguments[0]._obj.value = 4096  # type: ignore[attr-defined]

    cuda = SimpleNamespace(
        is_current_stream_capturing=lambda: capturing, empty_cache=lambda: calls.append("emptied")
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(packing, "call_driver", driver)
    if len(failures) < attempts:
        assert packing.Workspace(100).data_ptr() == 4096
    else:
        with pytest.raises(packing.LaunchError, match=f"error {failures[-1]},"):
            packing.Workspace(100)
    assert calls.count("emptied") == emptied
    assert calls.count("cuMemAlloc_v2") == attempts
    assert calls[-1] == calls[0] == "cuThreadExchangeStreamCaptureMode"


def test_what_adds_parts_reads_what_was_left(
    general: ModuleType,
    packing: ModuleType,
    module: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packing, "call_driver", lambda *_: None)
    monkeypatch.setattr(general.Library, "_function", lambda *_: ctypes.c_void_p(1))
    allocated: list[int] = []

    class Memory:
        def __init__(self, count: int) -> None:
            allocated.append(count)

        def data_ptr(self) -> int:
            return 4096

    plans = module("plans")
    problem = plans.Problem((200, 300, 4096), "nt")
    plan = next(
        plan
        for plan in plans.plans(problem)
        if plan.added and plan.config.name.startswith("128x128_c2x1")
    )
    library = general.Library("bf16", allocate=Memory)
    left, added = library.bind(plan, problem, *(Operand(*size) for size in problem.stored))
    count = plan.units // plan.spread

    assert ctypes.c_void_p.from_address(left.parameters[5]).value is None  # no counters
    assert integers(left, 6, 4) == [200, 300, 4096, plan.spread]
    fours = 256 * 384 // 4  # two by three tiles of 128 by 128
    *sizes, groups = integers(added, 2, 8)
    assert sizes == [200, 300, 128, 128, 3, fours, count]
    assert groups == general.adding_groups(fours, count)
    assert max(allocated) >= 16 * fours * count
    assert added.config.grid[0] * 256 >= fours * groups


@pytest.mark.parametrize(
    ("fours", "count", "groups"),
    [
        (24_576, 22, 4),  # 96 blocks alone
        (2048, 66, 8),  # eight blocks: a warp for each group is the most
        (2048, 3, 2),  # no group without a part
        (24_576, 1, 1),
        (1 << 20, 66, 1),  # enough blocks
    ],
)
def test_threads_share_parts_where_accumulators_are_few(
    general: ModuleType, fours: int, count: int, groups: int
) -> None:
    assert general.adding_groups(fours, count) == groups


@pytest.mark.parametrize(
    ("kernel", "units", "spread", "cluster"),
    [
        ("split_128x128_c1x1", 24, 6, 4),
        ("split_128x128_c2x1", 12, 3, 8),  # for each of four parts, two blocks that share loads
    ],
)
def test_a_split_tile_is_launched_as_a_cluster(
    general: ModuleType,
    packing: ModuleType,
    module: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    kernel: str,
    units: int,
    spread: int,
    cluster: int,
) -> None:
    monkeypatch.setattr(packing, "call_driver", lambda *_: None)
    monkeypatch.setattr(general.Library, "_function", lambda *_: ctypes.c_void_p(1))
    plans = module("plans")
    problem = plans.Problem((200, 300, 4096), "nt")
    plan = next(p for p in plans.plans(problem) if p.kernel.startswith(kernel) and p.units == units)
    operands = (Operand(*size) for size in problem.stored)
    (launch,) = general.Library("bf16", allocate=lambda _: None).bind(plan, problem, *operands)
    assert plan.spread == spread
    assert launch.config.grid[0] == 24
    assert [each[:3] for each in attributes(launch.config)] == [(6, 0, 1), (4, 0, cluster)]
    assert integers(launch, 3, 3) == [200, 300, 4096]


def test_a_narrow_operand_is_read_from_its_transposed_copy(
    general: ModuleType,
    packing: ModuleType,
    module: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded: list[tuple[object, int]] = []
    begin = packing.TensorMap.__init__

    def kept(self: object, element: str, matrix: object, box_rows: int, columns: int = 64) -> None:
        assert columns == 64
        encoded.append((matrix, box_rows))
        begin(self, element, matrix, box_rows)

    monkeypatch.setattr(packing, "call_driver", lambda *_: None)
    monkeypatch.setattr(packing.TensorMap, "__init__", kept)
    monkeypatch.setattr(general.Library, "_function", lambda *_: ctypes.c_void_p(1))
    plans = module("plans")
    problem = plans.Problem((9, 512, 1000), "tn")  # A lies as 1000 rows of 9
    plan = next(p for p in plans.plans(problem) if p.kernel == "sliced_m16_tc" and p.units == 2)
    sizes: list[int] = []

    def allocate(count: int) -> SimpleNamespace:
        sizes.append(count)
        return SimpleNamespace(data_ptr=lambda: 8192)

    library = general.Library("bf16", allocate=allocate)
    operands = (Operand(*size) for size in problem.stored)
    copy, product = library.bind(plan, problem, *operands)
    assert copy.config.grid[0] == 16
    assert integers(copy, 4, 2) == [1000, 9]
    assert ctypes.c_int64.from_address(copy.parameters[3]).value == 1024
    assert max(sizes) >= 9 * 1024 * 2
    assert encoded == [
        (packing.Matrix(256, 1000, 512, 512), 64),  # B's rows of k
        (packing.Matrix(8192, 9, 1000, 1024), 16),
    ]
    assert plan.step(problem).name == "sliced_m16_tt_nn"
    assert product.config.grid[0] == 8


@pytest.mark.parametrize(
    ("name", "layout", "boxes", "sizes"),
    [
        # Of the operands as they lie: rows, columns, box. Last of C.
        (
            "x128x80_c1x1",
            "nn",
            [(7936, 512, 64, 64), (2560, 7936, 80, 64), (2560, 512, 40, 64)],
            [512, 2560, 7936],
        ),
        (
            "x128x160_c1x2",
            "tn",
            [(7936, 512, 64, 64), (7936, 2560, 64, 32), (2560, 512, 80, 64)],
            [512, 2560, 7936],
        ),
        (
            "p128x160_c2x1",
            "nn",
            [(2560, 7936, 128, 64), (7936, 512, 32, 32), (2560, 512, 64, 64)],
            [2560, 512, 7936],
        ),
        (
            "128x80_c1x1",
            "nt",
            [(2560, 7936, 128, 64), (512, 7936, 80, 64), (2560, 512, 64, 40)],
            [2560, 512, 7936],
        ),
        (
            "192x112_c2x4",
            "tt",
            [(7936, 2560, 16, 64), (512, 7936, 56, 64), (2560, 512, 64, 56)],
            [2560, 512, 7936],
        ),
        (
            "192x112_c2x4",
            "tn",
            [(7936, 2560, 16, 64), (7936, 512, 64, 64), (2560, 512, 64, 56)],
            [2560, 512, 7936],
        ),
        (
            "p128x144_c1x2",
            "nt",
            [(2560, 7936, 64, 64), (512, 7936, 144, 64), (2560, 512, 64, 72)],
            [2560, 512, 7936],
        ),
    ],
)
def test_fine_and_swapped_tiles_are_read_and_stored_in_boxes(
    general: ModuleType,
    packing: ModuleType,
    module: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    layout: str,
    boxes: list[tuple[int, int, int, int]],
    sizes: list[int],
) -> None:
    """Swapped, the kernel's A is B, and a box of C has rows as many as the tile's half columns."""
    encoded: list[tuple[int, ...]] = []

    def driver(call: str, *arguments: Any) -> None:
        if call == "cuTensorMapEncodeTiled":
            columns, rows = arguments[4]
            box_columns, box_rows = arguments[6]
            assert arguments[9] == {16: 1, 32: 2, 64: 3}.get(box_columns, 0)  # the box's bytes
            encoded.append((rows, columns, box_rows, box_columns))

    monkeypatch.setattr(packing, "call_driver", driver)
    monkeypatch.setattr(general.Library, "_function", lambda *_: ctypes.c_void_p(1))
    plans = module("plans")
    problem = plans.Problem((2560, 512, 7936), layout)
    (tiling,) = (
        each
        for each in module("families").TILINGS
        if each.name.startswith(f"{name}_") and each.padded == (each.fine and layout == "tn")
    )
    plan = plans.Plan(tiling, 0, 32)
    operands = [Operand(*size) for size in problem.stored]
    memory = SimpleNamespace(data_ptr=lambda: 4096)
    library = general.Library("bf16", allocate=lambda _: memory)
    (launch,) = library.bind(plan, problem, *operands)
    assert encoded == boxes
    assert integers(launch, 6, 3) == sizes


@pytest.mark.parametrize(
    ("shape", "layout", "few_rows", "strides", "sizes"),
    [
        ((5, 6070, 23350), "nt", True, [23350, 23350, 1, 6070], [6070, 5, 23350]),
        ((5825, 8, 230), "nn", False, [230, 8, 8, 1], [5825, 8, 230]),
        ((60, 484, 108), "nt", True, [108, 108, 1, 484], [484, 60, 108]),
    ],
)
def test_dots_are_launched_for_the_wide_side(
    general: ModuleType,
    packing: ModuleType,
    module: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    shape: tuple[int, int, int],
    layout: str,
    few_rows: bool,
    strides: list[int],
    sizes: list[int],
) -> None:
    monkeypatch.setattr(packing, "call_driver", lambda *_: None)
    monkeypatch.setattr(general.Library, "_function", lambda *_: ctypes.c_void_p(1))
    plans = module("plans")
    problem = plans.Problem(shape, layout)
    for plan in (p for p in plans.plans(problem) if p.kernel.startswith("dots")):
        assert plan.config.few_rows == few_rows
        operands = [Operand(*size) for size in (*problem.stored[:2], shape[:2])]
        (launch,) = general.Library("bf16", allocate=lambda _: None).bind(plan, problem, *operands)
        assert [
            ctypes.c_int64.from_address(launch.parameters[3 + at]).value for at in range(4)
        ] == strides
        assert integers(launch, 7, 4) == [*sizes, plan.spread]
        assert launch.config.grid[0] % plan.units == 0
        assert launch.config.grid[1] == -(-sizes[1] // 8)
        clusters = [each[2] for each in attributes(launch.config) if each[0] == 4]
        assert clusters == ([plan.units] if plan.units > 1 else [])


def test_rows_of_dots_are_dealt_by_where_they_begin(
    general: ModuleType, packing: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    dots = module("dots")
    along = dots.dotted(dots.Dots(few_rows=True, rows=16, loads=4), "nt")
    across = dots.dotted(dots.Dots(few_rows=True, rows=64, loads=8), "nn")
    matrix = packing.Matrix
    assert general.dots_tiles(matrix(256, 100, 64, 64), 100, along, 8) == 7
    assert general.dots_tiles(matrix(256, 100, 63, 63), 100, along, 8) == 8  # 13 of each period
    assert general.dots_tiles(matrix(256, 100, 68, 68), 100, along, 2) == 2
    assert general.dots_tiles(matrix(256, 100, 128, 128), 128, across, 8) == 2
    assert general.dots_tiles(matrix(258, 100, 128, 128), 128, across, 8) == 3
    assert general.dots_tiles(matrix(256, 100, 129, 129), 129, across, 8) == 3
