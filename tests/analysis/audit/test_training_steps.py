"""The audit of three models' training steps on an H200: tests/data/training_steps."""

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl
import pytest

from harness.analysis.audit import conclude
from harness.analysis.audit.conclude import Audit
from harness.captures.formats.compressed import blocks
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.extract import door
from tests.support.paths import DATA

FOLDER = DATA / "training_steps"
STEPS = 2
PRODUCT = re.compile(r"^(nvjet|sm90_xmma_\w+_implicit_gemm)")
PRODUCTS = {  # by the model's code: layers, their operator, products of forward and backward a step
    "vit": ("Linear_*", "aten::addmm", 6 * 4 + 1, "aten::mm", 2 * (6 * 4 + 1)),
    "llama": ("Linear_*", "aten::mm", 2 * 7, "aten::mm", 2 * 2 * 7),
    "unet": ("ResBlock_* / Conv2d_*", "aten::cudnn_convolution", 4 * 3, "", 0),
}


@cache
def audited(model: str) -> Audit:
    trace = door.capture(FOLDER / f"{model}.json.zst")
    (capture,) = trace.captures.values()
    counted = {name: evidence.empty(name) for name in evidence.SCHEMAS}
    counted["counters"] = pl.read_parquet(FOLDER / f"{model}.counters.parquet")
    return conclude.audit(
        [replace(capture, label=model, conditions={}), Capture(f"{model}, ncu", counted, {}, "ncu")]
    )


@cache
def kernels(model: str) -> list[dict[str, Any]]:
    """Return the trace's own rows of kernels, copies and memsets."""
    packed = blocks(FOLDER / f"{model}.json.zst", 1 << 20)
    events = json.loads(b"".join(packed))["traceEvents"]
    return [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]


@pytest.mark.parametrize("model", PRODUCTS)
def test_every_kernel_of_a_step_has_a_row_and_none_is_unattributed(model: str) -> None:
    audit = audited(model)
    assert audit.unattributed == 0
    assert audit.busy_ms == pytest.approx(
        sum(k["dur"] for k in kernels(model)) / STEPS / 1e3, rel=0.01
    )
    assert sum(row.launches for row in audit.rows) == pytest.approx(len(kernels(model)) / STEPS)
    assert {"forward", "loss", "backward", "optimizer"} <= {row.phase for row in audit.rows}


@pytest.mark.parametrize("model", PRODUCTS)
def test_a_layer_s_products_are_its_own(model: str) -> None:
    layer, forward, forwards, backward, backwards = PRODUCTS[model]
    assert products(model, "forward", layer, forward) == forwards
    assert products(model, "backward", layer, backward) == backwards


def products(model: str, phase: str, layer: str, operator: str) -> float:
    """Return how many products the audit counts there; a split-K product's sum is no product."""
    return sum(
        row.launches
        for row in audited(model).rows
        if (row.phase, row.operator) == (phase, operator)
        and row.path.endswith(layer)
        and PRODUCT.search(row.kernel)
    )


@pytest.mark.parametrize("model", PRODUCTS)
def test_a_report_of_one_step_gives_the_kernels_their_bytes(model: str) -> None:
    audit = audited(model)
    counters = pl.read_parquet(FOLDER / f"{model}.counters.parquet")
    read = counters.filter(pl.col("metric").cast(pl.String) == "dram__bytes_read.sum")[
        "value"
    ].sum()
    assert audit.counted > 0.98
    assert audit.dram_read_bytes == pytest.approx(read, rel=0.02)
    assert 1 < audit.busy_ms / (audit.floor_ms or 0) < 2
