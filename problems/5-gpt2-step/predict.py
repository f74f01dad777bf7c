"""Predict what each fix saves from the audit of a step without it, before the fix is measured.

    harness run 5 --variant eager --case step --capture torch
    harness audit runs/RUN:step.eager --json > baseline.json
    python problems/5-gpt2-step/predict.py baseline.json
    harness run 5 --full --resume runs/RUN
    harness audit runs/RUN:step.gelu --json > gelu.json
    python problems/5-gpt2-step/predict.py --after gelu gelu.json
    harness audit runs/RUN:step.one-reading --json > one-reading.json
    python problems/5-gpt2-step/predict.py --after one-reading one-reading.json

Writes ``predictions.json``: of each variant the ms that it saves against the variant before it, and
why. The fixes after GELU's are predicted from the audit of that step, the epilogues from the step
before them, and added. Times are those that the audit attributes to parts of the step; what is left
of a part after its fix is bytes at this GPU's measured bandwidth, or operations at a fraction of
its measured bf16 ceiling. Every cell of the fixes states the file's sha256.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapes import SHAPES
from work import weights

_BATCH = 24
_SHAPE = SHAPES["gpt2-124m"]
_TOKENS = _BATCH * _SHAPE.context
_STATES = _TOKENS * _SHAPE.width
"""Elements of the residual stream."""
_LOGITS = _TOKENS * _SHAPE.vocabulary
_HEAD_FLOP = 3 * 2.0 * _LOGITS * _SHAPE.width
_LINEAR_FLOP = 3 * 2.0 * _TOKENS * _SHAPE.layers * (1 + 4 + 4) * _SHAPE.width**2
"""Of the layers after attention, up and down; without that before attention, of 3 widths."""
_HEAD, _HEAD_KERNELS = 0.72, 0.88
"""Shares of the ceiling for the head's products by torch.mm and by the kernels: an estimate, as its
2.5 GB of logits are written while it multiplies."""
_LINEAR, _LINEAR_KERNELS = 0.82, 0.95
"""The same for the layers' shapes, as reports/4-custom-hgemm measured them alone."""
_CUDNN = 306 / 373
"""Of FlashAttention-2's time, by their rates on an H100 for heads of 64 elements and 1k tokens:
Shah et al. 2024, "FlashAttention-3", figure 5, forward pass."""
_UPDATE_BYTES = 28
"""AdamW on a weight: gradient in bf16, master and moments in float32 read and written, weight."""
_FUSED_WIDTHS = 16 + 34
"""Widths a token that a compiled block moves between its products. Forward: norms with residuals
twice 4, GELU 8. Backward: norms twice 5, GELU 12, gradients of biases 6, of queries, keys and
values 6."""
_NARROWED_WIDTHS, _NARROWED_LOGITS = 2 * 4 + 2 * 6 + 2 * 4 + 2 * 6, 4 + 6
"""Bytes fewer a token: of each width of a block, as norms (forward 4, backward 6), residuals (4)
and the sums of their gradients (6) are in bf16 instead of float32; of each logit, as softmax (4)
and its gradient (6) are. GELU, attention and gradients of biases are in bf16 already."""
_READ_AGAIN = 2 + 2
"""Bytes for each element of GELU's input: of that and of its output's gradient, which a kernel of
its own reads to add up the bias's gradient."""
_SUMMED_WIDTHS = 2 * 4 * 2 + 6 * 2
"""Bytes a token for each width of a block: two norms read three tensors and write one; gradients of
queries, keys and values are read and written."""
_ADDED_WIDTHS = 2 * 2 * 2
"""Bytes fewer a token for each width of a block: before both of its norms, a product's result is
not written and read again, but added to the residual stream at once."""
_GAP_MS = 0.001
_LAUNCHES_LEFT = 450

_PRODUCT = re.compile(r"::(?:mm|addmm|linear|matmul|bmm)$")
_SUM = re.compile(r"layer_norm_backward|permute_stack|fused_sum|::sum$")
_COPY = re.compile(r"::(?:copy_|to|_to_copy)$")


