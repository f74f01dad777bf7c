"""What the driver is handed: attributes byte for byte, arguments in the kernel's order."""

import ctypes
import re
import struct
from collections.abc import Callable
from types import ModuleType

import pytest

from tests.support.hgemm import source


@pytest.fixture
def general(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("general")


def attributes(config: object) -> list[tuple[int, ...]]:
    """Return each attribute as the integers of cuda.h's CUlaunchAttribute."""
    size = 72
    begin = ctypes.cast(config.attributes, ctypes.c_void_p).value or 0  # type: ignore[attr-defined]
    count = config.attribute_count  # type: ignore[attr-defined]
    return [struct.unpack("<18I", ctypes.string_at(begin + i * size, size)) for i in range(count)]


def test_a_cluster_has_three_dimensions(
    general: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    config = general.configured(module("families").ALIGN_ROWS, 8, 4, pdl=True)
    dependent, cluster = attributes(config)
    assert (dependent[0], dependent[2]) == (6, 1)
    assert (cluster[0], cluster[2:5]) == (4, (4, 1, 1))
    assert attributes(general.configured(module("families").ALIGN_ROWS, 8, 0, pdl=False)) == []


@pytest.mark.parametrize(
    ("kernel", "types"),
    [
        ("stream_k", ["CUtensorMap"] * 3 + ["element*", "float*", "int*"] + ["int"] * 4),
        (
            "sliced",
            ["CUtensorMap"] * 2
            + ["element*"] * 3
            + ["float*", "int*"]
            + ["int64_t"] * 3
            + ["int"] * 4,
        ),
    ],
)
def test_the_kernels_take_what_is_packed(kernel: str, types: list[str]) -> None:
    """general.py packs these in this order: maps, pointers, pitches, sizes."""
    found = re.search(rf"\b{kernel}\((.*?)\) {{", source(f"{kernel}.cu"), re.DOTALL)
    assert found
    arguments = [
        re.sub(r"const |__grid_constant__ ", "", text).strip() for text in found[1].split(",")
    ]
    assert [argument.rsplit(" ", 1)[0] for argument in arguments] == types


def test_the_copy_is_laid_out_as_in_the_kernel(general: ModuleType) -> None:
    sizes = [(name, ctypes.sizeof(kind)) for name, kind in general.Copy._fields_]
    assert sizes == [
        ("source", 8),
        ("target", 8),
        ("source_pitch", 8),
        ("target_pitch", 8),
        ("rows", 4),
        ("columns", 4),
    ]


def test_rows_of_a_single_row_matrix_need_no_alignment(general: ModuleType) -> None:
    assert general.Matrix(256, 1, 9, 9).aligned
    assert not general.Matrix(256, 2, 9, 9).aligned
    assert not general.Matrix(258, 2, 16, 16).aligned
