"""A warm-up meets every form of every Triton kernel that a load asks for, by Triton's own key."""

import pytest

from tests.support import torch_cpu

CODE = '''
import random, sys

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime.jit import JITFunction, create_function_from_signature
from workloads.engine import kernels
from workloads.engine.capture import warm
from workloads.engine.model import SHAPES, random_weights
from workloads.engine.options import Options
from workloads.engine.runner import Runner
from workloads.engine.serve import build

forms = set()


class Noted:
    """Notes what Triton would compile for a launch, and computes nothing."""

    def __init__(self, name, kernel):
        backend = make_backend(GPUTarget("cuda", 90, 32))
        self.name = name
        self.key = create_function_from_signature(kernel.signature, kernel.params, backend)

    def __getitem__(self, grid):
        def launch(*args, **options):
            _, key, options = self.key(*args, **options)
            forms.add((self.name, str(key), str(sorted(options.items()))))
        return launch


for name, kernel in list(vars(kernels).items()):
    if isinstance(kernel, JITFunction):
        setattr(kernels, name, Noted(name, kernel))


def drawn(count, random_):
    return [
        ([random_.randrange(500) for _ in range(random_.randint(1, 150))], random_.randint(1, 40))
        for _ in range(count)
    ]


def serve(runner, options, requests, every):
    """Serve requests that come one after the other, a step or more apart."""
    engine, sent = build(runner, options, 2000), 0
    while engine.busy or sent < len(requests):
        for _ in range(every()):
            if sent < len(requests):
                engine.submit(str(sent), *requests[sent])
                sent += 1
        if engine.busy:
            engine.step()


shape = SHAPES[sys.argv[1]]
weights = random_weights(shape, 512, "cpu")
switches = dict(ahead=False, most_running=40, graph_batches=())
ladder = {
    "whole": dict(switches, chunked=False, token_budget=512),
    "chunked": dict(switches, token_budget=512),
    "ahead": dict(switches, token_budget=64, ahead=True),
}
for rung, switches in ladder.items():
    options = Options(**switches)
    with torch.inference_mode():
        runner = Runner(weights, options, 2000, 512)
        runner.model.kernels = kernels
        forms.clear()
        warm(runner)
        warmed = set(forms)
        random_ = random.Random(2)
        serve(runner, options, drawn(200, random_), lambda: random_.choice([0, 0, 1, 3]))
    assert {name for name, *_ in warmed} >= {"_norm", "_rotate_and_store"}
    assert forms == warmed, (rung, sorted(forms - warmed))
'''


@pytest.mark.parametrize("shape", ["llama-tiny", "qwen3-moe-tiny"])
def test_no_kernel_is_compiled_within_a_load(shape: str) -> None:
    torch_cpu.run(CODE, shape)
