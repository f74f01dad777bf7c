"""The engine on a CPU: each rung of its ladder says what the model says of all tokens at once."""

import pytest

from tests.support import torch_cpu
from tests.support.torch_cpu import needs_torch

CODE = '''
import random, sys

import torch
import torch.nn.functional as F
from workloads.engine.model import SHAPES, random_weights
from workloads.engine.options import Options
from workloads.engine.pack import Form, padding
from workloads.engine.runner import PROMPTS, Runner
from workloads.engine.serve import build

name = sys.argv[1]
shape = SHAPES[name]
weights = random_weights(shape, 256, "cpu", torch.float32)
for layer in weights.layers:  # larger than a model's are drawn: the layers decide the token
    for matrix in (layer.qkv, layer.out, layer.gate_up, layer.down):
        matrix.mul_(5)


def rms(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + shape.eps)


def turned(x):
    """Rotary embedding by complex numbers, [tokens, heads, head]."""
    half = shape.head // 2
    angle = torch.outer(torch.arange(len(x)), shape.rope_base ** (-torch.arange(half) / half))
    turn = torch.polar(torch.ones_like(angle), angle)[:, None]
    z = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous()) * turn
    return torch.cat([z.real, z.imag], -1)


def fed(x, layer):
    if layer.router is None:
        gate, up = (x @ layer.gate_up.T).chunk(2, -1)
        return (F.silu(gate) * up) @ layer.down.T
    out = torch.zeros_like(x)
    share, chosen = (x @ layer.router.T).softmax(-1).topk(shape.experts_a_token)
    for token in range(len(x)):
        for part, expert in zip(share[token] / share[token].sum(), chosen[token]):
            gate, up = (layer.gate_up[expert] @ x[token]).chunk(2)
            out[token] += part * (layer.down[expert] @ (F.silu(gate) * up))
    return out


def next_token(tokens):
    """Return the likeliest token after ``tokens``, computed whole, without a cache."""
    x = weights.embedding[torch.tensor(tokens)]
    for layer in weights.layers:
        heads = (rms(x) @ layer.qkv.T).view(len(x), -1, shape.head)
        q, k, v = heads.split([shape.heads, shape.kv_heads, shape.kv_heads], 1)
        if layer.head_norms:
            q, k = rms(q) * layer.head_norms[0], rms(k) * layer.head_norms[1]
        times = shape.heads // shape.kv_heads
        k, v = turned(k).repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        scores = torch.einsum("qhd,khd->hqk", turned(q), k) / shape.head**0.5
        scores = scores.masked_fill(torch.ones(len(x), len(x)).triu(1).bool(), -torch.inf)
        y = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v)
        x = x + y.reshape(len(x), -1) @ layer.out.T
        x = x + fed(rms(x), layer)
    return int((rms(x[-1]) @ weights.vocabulary.T).argmax())


random_ = random.Random(1)
shared = [random_.randrange(shape.vocabulary) for _ in range(20)]
lengths = [random_.randint(1, 40) for _ in range(12)]
prompts = [[random_.randrange(shape.vocabulary) for _ in range(length)] for length in lengths]
prompts[4:8] = [shared + prompt for prompt in prompts[4:8]]
new = [random_.randint(1, 8) for _ in prompts]
wanted = {}
for at, prompt in enumerate(prompts):
    tokens = list(prompt)
    for _ in range(new[at]):
        tokens.append(next_token(tokens))
    wanted[str(at)] = tokens[len(prompt) :]

bare = dict(ahead=False, reuse_prefixes=False, block=4, most_running=6)
ladder = {
    "static": dict(bare, batching="static", reservation="whole", chunked=False),
    "whole": dict(bare, reservation="whole", chunked=False),
    "paged": dict(bare, chunked=False),
    "chunked": dict(bare, token_budget=16),
    "ahead": dict(bare, token_budget=16, ahead=True),
    "captured": dict(bare, token_budget=16, ahead=True),
    "prefixes": dict(bare, token_budget=16, ahead=True, reuse_prefixes=True),
    "preempted": dict(bare, token_budget=16, ahead=True, blocks=24),
    "offload": dict(bare, token_budget=16, ahead=True, blocks=24, offload=True),
}


class Replayed:
    """A CUDA graph's part: the same inputs and tokens each time."""

    def __init__(self, runner, form):
        self.form, self.fused, self.graph = form, {}, self
        self.inputs = torch.from_numpy(padding(form))
        self.tokens = torch.zeros(form.rows, dtype=torch.int32)
        self.made = lambda: runner.sample(runner.inputs(self.inputs, form))
        self.times = 0

    def replay(self):
        self.tokens.copy_(self.made())
        self.times += 1


for rung, switches in ladder.items():
    blocks = switches.pop("blocks", 200)
    options = Options(**switches)
    with torch.inference_mode():
        runner = Runner(weights, options, blocks, 128, 40)
        if rung == "captured":
            for rows in (2, 8):
                runner.graphs[rows] = Replayed(runner, Form(rows, rows, rows, 0))
                runner.mixed[rows] = Replayed(runner, Form(rows + PROMPTS, 16, rows, 16))
        engine = build(runner, options, blocks, 40)
        for at, prompt in enumerate(prompts):
            engine.submit(str(at), prompt, new[at])
        engine.submit("given up", prompts[0], 50)
        got, steps, preempted = {name: [] for name in wanted}, 0, 0
        while engine.busy:
            stepped = engine.step()
            steps, preempted = steps + 1, preempted + stepped.record["preempted"]
            for name, token in stepped.tokens:
                got.get(name, []).append(token)
            if steps == 5:
                engine.cancel("given up")
    assert got == wanted, (rung, got, wanted)
    assert all(one.times for graphs in (runner.graphs, runner.mixed) for one in graphs.values())
    assert engine.scheduler.blocks.free == blocks, rung
    assert (preempted > 0) == (blocks == 24), (rung, preempted)
'''


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("shape", ["llama-tiny", "qwen3-moe-tiny"])
def test_every_rung_says_what_the_model_says(shape: str) -> None:
    torch_cpu.run(CODE, shape)
