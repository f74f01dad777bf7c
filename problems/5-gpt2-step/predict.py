"""Predict what each fix saves from audits and times of kernels alone, before it is measured.

    python problems/5-gpt2-step/under_load.py step
    harness run 5 --full --capture torch
    harness audit runs/RUN:step.eager --json > eager.json
    python problems/5-gpt2-step/predict.py step eager.json
    harness audit runs/RUN:step.gelu --json > gelu.json
    python problems/5-gpt2-step/predict.py step gelu.json --after gelu
    harness run 5 --full --resume runs/RUN

The same for the other steps of AFTER. Of the case ``medium`` only the eager step is traced; of its
later steps ``predict.py medium gelu.json --after gelu --of step`` takes the kernels' times of
``step``, in proportion to the work. Writes ``predictions.json``: of each GPU and variant the ms
that it saves against the variant before it, and why. A fix saves whole kernels: those whose work
another kernel does on its way, which takes as long as before. A kernel that is written anew takes
the time of its bytes at 85 % of the datasheet's bandwidth, llm.c's target; products of torch take
that of their operations at a share of this GPU's bf16 ceiling, those of problem 8 and those with an
epilogue what ``under_load.py`` measured. Every cell of the fixes states the file's sha256.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from work import CASES, Work, weights

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
_GELU_BYTES = 4 * 2 * (2 + 3)
"""Bytes a token for each width of a block: GELU's input and output, then input and two gradients,
of four widths."""
_GAP_MS = 0.001
_LOSS_PASSES = 3
"""Over the logits, of the kernel that is written for them: see loss_kernel.py."""
_HEAD_SHAPE = "50304"
"""In the names of the head's products: the padded vocabulary."""

_PRODUCT = re.compile(r"::(?:mm|addmm|linear|matmul|bmm)$")
_COPY = re.compile(r"::(?:copy_|to|_to_copy)$")
_ADDITION = re.compile(r"::add_?$")
_STAYS = re.compile(r"::(?:gelu|gelu_backward|native_layer_norm(?:_backward)?|sum)$|log_softmax")
_NORM_WEIGHTS = re.compile(r"GammaBeta")
_SUM = re.compile(r"::sum$|fused_(?!.*(?:layer_norm|gelu)).*sum")
_LOSS = re.compile(r"softmax|nll_loss|cross_entropy")
_GELU = re.compile(r"gelu(?!_backward)(?!.*gelu_backward)")
_GELU_GRADIENT = re.compile(r"gelu_backward(?!.*sum)")
_GELU_SUM = re.compile(r"gelu_backward.*sum")


CHOICES = Path(__file__).with_name("choices.json")


@dataclass(frozen=True)
class Audit:
    """An audit's rows, its GPU, the GB/s that a new kernel moves there, the TFLOP/s at most."""

    rows: list[dict[str, Any]]
    gpu: str
    gb_s: float
    tflop_s: float

    @classmethod
    def of(cls, audit: dict[str, Any]) -> "Audit":
        """Return what an audit's JSON says; ValueError where it has no measured ceilings."""
        limits = audit.get("limits", {})
        if not limits.get("dram_reached") or not limits.get("tensor_reached"):
            raise ValueError("the audit has no measured ceilings: run harness calibrate first")
        gb_s = limits["dram_gb_s"] * min(_TARGET, limits["dram_reached"])
        tflop_s = limits["bf16_tflop_s"] * limits["tensor_reached"]
        return cls(audit["rows"], limits["gpu"], gb_s, tflop_s)

    def scaled(self, of: Work, to: Work) -> "Audit":
        """Return the rows as they would be of other work: each grows as what it computes.

        The loss's with the logits, all others of the passes with the residual stream. The optimizer
        moves bytes for each weight; the rest of its time is the same for each tensor.
        """

        def grown(row: dict[str, Any]) -> float:
            ms = float(row["ms"])
            if row["phase"] == "optimizer":
                before, after = (self.moving(_UPDATE_BYTES * weights(w.shape)) for w in (of, to))
                return after + (ms - before) * to.parameters / of.parameters
            if _is_loss(row):
                return ms * to.logits / of.logits
            return ms * to.states / of.states

        return replace(self, rows=[row | {"ms": grown(row)} for row in self.rows])

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
    }


def fixes_after_compiled(known: Audit, work: Work) -> dict[str, Fix]:
    """Return what head and loss as one function save, by the audit of the compiled step."""
    loss = known.ms(_is_loss)
    anew = known.moving(_LOSS_PASSES * 2 * work.logits)
    accumulated = known.moving(3 * 3 * 2 * work.shape.vocabulary * work.shape.width)
    return {
        "chunked-loss": (
            loss - anew - accumulated,
            f"the loss's kernels take {loss:.2f} ms; a kernel that reads logits twice and writes"
            f" their gradients takes {anew:.2f}, and the head's gradient is added up three times,"
            f" {accumulated:.2f}",
        ),
        "one-chunk": (accumulated, "the head's gradient is not added up"),
    }