@dataclass(frozen=True)
class Baseline:
    """The audit's rows, and this GPU's ceilings in GB/s and TFLOP/s."""

    rows: list[dict[str, Any]]
    gb_s: float
    tflop_s: float

    @classmethod
    def of(cls, audit: dict[str, Any]) -> "Baseline":
        """Return the baseline of an audit's JSON; ValueError where it has no measured ceilings."""
        limits = audit["limits"]
        if not limits["dram_reached"] or not limits["tensor_reached"]:
            raise ValueError("the audit has no measured ceilings: run harness calibrate first")
        gb_s = limits["dram_gb_s"] * limits["dram_reached"]
        return cls(audit["rows"], gb_s, limits["bf16_tflop_s"] * limits["tensor_reached"])

    def ms(self, wanted: Callable[[dict[str, Any]], bool]) -> float:
        """Return the ms of the rows that are wanted."""
        return sum(row["ms"] for row in self.rows if wanted(row))

    def moving(self, number: float) -> float:
        """Return the ms that bytes take."""
        return number / self.gb_s / 1e6

    def computing(self, flop: float, share: float) -> float:
        """Return the ms that operations take at a share of the ceiling."""
        return flop / (share * self.tflop_s) / 1e9


Fix = tuple[float, str]
"""ms saved, and why."""


def fixes(known: Baseline) -> dict[str, Fix]:
    """Return what each fix saves against the one before it."""
    count = weights(_SHAPE)
    optimizer = known.ms(lambda row: row["phase"] == "optimizer")
    update = known.moving(_UPDATE_BYTES * count)
    head = known.ms(lambda row: _is_head(row) and bool(_PRODUCT.search(row["operator"])))
    aligned = known.computing(_HEAD_FLOP, _HEAD)
    casts = known.ms(lambda row: row["phase"] != "optimizer" and _is_copy(row))
    rest = known.ms(lambda row: row["phase"] != "optimizer" and _is_between(row))
    narrowed = known.moving(_NARROWED_WIDTHS * _SHAPE.layers * _STATES + _NARROWED_LOGITS * _LOGITS)
    left = rest - narrowed
    fused = known.moving(2 * _FUSED_WIDTHS * _SHAPE.layers * _STATES + 4 * 2 * _LOGITS)
    attention = known.ms(_is_attention)
    accumulated = known.moving(3 * 3 * 2 * _SHAPE.vocabulary * _SHAPE.width)
    return {
        "fused-adamw": (
            optimizer - update,
            f"the optimizer takes {optimizer:.2f} ms; one pass of 28 bytes a weight is left",
        ),
        "padded": (
            head - aligned,
            f"the head's products take {head:.2f} ms on rows that are aligned to 2 bytes; aligned"
            f" they reach {_HEAD:.0%} of the ceiling",
        ),
        "masters": (
            casts + narrowed,
            f"{casts:.2f} ms of casts go; the other {rest:.2f} ms between products keep all but"
            f" {narrowed:.2f} ms, which norms, residuals and softmax need for half of their bytes",
        ),
        "compiled": (
            left - fused,
            f"of the {left:.2f} ms that are left between products, the bytes of fused kernels and"
            " of a loss that passes over its logits four times remain",
        ),
        "chunked-loss": (
            known.moving(4 * _LOGITS) - accumulated,
            "each logit is read and written once less; the head's gradient"
            " is accumulated three times",
        ),
        "cudnn": (
            attention * (1 - _CUDNN),
            f"attention takes {attention:.2f} ms; cuDNN needs {_CUDNN:.0%} of that",
        ),
        "one-chunk": (accumulated, "the head's gradient is not accumulated"),
        "head": (
            aligned - known.computing(_HEAD_FLOP, _HEAD_KERNELS),
            f"the head's products at {_HEAD_KERNELS:.0%} of the ceiling instead of {_HEAD:.0%}",
        ),
        "linears": (
            known.computing(_LINEAR_FLOP, _LINEAR) - known.computing(_LINEAR_FLOP, _LINEAR_KERNELS),
            f"three layers of a block at {_LINEAR_KERNELS:.0%} of the ceiling instead of"
            f" {_LINEAR:.0%}",
        ),
        "gelu": (
            known.moving(_READ_AGAIN * _SHAPE.layers * 4 * _STATES),
            "GELU's input and its output's gradient are not read a second time for the bias's",
        ),
        "graph": (_LAUNCHES_LEFT * _GAP_MS, "450 gaps between kernels of 1 µs each"),
    }


