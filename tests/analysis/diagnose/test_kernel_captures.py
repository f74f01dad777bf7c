"""First findings on this repository's captures of an H200, against what the worklogs showed."""

import pytest

from harness.analysis.diagnose.conclude import diagnose
from harness.analysis.diagnose.finding import KernelDiagnosis
from harness.evidence.subject import Subject
from harness.extract import door
from tests.support.paths import DATA, ROOT

KEPT = "reports/{}/nvidia-h200:{}"
HGEMM, GEMLITE, FLOAT8 = "4-custom-hgemm", "2-gemlite-autotune", "1-torchao-float8"


def kernels(path: str) -> dict[str, KernelDiagnosis]:
    """Return the diagnosis of each kernel's last launch, by the beginning of its name."""
    subject = door.opened(str(ROOT / path))
    assert isinstance(subject, Subject)
    capture = subject.captures["ncu"]
    launches = diagnose([capture]).kernels
    assert [each.launch for each in launches] == list(range(len(launches)))
    return {each.name.removeprefix("void ")[:33]: each for each in launches}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        # The step after it pads shared memory and is 2.05 times as fast.
        ("square-4096.p1", ["bank-conflicts"]),
        # Padding left 12 % of conflicts, whose removal gained nothing.
        ("square-4096.p4", ["latency-bound"]),
        # The step after it is a multistage pipeline and is 1.84 times as fast.
        ("square-4096.p5", ["latency-bound"]),
        # As fast as the library's product.
        ("square-4096.h7", ["healthy", "tensor-bound"]),
        ("square-4096.torch", ["healthy", "tensor-bound"]),
        # 32 tiles for 132 SMs: split-K is the step made for this size.
        ("square-1024.h7", ["too-few-blocks"]),
    ],
)
def test_a_step_of_the_hgemm_ladder_is_named_as_its_worklog_names_it(
    cell: str, expected: list[str]
) -> None:
    (only,) = kernels(KEPT.format(HGEMM, cell)).values()
    assert [finding.id for finding in only.findings][: len(expected)] == expected


def test_the_gain_of_padding_is_foretold() -> None:
    """The steps p1 and p2 took 1 636 and 795 µs under Nsight Compute: 51 % went."""
    (step,) = kernels(KEPT.format(HGEMM, "square-4096.p1")).values()
    assert step.findings[0].gain == pytest.approx(1 - 795 / 1636, rel=0.15)


def test_a_compare_and_swap_loop_contends_for_its_addresses() -> None:
    found = kernels(KEPT.format(GEMLITE, "layer-m1.w4-default-graph"))
    assert found["gemv_INT_revsplitK_kernel"].findings[0].id == "atomics-contention"


def test_a_library_of_kernels_of_float8() -> None:
    found = kernels(KEPT.format(FLOAT8, "stack-m1.f8-0.13.0-eager"))
    first = {name: each.findings[0].id for name, each in found.items()}
    assert first["at::native::vectorized_elementwis"] == "healthy"  # copies at 90 % of DRAM
    assert first["at::native::unrolled_elementwise_"] == "integer-bound"  # unpacks float8 by bits
    assert first["nvjet_sm90_tst_64x8_64x16_2x1_v_b"] == "healthy"
    assert first["cublasLt::splitKreduce_kernel<(in"] == "abstain"  # 3.6 µs


def test_a_report_without_source_counters_abstains_and_asks_for_them() -> None:
    found = kernels(str((DATA / "differences/same_1.ncu-rep.zst").relative_to(ROOT)))
    for each in found.values():
        assert each.findings[0].id == "abstain"
    product = next(each for name, each in found.items() if "gemm" in name)
    assert product.findings[0].next == ("capture --section SourceCounters",)
