"""Predict what each fix saves, by arithmetic alone, before anything is measured.

    python problems/5-gpt2-step/predict.py reports/4-custom-hgemm/nvidia-h200

Writes ``predictions.json``: of each variant the ms that it saves against the variant before it,
from bytes at the DRAM ceiling and operations at stated fractions of the bf16 ceiling. The ceilings
are those that the named report's run measured. Every cell of the study states the file's sha256.
"""

import json
import sys
from pathlib import Path

import polars as pl
from shapes import SHAPES
from work import weights

_BATCH = 24
_SHAPE = SHAPES["gpt2-124m"]
_TOKENS = _BATCH * _SHAPE.context
_STATES = _TOKENS * _SHAPE.width
"""Elements of the residual stream."""
_LOGITS = _TOKENS * _SHAPE.vocabulary
_NORMS = 2 * _SHAPE.layers + 1
_HEAD_FLOP = 3 * 2.0 * _LOGITS * _SHAPE.width
_ATTENTION_FLOP = 2.0 * _TOKENS * _SHAPE.context * _SHAPE.width * _SHAPE.layers
"""Of the forward pass, with the causal half; the backward pass has two and a half times as many."""
_LAUNCH_GAP_US = 1.0

Fix = tuple[float, float, str]
"""Bytes and ms that a fix saves, and why."""


def fixes(tflop_s: float) -> dict[str, Fix]:
    """Return each fix at a bf16 ceiling in TFLOP/s."""

    def ms(flop: float, share: float) -> float:
        return flop / (share * tflop_s) / 1e9

    attention = {
        name: ms(_ATTENTION_FLOP, forward) + ms(2.5 * _ATTENTION_FLOP, backward)
        for name, forward, backward in (("flash", 0.35, 0.30), ("cudnn", 0.50, 0.45))
    }
    return {
        "fused-adamw": (
            (80 - 28) * weights(_SHAPE),
            0,
            "eight passes of foreach over weights, gradients and moments move 80 bytes a weight,"
            " one kernel 28",
        ),
        "padded": (
            0,
            ms(_HEAD_FLOP, 0.25) - ms(_HEAD_FLOP, 0.85),
            "rows of 50257 elements are aligned to 2 bytes, so the head's products cannot use TMA"
            " or wide loads: a quarter of the ceiling, aligned 85 %",
        ),
        "masters": (
            12 * weights(_SHAPE) + 32 * _NORMS * _STATES + 24 * _LOGITS,
            0,
            "autocast keeps the residual stream, norms and loss in float32 and casts around them:"
            " 32 bytes more an element and norm, 24 a logit, 12 a weight",
        ),
        "compiled": (
            10 * _NORMS * _STATES + 9 * _SHAPE.layers * _STATES + 5 * _LOGITS,
            600 * _LAUNCH_GAP_US / 1e3,
            "residual additions fuse into norms, half of the bias gradients into what writes their"
            " input, the loss into fewer passes; 600 launches less",
        ),
        "chunked-loss": (
            4 * _LOGITS - 5 * 2 * weights(_SHAPE) / 3,
            0,
            "the loss reads and writes each logit once instead of twice; the head's gradient is"
            " accumulated over four chunks",
        ),
        "cudnn": (
            0,
            attention["flash"] - attention["cudnn"],
            "FlashAttention-2 at 35 and 30 % of the ceiling, cuDNN at 50 and 45 %; nothing where"
            " torch takes cuDNN already",
        ),
        "graph": (0, 450 * _LAUNCH_GAP_US / 1e3, "450 gaps between kernels of 1 µs each"),
        "in-backward": (0, 0, "the same bytes at another time: it saves memory, not time"),
    }


def main(report: str) -> None:
    """Write the predictions by the ceilings of one report."""
    rows = pl.read_parquet(Path(report) / "evidence" / "ceilings.parquet")
    known = dict(rows.group_by("name").agg(pl.col("value").median()).iter_rows())
    found = {
        name: {"saves_ms": round(moved / known["dram_copy"] / 1e6 + ms, 3), "because": why}
        for name, (moved, ms, why) in fixes(known["bf16"]).items()
    }
    used = {name: known[name] for name in ("dram_copy", "bf16")}
    document = {"ceilings": used | {"of": Path(report).as_posix()}, "fixes": found}
    path = Path(__file__).with_name("predictions.json")
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
