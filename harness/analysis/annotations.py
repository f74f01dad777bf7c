"""What serving engines' annotations say of a step: how many requests and tokens, and which mode.

Each engine writes the batch into the name of a range around its forward pass. To know another one,
add a line to _PATTERNS, and to _POSSIBLE how it begins.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import polars as pl

Mode = Literal["prefill", "decode", "mixed"]


@dataclass(frozen=True)
class Batch:
    """The batch of one step: ``requests`` in all, and the ``tokens`` that it computes.

    ``tokens`` is None where the engine does not say it.
    """

    mode: Mode
    requests: int
    tokens: int | None


@dataclass(frozen=True)
class Lengths:
    """The sums over a step's requests of the tokens attended to, and of pairs of a query and one.

    A query sees the tokens before it and itself.
    """

    attended: int
    pairs: int


_Groups = dict[str, str | None]
_MODES: dict[str, Mode] = {
    "EXTEND": "prefill",
    "prefill": "prefill",
    "DECODE": "decode",
    "decode": "decode",
    "TARGET_VERIFY": "decode",
    "MIXED": "mixed",
}


def _by_phase(groups: _Groups) -> Batch | None:
    """Return the batch of an engine that counts the requests of prefill and of decode."""
    prefill, decode = int(groups["prefill"] or 0), int(groups["decode"] or 0)
    mode: Mode = "mixed" if prefill and decode else "prefill" if prefill else "decode"
    tokens = [groups.get(f"{phase}_tokens") for phase in ("prefill", "decode")]
    known = [int(each) for each in tokens if each is not None]
    return Batch(mode, prefill + decode, sum(known) if len(known) == len(tokens) else None)


def _one_token_each(groups: _Groups) -> Batch | None:
    """Return the batch of an engine that says no tokens of decode: one a request."""
    return _by_phase(groups | {"decode_tokens": groups["decode"]})


def _by_mode(groups: _Groups) -> Batch | None:
    """Return the batch of an engine that names the mode of the whole step; None if idle."""
    mode, requests = _MODES.get(groups["mode"] or ""), int(groups["requests"] or 0)
    if mode is None:
        return None
    tokens = groups["tokens"] or groups.get("decode_tokens")
    if tokens is None and groups["mode"] == "DECODE":
        tokens = groups["requests"]
    return Batch(mode, requests, None if tokens is None else int(tokens))


_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[_Groups], Batch | None]], ...] = (
    # vLLM, vllm/v1/worker/gpu_worker.py: Worker.annotate_profile; the second form is that of
    # detailed_trace_annotation, where sq are the tokens computed and sk those attended to.
    (
        re.compile(
            r"execute_context_(?P<prefill>\d{1,9})\((?P<prefill_tokens>\d{1,9})\)"
            r"_generation_(?P<decode>\d{1,9})\((?P<decode_tokens>\d{1,9})\)$"
        ),
        _by_phase,
    ),
    (
        re.compile(
            r"execute_\d+_context_(?P<prefill>\d{1,9})\(sq(?P<prefill_tokens>\d{1,9})sk\w*\)"
            r"_generation_(?P<decode>\d{1,9})\(sq(?P<decode_tokens>\d{1,9})sk\w*\)$"
        ),
        _by_phase,
    ),
    # The same function in 2025: new requests, and those that go on, most of which decode.
    (re.compile(r"execute_new_(?P<prefill>\d{1,9})_cached_(?P<decode>\d{1,9})$"), _by_phase),
    # SGLang, python/sglang/srt/model_executor/model_runner.py: _build_step_span_name; g_sq are the
    # tokens of a decode that checks several drafts a request.
    (
        re.compile(
            r"step\[(?P<mode>[A-Z_]+) bs=(?P<requests>\d{1,9})(?: toks=(?P<tokens>\d{1,9}))?"
            r"(?: (?:g_sq=(?P<decode_tokens>\d{1,9})|\w+=\d+))*\]$"
        ),
        _by_mode,
    ),
    # NVIDIA/TensorRT-LLM, tensorrt_llm/_torch/pyexecutor/py_executor.py: PyExecutor._forward_step.
    (
        re.compile(
            r"(?:\[Executor\] )?_forward_step(?: \d+)?: (?P<prefill>\d{1,9}) ctx reqs,"
            r"(?: (?P<prefill_tokens>\d{1,9}) ctx tokens,)? (?P<decode>\d{1,9}) gen reqs$"
        ),
        lambda groups: _one_token_each(
            groups if groups["prefill"] != "0" else groups | {"prefill_tokens": "0"}
        ),
    ),
    # ROCm/ATOM, as AMD-AGI/TraceLens reads it: bs=117/128 is a batch of 117 in a graph of 128.
    (
        re.compile(
            r"(?P<mode>prefill|decode)\[bs=(?P<requests>\d{1,9})(?:/\d+)?"
            r" tok=(?P<tokens>\d{1,9})\b.*\]$"
        ),
        _by_mode,
    ),
)
_POSSIBLE = r"^(?:execute_|step\[|\[Executor\] |_forward_step|prefill\[|decode\[)"
"""What all of these begin with: most ranges of a timeline need no closer look."""
_CAPTURE = re.compile(r"capture_\d+_\w+$")
"""Around the capture of a graph, ``capture_32_DECODE``: with the batch size and what it is for."""


def batch(name: str) -> Batch | None:
    """Return the batch that the name of a range states; None if it is no engine's annotation."""
    for pattern, made in _PATTERNS:
        if match := pattern.match(name):
            found = made(match.groupdict())
            return found if found and found.requests else None
    return None


_SUMS = re.compile(r"(?<![a-z])sq(\d{1,9})sk(\d{1,12})sqsq(\d{1,18})sqsk(\d{1,18})(?!\d)")
_SUMS_OF_SGLANG = re.compile(r"(?<= )g_(sq|sk|sqsq|sqsk)=(\d{1,18})(?=[ \]])")


def lengths(name: str) -> Lengths | None:
    """Return the lengths that vLLM's detailed annotation states, or SGLang's of a decode.

    They are sums over requests, of the queries sq, of the tokens sk, of sq² and of sq × sk: of a
    request's pairs sq (sq - 1) / 2 are of a query and a later one.
    """
    if batch(name) is None:
        return None
    sums = [tuple(map(int, each)) for each in _SUMS.findall(name)]
    stated = {key: int(value) for key, value in _SUMS_OF_SGLANG.findall(name)}
    if len(stated) == len(_LENGTHS) and "DECODE" in name:
        sums = [tuple(stated[key] for key in _LENGTHS)]
    if not sums:
        return None
    pairs = sum(sqsk - (sqsq - sq) // 2 for sq, _, sqsq, sqsk in sums)
    return Lengths(sum(sk for _, sk, _, _ in sums), max(pairs, 0))


_LENGTHS = ("sq", "sk", "sqsq", "sqsk")


def batches(names: pl.Series) -> dict[str, Batch]:
    """Return the batches that some of these names of ranges say, by name."""
    possible = names.drop_nulls().cast(pl.String).unique()
    found = {name: batch(name) for name in possible.filter(possible.str.contains(_POSSIBLE))}
    return {name: each for name, each in found.items() if each is not None}


def is_capture(name: str) -> bool:
    """Return whether a range marks the capture of a graph, and no place in the model."""
    return _CAPTURE.match(name) is not None
