"""vLLM and SGLang on the same requests, each in the image of its environment.

Both get the shape as a model's folder without weights and draw these themselves.
"""

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engines
import loads
import serving
from workloads.engine.model import Shape

from harness.probe.cell import Cell
from harness.probe.load.driver import Recording, drive
from harness.probe.load.workload import Request

MEMORY = 0.6
"""Of the GPU's memory: weights, and a cache that holds more tokens than any load here."""


def run(cell: Cell) -> None:
    """Serve the load with the variant's engine."""
    params = cell.params
    os.environ["HF_HUB_OFFLINE"] = "1"
    shape = engines.shape(params)
    load = loads.requests(params, shape.vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        describe(shape, params["most_tokens"], Path(folder))
        with cell.phase("load"):
            made = {"vllm": VLLM, "sglang": SGLang}[params["engine"]](folder, params)
        with cell.phase("warmup"):
            made.serve(serving.short(load))
        with cell.exclusively():
            recording = made.serve(load)
    serving.save(cell, recording, None)


def describe(shape: Shape, positions: int, folder: Path) -> None:
    """Write the configuration of a dense model to a folder."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.width,
        "intermediate_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head,
        "hidden_act": "silu",
        "rms_norm_eps": shape.eps,
        "rope_theta": shape.rope_base,
        "max_position_embeddings": positions,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


@dataclass
class Step:
    """What a step of vLLM brought."""

    tokens: list[tuple[str, int]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    record: Mapping[str, float | str] = field(default_factory=dict)


class VLLM:
    """vLLM's engine, driven step by step."""

    def __init__(self, folder: str, params: Mapping[str, Any]) -> None:
        from vllm import EngineArgs, LLMEngine

        self._engine = LLMEngine.from_engine_args(
            EngineArgs(
                model=folder,
                load_format="dummy",
                skip_tokenizer_init=True,
                dtype="bfloat16",
                max_model_len=params["most_tokens"],
                gpu_memory_utilization=MEMORY,
                enable_prefix_caching=False,
            )
        )
        self._made: dict[str, int] = {}
        self._loads = 0

    def serve(self, load: Sequence[Request]) -> Recording:
        """Return what came of the requests."""
        self._loads += 1
        return drive(self, load)

    def submit(self, name: str, prompt: Sequence[int], most_new: int) -> None:
        """Let a request wait for its turn."""
        from vllm import SamplingParams, TokensPrompt

        settings = SamplingParams(
            temperature=0, max_tokens=most_new, ignore_eos=True, detokenize=False
        )
        self._made[name] = 0
        self._engine.add_request(
            f"{self._loads}:{name}", TokensPrompt(prompt_token_ids=list(prompt)), settings
        )

    def step(self) -> Step:
        """Make a step."""
        step = Step()
        for output in self._engine.step():
            name = output.request_id.partition(":")[2]
            made = output.outputs[0].token_ids
            step.tokens += [(name, int(token)) for token in made[self._made[name] :]]
            self._made[name] = len(made)
            if output.finished:
                step.ended.append(name)
        return step


class SGLang:
    """SGLang's engine, which makes its steps by itself."""

    def __init__(self, folder: str, params: Mapping[str, Any]) -> None:
        import sglang

        self._engine = sglang.Engine(
            model_path=folder,
            load_format="dummy",
            skip_tokenizer_init=True,
            dtype="bfloat16",
            context_length=params["most_tokens"],
            mem_fraction_static=MEMORY,
            disable_radix_cache=True,
        )

    def serve(self, load: Sequence[Request]) -> Recording:
        """Return what came of the requests."""
        recording = Recording(load)
        start = time.perf_counter_ns()
        loop = asyncio.get_event_loop()
        loop.run_until_complete(self._all(recording, start))
        recording.end_ns = time.perf_counter_ns() - start
        return recording

    async def _all(self, recording: Recording, start: int) -> None:
        await asyncio.gather(*(self._one(recording, name, start) for name in recording.lives))

    async def _one(self, recording: Recording, name: str, start: int) -> None:
        """Send a request when it is due, and note when each of its tokens came."""
        life = recording.lives[name]
        request = life.request
        await asyncio.sleep((start + request.due_ns - time.perf_counter_ns()) / 1e9)
        settings = {"temperature": 0, "max_new_tokens": request.most_new, "ignore_eos": True}
        stream = await self._engine.async_generate(
            input_ids=request.prompt, sampling_params=settings, stream=True
        )
        async for chunk in stream:
            now = time.perf_counter_ns() - start
            count = chunk["meta_info"]["completion_tokens"] - len(life.tokens)
            life.tokens.extend([now] * count)
        life.ended = life.tokens[-1]
