"""Predict what each fix saves from the audit of a step without it, before the fix is measured.

    harness run 5 --full --capture torch
    harness audit runs/RUN:step.eager --json > eager.json
    python problems/5-gpt2-step/predict.py step eager.json
    harness audit runs/RUN:step.gelu --json > gelu.json
    python problems/5-gpt2-step/predict.py step gelu.json --after gelu
    harness run 5 --full --resume runs/RUN

The same for the steps of AFTER, and for the case ``medium`` from its eager step. Writes
``predictions.json``: of each variant the ms that it saves against the variant before it, and why.
A fix saves whole kernels: those whose work another kernel does on its way, which takes as long as
before. A kernel that is written anew takes the time of its bytes at 85 % of the datasheet's
bandwidth, llm.c's target; products of torch take that of their operations at a share of this GPU's
bf16 ceiling, those of problem 8 what ``under_load.py`` measured. Every cell of the fixes states the
file's sha256.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapes import SHAPES, Shape
from work import weights

_HEAD = 0.72
"""Share of the ceiling for the head's products by torch.mm: an estimate, as its logits are written
while it multiplies."""
_TARGET = 0.85
"""Of the datasheet's bandwidth: what llm.c's audit asks of a kernel (karpathy/llm.c, discussion
331)."""
_UPDATE_BYTES = 28
"""AdamW on a weight: gradient in bf16, master and moments in float32 read and written, weight."""
_HEADS_BYTES = 3 * 2 * 2
"""Bytes a token for each width of a block: gradients of queries, keys and values are read, and
written side by side."""
_ADDED_BYTES = 2 * 2 * 2
"""Bytes fewer a token for each width of a block: before both of its norms, a product's result is
not written and read again, but added to the residual stream at once."""
_GAP_MS = 0.001
_HEAD_SHAPE, _OTHER_SHAPES = "50304", "50304|2304"
"""In the names of products: the head's, and those of no layer that the kernels take over."""

_PRODUCT = re.compile(r"::(?:mm|addmm|linear|matmul|bmm)$")
_COPY = re.compile(r"::(?:copy_|to|_to_copy)$")
_ADDITION = re.compile(r"::add_?$")
_SOFTMAX = re.compile(r"log_softmax")
_STAYS = re.compile(r"::(?:gelu|gelu_backward|native_layer_norm(?:_backward)?|sum)$|log_softmax")
_NORM_WEIGHTS = re.compile(r"GammaBeta")
_SUM = re.compile(r"::sum$|fused_(?!.*(?:layer_norm|gelu)).*sum")
_GELU_SUM = re.compile(r"gelu_backward.*sum")


@dataclass(frozen=True)
class Work:
    """What a case trains: a model, and rows of its context a step."""

    shape: Shape
    batch: int

    @property
    def states(self) -> int:
        """Return the elements of the residual stream, once for each layer."""
        return self.batch * self.shape.context * self.shape.width * self.shape.layers

    @property
    def logits(self) -> int:
        """Return the elements of a batch's logits."""
        return self.batch * self.shape.context * self.shape.vocabulary


CHOICES = Path(__file__).with_name("choices.json")
CASES = {"step": Work(SHAPES["gpt2-124m"], 24), "medium": Work(SHAPES["gpt2-355m"], 8)}


@dataclass(frozen=True)
class Audit:
    """An audit's rows, and of this GPU the GB/s that a new kernel moves and the TFLOP/s at most."""

    rows: list[dict[str, Any]]
    gb_s: float
    tflop_s: float

    @classmethod
    def of(cls, audit: dict[str, Any]) -> "Audit":
        """Return what an audit's JSON says; SystemExit where it has no measured ceilings."""
        limits = audit["limits"]
        if not limits["dram_reached"] or not limits["tensor_reached"]:
            raise SystemExit("the audit has no measured ceilings: run harness calibrate first")
        gb_s = limits["dram_gb_s"] * min(_TARGET, limits["dram_reached"])
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


