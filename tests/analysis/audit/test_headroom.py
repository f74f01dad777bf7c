"""What a row could save, by counters planted beside a trace and arithmetic done here."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.analysis.audit import conclude
from harness.captures.torch.read import read
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.ground.errors import UsageError
from harness.report import audit_text
from tests.support.training_trace import Kernel, Layer, Step, events, write

GPU = "NVIDIA H200"
PEAK_GB_S, PEAK_TFLOP_S = 4800.0, 989.4
REACHED_GB_S = 4320.0
Counted = tuple[Kernel, float, float, float]
"""A kernel, bytes read and written, and its tensor pipe's activity in percent."""

COPY, NORM = Kernel("copy_kernel", 40), Kernel("norm_kernel", 20)
GEMM, TINY = Kernel("some_gemm", 100), Kernel("tiny", 3)
STEP = Step(
    [
        Layer("A_0", "aten::copy_", "CopyBackwards", [COPY, NORM]),
        Layer("B_0", "aten::mm", "MmBackward0", [TINY], [GEMM]),
    ],
    optimizer=(),
)
COUNTED: list[Counted] = [
    (COPY, 50e6, 46e6, 0.0),
    (NORM, 40e6, 8e6, 0.0),
    (TINY, 1e3, 1e3, 0.0),
    (GEMM, 24e6, 24e6, 70.0),
]


def counters(launches: Sequence[Counted]) -> pl.DataFrame:
    rows = []
    for number, (kernel, read_bytes, written, tensor) in enumerate(launches):
        for metric, unit, value in (
            ("gpu__time_duration.sum", "us", float(kernel.us)),
            ("dram__bytes_read.sum", "byte", read_bytes),
            ("dram__bytes_write.sum", "byte", written),
            ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%", tensor),
        ):
            row = {"launch": number, "name": kernel.name, "metric": metric, "unit": unit}
            rows.append(row | {"value": value, "grid": f"{kernel.grid},1,1", "block": "128,1,1"})
    return evidence.frame("counters", {name: [row[name] for row in rows] for name in rows[0]})


def captures(
    folder: Path, launches: Sequence[Counted], *, ceilings: bool, step: Step = STEP
) -> list[Capture]:
    found = read(write(folder / "trace.json", events(step)))
    nothing = {name: evidence.empty(name) for name in evidence.SCHEMAS}
    device = {"device": [0], "name": [GPU], "multiprocessors": [132]}
    trace = nothing | found | {"devices": evidence.frame("devices", device)}
    if ceilings:
        known = {"gpu": [GPU], "name": ["dram_copy"], "unit": ["GB/s"], "value": [REACHED_GB_S]}
        trace["ceilings"] = evidence.frame("ceilings", known)
    report = nothing | {"counters": counters(launches)}
    return [Capture("trace", trace, {}, "torch"), Capture("report", report, {}, "ncu")]


def audited(folder: Path, launches: Sequence[Counted] = COUNTED) -> conclude.Audit:
    return conclude.audit(captures(folder, launches, ceilings=True))


def test_a_kernel_saves_what_its_bytes_at_the_target_would(tmp_path: Path) -> None:
    rows = {row.kernel: row for row in audited(tmp_path).rows}
    copy = rows["copy_kernel"]
    assert copy.limit == "DRAM"
    for saving, rate in zip(copy.savings, (0.7, 0.85, REACHED_GB_S / PEAK_GB_S), strict=True):
        least_ms = 96e6 / (rate * PEAK_GB_S * 1e9) * 1e3
        assert saving.ms == pytest.approx(0.040 - least_ms)
    gemm = rows["some_gemm"]
    assert gemm.limit == "tensor"
    assert gemm.savings[1].ms == pytest.approx(0.100 * (1 - 70 / 85))


def test_tensor_cycles_stand_for_operations_where_the_gpu_is_known(tmp_path: Path) -> None:
    """problems/4-custom-hgemm's h2 at 4096³: 80 % of the cycles at 1.5 GHz are 65 % of the peak."""
    flop, us, cycles = 2 * 4096**3, 215, 1_016_800.97
    gemm = Kernel("h2", us)
    step = Step([Layer("A_0", "aten::mm", "MmBackward0", [gemm])], optimizer=())
    found = read(write(tmp_path / "trace.json", events(step)))
    nothing = {name: evidence.empty(name) for name in evidence.SCHEMAS}
    device = {"device": [0], "name": [GPU], "multiprocessors": [132], "compute_capability": ["9.0"]}
    trace = nothing | found | {"devices": evidence.frame("devices", device)}
    counted = counters([(gemm, 50e6, 30e6, 80.16)])
    active = counted.filter(pl.col("unit").cast(pl.String) == "%").with_columns(
        metric=pl.lit("sm__pipe_tensor_cycles_active.avg").cast(pl.Categorical), value=cycles
    )
    report = nothing | {"counters": pl.concat([counted, active])}
    audit = conclude.audit(
        [Capture("trace", trace, {}, "torch"), Capture("report", report, {}, "ncu")]
    )
    (row,) = audit.rows
    assert row.tensor_used == pytest.approx(flop / (us * 1e-6) / (PEAK_TFLOP_S * 1e12), rel=1e-3)