def fixes_after_gelu(known: Baseline) -> dict[str, Fix]:
    """Return what each fix after GELU's saves, by the audit of the step with that."""
    sums = known.ms(lambda row: row["phase"] == "backward" and bool(_SUM.search(row["operator"])))
    kept = known.moving(_SUMMED_WIDTHS * _SHAPE.layers * _STATES)
    optimizer = known.ms(lambda row: row["phase"] == "optimizer")
    update = known.moving(_UPDATE_BYTES * weights(_SHAPE))
    loss = known.ms(_is_loss)
    once = known.moving(2 * 2 * _LOGITS)
    return {
        "sums": (
            sums - kept,
            f"gradients of norms, sums over rows and gradients of queries, keys and values put side"
            f" by side take {sums:.2f} ms; one pass of each is left, {kept:.2f} ms",
        ),
        "one-launch": (
            optimizer - update,
            f"the optimizer takes {optimizer:.2f} ms in a launch for each weight; one pass of"
            f" {_UPDATE_BYTES} bytes a weight is left",
        ),
        "one-reading": (
            loss - once,
            f"the loss takes {loss:.2f} ms; each logit read and written once is left",
        ),
        "in-backward": (
            update - optimizer,
            "each weight has a launch again; the same bytes move at another time",
        ),
    }


def fixes_after_one_reading(known: Baseline) -> dict[str, Fix]:
    """Return what the epilogues save, by the audit of the step before them."""
    gelu = known.ms(lambda row: "bias_gelu" in row["operator"])
    added = known.moving(_ADDED_WIDTHS * _SHAPE.layers * _STATES)
    return {
        "epilogues": (
            gelu + added,
            f"GELU's kernels take {gelu:.2f} ms and go, as if tensor cores hid their work;"
            f" products that add to the residual stream save {added:.2f} ms of bytes",
        )
    }


AFTER = {"gelu": fixes_after_gelu, "one-reading": fixes_after_one_reading}
"""What is predicted from the audit of a step of that name."""


def _is_loss(row: dict[str, Any]) -> bool:
    """Return whether a row is the loss's own kernel, or scales its gradients."""
    scales = row["path"] == "loss" and row["phase"] == "backward"
    return row["operator"] == "ChunkedLoss" or scales


def _is_head(row: dict[str, Any]) -> bool:
    return bool(re.search(r"(?:^| / )head(?: / |$)", row["path"]))


def _is_attention(row: dict[str, Any]) -> bool:
    return "attention" in row["operator"]


def _is_copy(row: dict[str, Any]) -> bool:
    return bool(_COPY.search(row["operator"]))


def _is_between(row: dict[str, Any]) -> bool:
    """Return whether a row is neither product nor attention nor cast."""
    named = row["operator"]
    return not (_PRODUCT.search(named) or "attention" in named or _is_copy(row))


def main() -> None:
    """Write the predictions of an audit's JSON, or add those of a later one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("audit", type=Path)
    parser.add_argument("--after", choices=AFTER, help="the step that the audit is of")
    options = parser.parse_args()
    text = options.audit.read_bytes()
    known = Baseline.of(json.loads(text))
    source = {
        "audit_sha256": hashlib.sha256(text).hexdigest(),
        "dram_gb_s": known.gb_s,
        "bf16_tflop_s": known.tflop_s,
    }
    target = Path(__file__).with_name("predictions.json")
    if options.after:
        document = json.loads(target.read_text(encoding="utf-8"))
        document[options.after] = source
        document["fixes"] |= _document(AFTER[options.after](known))
    else:
        document = {"baseline": source, "fixes": _document(fixes(known))}
    target.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _document(found: dict[str, Fix]) -> dict[str, dict[str, Any]]:
    return {name: {"saves_ms": round(ms, 3), "because": why} for name, (ms, why) in found.items()}


if __name__ == "__main__":
    main()