def fixes(eager: Audit, work: Work) -> dict[str, Fix]:
    """Return what each of torch's fixes saves against the one before it."""
    shape = work.shape
    optimizer = eager.ms(lambda row: row["phase"] == "optimizer")
    update = eager.moving(_UPDATE_BYTES * weights(shape))
    head = eager.ms(lambda row: _is_head(row) and bool(_PRODUCT.search(row["operator"])))
    aligned = eager.computing(3 * 2.0 * work.logits * shape.width, _HEAD)
    casts = eager.ms(lambda row: _is_copy(row) and not _is_in_attention(row))
    narrowed = eager.ms(_is_addition) / 2
    between = eager.ms(_is_between) - narrowed
    stays = eager.ms(lambda row: _is_between(row) and _stays(row))
    heads = eager.ms(lambda row: _is_copy(row) and _is_in_attention(row))
    packed = eager.moving(_HEADS_BYTES * work.states)
    launches = sum(row["launches"] for row in eager.rows if _stays(row) or _is_work(row))
    softmax = eager.ms(
        lambda row: row["phase"] == "loss" and bool(_SOFTMAX.search(row["operator"]))
    )
    accumulated = eager.moving(3 * 3 * 2 * shape.vocabulary * shape.width)
    return {
        "fused-adamw": (
            optimizer - update,
            f"the optimizer takes {optimizer:.2f} ms; one pass of {_UPDATE_BYTES} bytes a weight"
            " is left",
        ),
        "padded": (
            head - aligned,
            f"the head's products take {head:.2f} ms on rows that are aligned to 2 bytes; aligned"
            f" they reach {_HEAD:.0%} of the ceiling",
        ),
        "masters": (
            casts + narrowed,
            f"{casts:.2f} ms of casts go, and half of what residual additions take: their bytes"
            " limit them; those of norms and softmax do not",
        ),
        "compiled": (
            between + heads - stays - packed,
            f"{between + heads:.2f} ms between products; GELU, norms, softmax and sums over rows"
            f" stay, {stays:.2f} ms, and one pass that puts the gradients of queries, keys and"
            f" values side by side, {packed:.2f} ms",
        ),
        "graph": (launches * _GAP_MS, f"{launches:.0f} gaps between kernels of 1 µs each"),
        "chunked-loss": (
            softmax - accumulated,
            f"softmax takes no pass of its own, {softmax:.2f} ms; the head's gradient is"
            " accumulated three times",
        ),
        "one-chunk": (accumulated, "the head's gradient is not accumulated"),
    }


def fixes_by_products(layers: int) -> dict[str, Fix]:
    """Return what problem 8's products save by the times under load of each and of torch.mm."""
    known = json.loads(CHOICES.read_text(encoding="utf-8"))
    saved = {
        key: (us["torch.mm"] - us[known["choices"][key]]) / 1e3 for key, us in known["us"].items()
    }
    head = sum(ms for key, ms in saved.items() if _HEAD_SHAPE in key)
    layer = sum(ms for key, ms in saved.items() if not re.search(_OTHER_SHAPES, key))
    return {
        "head": (head, "by the times of the head's three products under load"),
        "linears": (layers * layer, "by the times of three layers' products under load"),
    }


def fixes_after_linears(known: Audit, _: Work) -> dict[str, Fix]:
    """Return what GELU's kernels save, by the audit of the step before them."""
    again = known.ms(lambda row: bool(_GELU_SUM.search(row["operator"])))
    return {
        "gelu": (
            again,
            f"the kernel that computes GELU's gradient again for the bias's goes, {again:.2f} ms",
        )
    }