def test_a_kernel_that_waits_for_the_one_before_it_is_charged_its_own_time(tmp_path: Path) -> None:
    """Under programmatic dependent launch its time on the timeline has the wait in it."""
    waiting = replace(STEP.layers[0], forward=[COPY, replace(NORM, early_us=30)])
    step = replace(STEP, layers=[waiting, *STEP.layers[1:]])
    found = conclude.audit(captures(tmp_path, COUNTED, ceilings=True, step=step))
    assert found.overlap_ms == 0
    plain = audited(tmp_path)
    assert found.rows == plain.rows
    assert (found.floor_ms, found.phases) == (plain.floor_ms, plain.phases)


def test_two_kernels_side_by_side_cannot_both_have_the_bandwidth(tmp_path: Path) -> None:
    """Overlapping kernels share their time, so their bytes over it are what the bus carried."""
    aside = replace(STEP.layers[0], forward=[COPY, replace(NORM, stream=9)])
    step = replace(STEP, layers=[aside, *STEP.layers[1:]])
    found = conclude.audit(captures(tmp_path, COUNTED, ceilings=True, step=step))
    assert found.overlap_ms > 0.015
    rows = {row.kernel: row for row in found.rows}
    moved = 96e6 + 48e6
    for kernel in ("copy_kernel", "norm_kernel"):
        assert rows[kernel].limit == "DRAM"
    used = sum(
        (rows[kernel].dram_used or 0) * rows[kernel].ms for kernel in ("copy_kernel", "norm_kernel")
    )
    assert used == pytest.approx(moved / (PEAK_GB_S * 1e6))


def test_of_a_short_kernel_nothing_is_claimed(tmp_path: Path) -> None:
    tiny = next(row for row in audited(tmp_path).rows if row.kernel == "tiny")
    assert (tiny.limit, tiny.savings) == ("latency", ())


def test_a_second_floor_has_products_at_the_rate_without_rests(tmp_path: Path) -> None:
    assert audited(tmp_path).sustained_floor_ms is None
    trace, report = captures(tmp_path, COUNTED, ceilings=True)
    rate = {"gpu": [GPU], "name": ["bf16_sustained"], "unit": ["TFLOP/s"]}
    kept_up = evidence.frame("ceilings", rate | {"value": [0.75 * PEAK_TFLOP_S]})
    known = pl.concat([trace.tables["ceilings"], kept_up])
    trace = replace(trace, tables=trace.tables | {"ceilings": known})
    audit = conclude.audit([trace, report])
    assert audit.sustained_floor_ms is not None
    assert audit.floor_ms is not None
    # The product uses 70 % of its peak: of 85 % without that rate, of 75 % with it.
    slower = 0.100 * 70 / 75 - 0.100 * 70 / 85
    assert audit.sustained_floor_ms - audit.floor_ms == pytest.approx(slower)
    above = audit.busy_ms - audit.sustained_floor_ms
    assert sum(audit.above_ms.values()) == pytest.approx(above)
    assert audit.above_ms["other kernels limited by tensor cores"] == pytest.approx(
        0.100 * (1 - 70 / 75)
    )


def test_what_is_above_the_floor_is_told_by_kind_with_the_rest_of_the_step(tmp_path: Path) -> None:
    attention = Kernel("fmha_fwd_kernel", 100)
    step = replace(STEP, layers=[STEP.layers[0], replace(STEP.layers[1], backward=[attention])])
    launches = [*COUNTED[:-1], (attention, *COUNTED[-1][1:])]
    audit = conclude.audit(captures(tmp_path, launches, ceilings=True, step=step))
    assert audit.above_ms["attention"] == pytest.approx(0.100 * (1 - 70 / 85))
    assert set(audit.above_ms) == {"attention", "kernels limited by DRAM"}

    def said(**measured: Any) -> str:
        return " ".join(audit_text.sentences(replace(audit, **measured)))

    longer = audit.busy_ms + 0.5
    assert "attention 0.02 ms, " in said(step_ms=longer)
    assert said(step_ms=longer).endswith("idle time 0.50 ms.")
    slower = said(step_ms=longer, step_mhz=1500.0, traced_mhz=1980.0)
    assert slower.endswith("a lower clock or idle time 0.50 ms.")
    assert "Above" not in said(step_ms=audit.busy_ms, above_ms={})


