"""transformers on the same requests: one static batch, and its own continuous batching."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import engines
import loads
import serving
import torch
from transformers import (
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)
from workloads.engine.model import Shape, Weights

from harness.probe.cell import Cell
from harness.probe.load.driver import Recording
from harness.probe.load.workload import Request


@dataclass
class Token:
    """What a step of ``generate`` brought."""

    tokens: Sequence[tuple[str, int]]
    ended: Sequence[str] = ()
    record: Mapping[str, float | str] = field(default_factory=dict)


def run(cell: Cell) -> None:
    """Serve the load with transformers."""
    params = cell.params
    with cell.phase("load"):
        made = model(engines.shape(params), params["most_tokens"], cell.device, torch.bfloat16)
    load = loads.requests(params, made.config.vocab_size)
    serve = {"generate": in_one_batch, "generate_batch": continuously}[params["api"]]
    with cell.phase("warmup"):
        serve(made, load if params["api"] == "generate_batch" else serving.short(load))
    with cell.exclusively():
        recording = serve(made, load)
    serving.save(cell, recording, None)


def model(shape: Shape, positions: int, device: str, dtype: torch.dtype) -> PreTrainedModel:
    """Return transformers' model of a shape, with random weights."""
    rope = {"rope_type": "default", "rope_theta": shape.rope_base}
    common: dict[str, Any] = {
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head,
        "rms_norm_eps": shape.eps,
        "rope_parameters": rope,
        "max_position_embeddings": positions,
        "tie_word_embeddings": False,
        "eos_token_id": None,
        "bos_token_id": None,
    }
    with torch.device(device):
        torch.set_default_dtype(dtype)
        try:
            made = _of_experts(shape, common) if shape.experts else _dense(shape, common)
        finally:
            torch.set_default_dtype(torch.float32)
    return made.eval()


def _dense(shape: Shape, common: dict[str, Any]) -> PreTrainedModel:
    return LlamaForCausalLM(LlamaConfig(**common, intermediate_size=shape.hidden))


def _of_experts(shape: Shape, common: dict[str, Any]) -> PreTrainedModel:
    config = Qwen3MoeConfig(
        **common,
        moe_intermediate_size=shape.hidden,
        num_experts=shape.experts,
        num_experts_per_tok=shape.experts_a_token,
        norm_topk_prob=True,
        decoder_sparse_step=1,
    )
    return Qwen3MoeForCausalLM(config)


def copy(weights: Weights, to: PreTrainedModel) -> None:
    """Give transformers' model the engine's weights; the engine's norms are ones."""
    shape, own = weights.shape, to.state_dict()
    own["model.embed_tokens.weight"].copy_(weights.embedding)
    own["lm_head.weight"].copy_(weights.vocabulary)
    kv = shape.kv_heads * shape.head
    for at, layer in enumerate(weights.layers):
        name = f"model.layers.{at}."
        parts = dict(zip("qkv", layer.qkv.split([shape.heads * shape.head, kv, kv]), strict=True))
        for letter, part in parts.items():
            own[f"{name}self_attn.{letter}_proj.weight"].copy_(part)
        own[f"{name}self_attn.o_proj.weight"].copy_(layer.out)
        if layer.router is not None:
            own[f"{name}mlp.gate.weight"].copy_(layer.router)
            own[f"{name}mlp.experts.gate_up_proj"].copy_(layer.gate_up)
            own[f"{name}mlp.experts.down_proj"].copy_(layer.down)
            continue
        gate, up = layer.gate_up.chunk(2)
        own[f"{name}mlp.gate_proj.weight"].copy_(gate)
        own[f"{name}mlp.up_proj.weight"].copy_(up)
        own[f"{name}mlp.down_proj.weight"].copy_(layer.down)


def in_one_batch(made: PreTrainedModel, load: Sequence[Request]) -> Recording:
    """Return what ``generate`` makes of all requests, padded on the left to the longest prompt."""
    recording = Recording(load)
    longest, new = max(len(one.prompt) for one in load), max(one.most_new for one in load)
    ids = torch.tensor([[0] * (longest - len(one.prompt)) + one.prompt for one in load])
    mask = torch.tensor([[0] * (longest - len(one.prompt)) + [1] * len(one.prompt) for one in load])
    start = time.perf_counter_ns()
    steps = _Steps(recording, load, start)
    made.generate(
        ids.to(made.device),
        attention_mask=mask.to(made.device),
        generation_config=_greedy(new, None),
        stopping_criteria=[steps],
    )
    return recording


class _Steps:
    """Notes each step of ``generate``, which asks it whether to stop; it never does."""

    def __init__(self, recording: Recording, load: Sequence[Request], start: int) -> None:
        self._recording, self._load, self._start = recording, load, start
        self._count, self._before = 0, 0

    def __call__(self, ids: torch.Tensor, _scores: object, **_: object) -> torch.Tensor:
        if ids.is_cuda:
            torch.cuda.synchronize()  # the token is there, as for an engine that returns it
        now = time.perf_counter_ns() - self._start
        self._count += 1
        names = [one.name for one in self._load if one.most_new >= self._count]
        ended = [one.name for one in self._load if one.most_new == self._count]
        kind = "prefill" if self._count == 1 else "decode"
        prompts = (
            sum(len(one.prompt) for one in self._load) if self._count == 1 else len(self._load)
        )
        record = {"kind": kind, "requests": len(self._load), "tokens": prompts}
        self._recording.add(Token([(name, 0) for name in names], ended, record), self._before, now)
        self._before = now
        return torch.zeros(len(ids), dtype=torch.bool, device=ids.device)


def continuously(made: PreTrainedModel, load: Sequence[Request]) -> Recording:
    """Return what ``generate_batch`` makes of the requests, as it is without further settings.

    Its manager stays, so a second call neither allocates a cache nor captures graphs.
    """
    recording = Recording(load)
    start = time.perf_counter()
    outputs = made.generate_batch(
        inputs=[one.prompt for one in load],
        generation_config=_greedy(max(one.most_new for one in load), -1),
        record_timestamps=True,
        persistent_manager=True,
    )
    if len(outputs) != len(load):
        raise SystemExit(f"generate_batch ended {len(outputs)} of {len(load)} requests")
    for life, output in zip(recording.lives.values(), outputs.values(), strict=True):
        times = [round((time - start) * 1e9) for time in output.timestamps]
        life.tokens, life.ended = times, times[-1]
        recording.end_ns = max(recording.end_ns, times[-1])
    return recording


def _greedy(new: int, end: int | None) -> GenerationConfig:
    """Return the settings of ``new`` greedy tokens; ``end`` is no token, or none at all."""
    return GenerationConfig(max_new_tokens=new, do_sample=False, eos_token_id=end, pad_token_id=0)
