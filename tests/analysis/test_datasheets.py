"""Peaks against each other, and against what units times clock make of them."""

import tomllib

import pytest

from harness.analysis import datasheets
from harness.analysis.datasheets import Peaks

NAMES = (
    "NVIDIA H200",
    "NVIDIA H100 80GB HBM3",
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA A100-SXM4-40GB",
    "NVIDIA A100 80GB PCIe",
    "NVIDIA L40S",
    "NVIDIA L4",
    "NVIDIA A10",
    "NVIDIA GeForce RTX 5090",
    "NVIDIA GeForce RTX 4090",
    "NVIDIA GeForce RTX 3090",
    "NVIDIA A40",
    "NVIDIA RTX 6000 Ada Generation",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "NVIDIA B200",
    "NVIDIA B300 SXM6 AC",
    "NVIDIA GB200",
    "Tesla V100-SXM2-16GB",
    "Tesla V100-SXM2-32GB",
    "AMD Instinct MI250X",
    "AMD Instinct MI300X",
    "AMD Instinct MI325X",
    "AMD Instinct MI355X",
)
WITHOUT_BF16 = {name for name in NAMES if "V100" in name}

UNITS = ("bf16", "fp16", "fp8", "tf32", "fp32")


def known(name: str) -> Peaks:
    peaks = datasheets.of(name)
    assert peaks is not None
    return peaks


def test_a_row_of_the_file_gives_memory_units_and_a_source() -> None:
    sheets = tomllib.loads(datasheets.DATASHEETS.read_text(encoding="utf-8"))
    assert sheets.keys() == set(NAMES)
    for name, row in sheets.items():
        source = row.pop("source")
        assert "datasheet" in source or "white paper" in source, name
        extra = {"multiprocessors", "memory_gib"}
        assert {"dram_gb_s"} < row.keys() <= {"dram_gb_s", *extra, *UNITS}, name
        assert all(isinstance(rate, int | float) and rate > 0 for rate in row.values()), name


@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_is_found_by_its_name_with_a_source(name: str) -> None:
    peaks = known(name)
    assert peaks.name == name
    assert peaks.source


@pytest.mark.parametrize("name", ["NVIDIA H200 NVL", "NVIDIA H100 NVL", "h200", "Tesla T4", ""])
def test_a_gpu_that_is_not_known_has_no_peaks(name: str) -> None:
    assert datasheets.of(name) is None


@pytest.mark.parametrize("name", NAMES)
def test_half_the_bits_are_twice_the_rate(name: str) -> None:
    peaks = known(name)
    assert peaks.fp16 is not None
    assert peaks.bf16 == (None if name in WITHOUT_BF16 else peaks.fp16)
    if peaks.tf32 is not None:
        assert peaks.tf32 == pytest.approx(peaks.fp16 / 2, rel=0.02)
    if peaks.fp8 is not None:
        assert peaks.fp8 == pytest.approx(2 * peaks.fp16, rel=0.005)


@pytest.mark.parametrize("name", NAMES)
def test_matrix_units_outrun_vector_units(name: str) -> None:
    peaks = known(name)
    matrix = peaks.tf32 or peaks.fp16
    assert matrix is not None
    assert peaks.fp32 is not None
    if "GeForce" in name:
        assert peaks.fp32 == matrix
    else:
        assert peaks.fp32 < matrix


def test_a_virtual_function_is_the_gpu() -> None:
    assert datasheets.of("AMD Instinct MI300X VF") == datasheets.of("AMD Instinct MI300X")


@pytest.mark.parametrize(
    ("name", "units", "flop", "mhz"),
    [
        ("NVIDIA H200", 132, 4096, 1830),
        ("NVIDIA H100 80GB HBM3", 132, 4096, 1830),
        ("NVIDIA A100-SXM4-80GB", 108, 2048, 1410),
        ("NVIDIA A100-SXM4-40GB", 108, 2048, 1410),
        ("NVIDIA A100 80GB PCIe", 108, 2048, 1410),
        ("NVIDIA L40S", 142, 1024, 2520),
        ("NVIDIA L4", 58, 1024, 2040),
        ("NVIDIA A10", 72, 1024, 1695),
        ("NVIDIA GeForce RTX 5090", 170, 512, 2407),
        ("NVIDIA GeForce RTX 4090", 128, 512, 2520),
        ("NVIDIA GeForce RTX 3090", 82, 512, 1695),
        ("NVIDIA A40", 84, 1024, 1740),
        ("NVIDIA RTX 6000 Ada Generation", 142, 1024, 2505),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 188, 1024, 2617),
        ("Tesla V100-SXM2-32GB", 80, 1024, 1530),
        ("AMD Instinct MI250X", 110, 1024, 1700),
        ("AMD Instinct MI300X", 304, 2048, 2100),
        ("AMD Instinct MI325X", 304, 2048, 2100),
        ("AMD Instinct MI355X", 256, 4096, 2400),
    ],
)
def test_the_rate_is_that_of_all_units_at_the_boost_clock(
    name: str, units: int, flop: int, mhz: int
) -> None:
    """Dense fp16: multiprocessors, floating-point operations of one per clock, clock."""
    assert known(name).multiprocessors == units
    assert known(name).fp16 == pytest.approx(units * flop * mhz * 1e6 / 1e12, rel=0.01)


def test_rates_are_asked_for_by_key() -> None:
    peaks = known("NVIDIA A100-SXM4-80GB")
    rates = {key: peaks.rate(key) for key in ("dram", "bf16", "fp16", "fp8", "tf32", "fp32")}
    assert rates == {
        "dram": 2039,
        "bf16": 312,
        "fp16": 312,
        "fp8": None,
        "tf32": 156,
        "fp32": 19.5,
    }
    with pytest.raises(KeyError):
        peaks.rate("int8")


@pytest.mark.parametrize(
    ("multiprocessors", "memory_bytes", "name"),
    [
        (304, 206141652992, "AMD Instinct MI300X"),  # as a trace of a whole one says
        (304, 256 << 30, "AMD Instinct MI325X"),
        (304, 128 << 30, None),
        (228, 206141652992, None),
        (None, 206141652992, None),
        (304, None, None),
    ],
)
def test_a_gpu_without_a_name_is_found_by_its_size(
    multiprocessors: int | None, memory_bytes: int | None, name: str | None
) -> None:
    found = datasheets.of_size(multiprocessors, memory_bytes)
    assert (found and found.name) == name