def test_the_floor_is_the_step_without_what_its_kernels_save(tmp_path: Path) -> None:
    audit = audited(tmp_path)
    at_ceiling = 96e6 / (REACHED_GB_S * 1e6) + min(0.020, 48e6 / (REACHED_GB_S * 1e6))
    gemm_at_85 = 0.100 * 70 / 85
    assert audit.floor_ms == pytest.approx(at_ceiling + gemm_at_85 + 0.003)
    assert audit.saved_ms(1) == pytest.approx(
        sum(row.savings[1].ms for row in audit.rows if row.savings)
    )


def test_under_a_profiler_alone_the_floor_is_held_against_what_the_gpu_worked(
    tmp_path: Path,
) -> None:
    audit = audited(tmp_path)
    assert audit.floor_ms is not None
    idle_too = replace(audit, traced_ms=audit.busy_ms + 5)  # the profiler's launches, say
    saved = audit.saved_ms(1)
    for of, taken, who, column in (
        (idle_too, audit.busy_ms, "the GPU's work takes", "work"),
        (replace(audit, step_ms=audit.busy_ms + 1), audit.busy_ms + 1, "the step takes", "step"),
    ):
        said = " ".join(audit_text.sentences(of))
        assert f"{who} {taken / audit.floor_ms:.2f} times as long." in said
        assert f"{saved:.2f} ms at 85 % ({taken / (taken - saved):.2f}×)" in said
        printed = list(audit_text.lines(of))
        head = next(place for place, line in enumerate(printed) if line.endswith("limit"))
        assert printed[head].split()[0] == column
        assert printed[head + 1].split()[0] == f"{100 * audit_text.ranked(of)[0].ms / taken:.1f}"


def test_bytes_that_the_kernel_before_wrote_are_what_fusion_saves(tmp_path: Path) -> None:
    rows = {row.kernel: row for row in audited(tmp_path).rows}
    assert rows["norm_kernel"].reread_bytes == 40e6  # of the 46e6 that the copy wrote
    assert rows["copy_kernel"].reread_bytes == 0
    assert rows["some_gemm"].reread_bytes == 0


def test_a_launch_more_in_one_capture_leaves_that_kernel_without_counters(tmp_path: Path) -> None:
    audit = audited(tmp_path, [*COUNTED, (GEMM, 1.0, 1.0, 1.0)])
    without = {row.kernel for row in audit.rows if row.dram_bytes is None}
    assert without == {"some_gemm"}
    assert audit.counted == pytest.approx(63 / 163)
    assert any("61.3 % of the kernels' time has no counters" in each for each in audit.unsaid)


def test_the_order_in_which_others_were_profiled_does_not_matter(tmp_path: Path) -> None:
    assert audited(tmp_path, COUNTED[::-1]).rows == audited(tmp_path).rows


def test_without_ceilings_the_floor_says_what_it_takes(tmp_path: Path) -> None:
    audit = conclude.audit(captures(tmp_path, COUNTED, ceilings=False))
    assert any("No measured ceilings" in each for each in audit.unsaid)
    assert all(len(row.savings) in (0, 2) for row in audit.rows)


def test_two_reports_of_one_cache_control_are_no_one_step(tmp_path: Path) -> None:
    trace, report = captures(tmp_path, COUNTED, ceilings=True)
    with pytest.raises(UsageError, match="2 captures of this kind: Nsight Compute report"):
        conclude.audit([trace, report, report])


def test_flushed_caches_are_told_beside_the_warm_ones_that_count(tmp_path: Path) -> None:
    trace, report = captures(tmp_path, COUNTED, ceilings=True)
    warm = replace(report, conditions={"cache control": "none"})
    doubled = [(kernel, 2 * read, 2 * written, use) for kernel, read, written, use in COUNTED]
    flushed = replace(report, tables=report.tables | {"counters": counters(doubled)})
    audit = conclude.audit([trace, flushed, warm])
    assert audit.rows == audited(tmp_path).rows
    assert audit.flushed_bytes == 2 * sum(each[1] + each[2] for each in COUNTED)
    assert audited(tmp_path).flushed_bytes is None