def fixes_after_gelu(known: Audit, work: Work) -> dict[str, Fix]:
    """Return what each fix after GELU's saves, by the audit of the step with that."""
    sums = known.ms(lambda row: row["phase"] == "backward" and bool(_SUM.search(row["operator"])))
    optimizer = known.ms(lambda row: row["phase"] == "optimizer")
    update = known.moving(_UPDATE_BYTES * weights(work.shape))
    loss = known.ms(_is_loss)
    once = known.moving(2 * 2 * work.logits)
    return {
        "sums": (sums, f"the kernels that only add up rows go, {sums:.2f} ms"),
        "one-launch": (
            optimizer - update,
            f"the optimizer takes {optimizer:.2f} ms in a launch for each weight; one pass of"
            f" {_UPDATE_BYTES} bytes a weight is left",
        ),
        "one-reading": (
            loss - once,
            f"the loss takes {loss:.2f} ms; each logit read and written once is left",
        ),
    }


def fixes_after_one_reading(known: Audit, work: Work) -> dict[str, Fix]:
    """Return what the epilogues save, by the audit of the step before them."""
    gelu = known.ms(lambda row: "bias_gelu" in row["operator"])
    added = known.moving(_ADDED_BYTES * work.states)
    return {
        "epilogues": (
            gelu + added,
            f"GELU's kernels take {gelu:.2f} ms and go, as if tensor cores hid their work;"
            f" products that add to the residual stream save {added:.2f} ms of bytes",
        )
    }


AFTER = {
    "linears": fixes_after_linears,
    "gelu": fixes_after_gelu,
    "one-reading": fixes_after_one_reading,
}
"""What is predicted from the audit of a step of that name."""


def _is_loss(row: dict[str, Any]) -> bool:
    """Return whether a row is the loss's own kernel, or scales its gradients."""
    scales = row["path"] == "loss" and row["phase"] == "backward"
    return row["operator"] == "ChunkedLoss" or scales


def _is_head(row: dict[str, Any]) -> bool:
    return bool(re.search(r"(?:^| / )head(?: / |$)", row["path"]))


def _is_in_attention(row: dict[str, Any]) -> bool:
    """Return whether a row is of attention's module itself, which transposes, and casts nothing."""
    return bool(re.search(r"(?:^| / )attention$", row["path"]))


def _is_copy(row: dict[str, Any]) -> bool:
    return row["phase"] != "optimizer" and bool(_COPY.search(row["operator"]))


def _is_addition(row: dict[str, Any]) -> bool:
    return row["phase"] != "optimizer" and bool(_ADDITION.search(row["operator"]))


def _is_between(row: dict[str, Any]) -> bool:
    """Return whether a row of the passes is neither product nor attention nor copy."""
    return row["phase"] != "optimizer" and not (_is_work(row) or _is_copy(row))


def _is_work(row: dict[str, Any]) -> bool:
    """Return whether a row is a product or attention."""
    return bool(_PRODUCT.search(row["operator"])) or "attention" in row["operator"]


def _stays(row: dict[str, Any]) -> bool:
    """Return whether a compiler leaves a kernel for the row; norms' weights need none."""
    return bool(_STAYS.search(row["operator"])) and not _NORM_WEIGHTS.search(row["kernel"])


def main() -> None:
    """Write the predictions of an audit's JSON, or add those of a later one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("audit", type=Path)
    parser.add_argument("--after", choices=AFTER, help="the step that the audit is of")
    options = parser.parse_args()
    text = options.audit.read_bytes()
    known, work = Audit.of(json.loads(text)), CASES[options.case]
    target = Path(__file__).with_name("predictions.json")
    document = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    of_case = document.setdefault(options.case, {"audits": {}, "fixes": {}})
    of_case["audits"][options.after or "eager"] = {
        "sha256": hashlib.sha256(text).hexdigest(),
        "dram_gb_s": known.gb_s,
        "bf16_tflop_s": known.tflop_s,
    }
    if options.after:
        found = AFTER[options.after](known, work)
    else:
        found = fixes(known, work)
        found |= fixes_by_products(work.shape.layers) if options.case == "step" else {}
    of_case["fixes"] |= {
        name: {"saves_ms": round(ms, 3), "because": why} for name, (ms, why) in found.items()
    }
    target.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