def fixes_after_head(known: Audit, work: Work) -> dict[str, Fix]:
    """Return what problem 8's products in the layers save, by the audit of the step before."""
    products = work.shape.layers * _saved_by_products(known.gpu, work, head=False)
    again = known.ms(lambda row: bool(_GELU_GRADIENT.search(row["operator"])))
    read = known.ms(lambda row: bool(_GELU_SUM.search(row["operator"])))
    return {
        "linears": (
            products + read - again,
            f"the products save {products:.2f} ms under load; as they leave biases to what comes"
            " next, the compiler adds up the bias's gradient from GELU's gradient, computed again"
            f" in {again:.2f} ms, instead of reading that in {read:.2f}",
        )
    }


def fixes_by_times(work: Work, known: Audit) -> dict[str, Fix]:
    """Return what kernels save whose times under load are known, each beside what it replaces."""
    case = next(name for name, each in CASES.items() if each == work)
    beside = _choices(known.gpu)["epilogues"][case]
    apart, fused = (sum(us[kind] for us in beside.values()) / 1e3 for kind in ("apart", "fused"))
    added = known.moving(_ADDED_BYTES * work.states)
    layers = work.shape.layers
    return {
        "head": (
            _saved_by_products(known.gpu, work, head=True),
            "by the times of the head's three products under load",
        ),
        "epilogues": (
            layers * (apart - fused) + added,
            f"five products of each layer take {fused:.3f} ms under load, with what follows them in"
            f" kernels of its own {apart:.3f}; those that add to the residual stream save"
            f" {added:.2f} ms of bytes",
        ),
    }


def _saved_by_products(gpu: str, work: Work, *, head: bool) -> float:
    """Return the ms that the head's products save against torch.mm, or those of a layer."""
    known = _choices(gpu)
    rows = str(work.tokens)
    saved = 0.0
    for key, us in known["us"].items():
        sizes = key.partition(":")[0].split("x")
        of_case = rows in sizes and str(work.shape.width) in sizes
        if of_case and str(3 * work.shape.width) not in sizes and head == (_HEAD_SHAPE in sizes):
            saved += us["torch.mm"] - us[known["choices"][key]]
    return saved / 1e3


def _choices(gpu: str) -> dict[str, Any]:
    """Return what ``under_load.py`` measured on a GPU; ValueError if nothing."""
    known = json.loads(CHOICES.read_text(encoding="utf-8"))
    if gpu not in known:
        raise ValueError(f"{CHOICES.name} has nothing of {gpu}: run under_load.py there first")
    found: dict[str, Any] = known[gpu]
    return found


def fixes_after_linears(known: Audit, work: Work) -> dict[str, Fix]:
    """Return what GELU's kernels save, by the audit of the step before them."""
    kernels = (_GELU, _GELU_GRADIENT, _GELU_SUM)
    now = known.ms(lambda row: any(kernel.search(row["operator"]) for kernel in kernels))
    anew = known.moving(_GELU_BYTES * work.states)
    return {
        "gelu": (
            now - anew,
            f"GELU and its gradients take {now:.2f} ms in three kernels a layer; two that read and"
            f" write each tensor once take {anew:.2f}",
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


AFTER = {
    "compiled": fixes_after_compiled,
    "head": fixes_after_head,
    "linears": fixes_after_linears,
    "gelu": fixes_after_gelu,
}
"""What is predicted from the audit of a step of that name."""


def _is_loss(row: dict[str, Any]) -> bool:
    """Return whether a row is a kernel of the loss, or scales its gradients; not a product."""
    scales = row["path"] == "loss" and row["phase"] == "backward"
    return row["operator"] == "ChunkedLoss" or scales or bool(_LOSS.search(row["operator"]))


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
    parser.add_argument("--of", choices=CASES, help="the case that the audit is of, if another")
    options = parser.parse_args()
    try:
        text = options.audit.read_bytes()
        known = Audit.of(json.loads(text))
    except (OSError, ValueError) as error:  # JSON's errors are ValueErrors
        parser.error(f"{options.audit}: {error}")
    work = CASES[options.case]
    if options.of:
        known = known.scaled(CASES[options.of], work)
    target = Path(__file__).with_name("predictions.json")
    document = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    of_gpu = document.setdefault(known.gpu, {})
    of_case = of_gpu.setdefault(options.case, {"audits": {}, "fixes": {}})
    label = f"{options.of or options.case}.{options.after or 'eager'}"
    of_case["audits"][label] = {
        "sha256": hashlib.sha256(text).hexdigest(),
        "dram_gb_s": known.gb_s,
        "bf16_tflop_s": known.tflop_s,
    }
    try:
        if options.after:
            found = AFTER[options.after](known, work)
        else:
            found = fixes(known, work) | fixes_by_times(work, known)
    except ValueError as error:
        parser.error(str(error))
    of_case["fixes"] |= {
        name: {"saves_ms": round(ms, 3), "because": why} for name, (ms, why) in found.items()
    }
    target.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
