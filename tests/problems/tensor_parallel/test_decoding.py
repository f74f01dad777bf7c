"""Two processes with gloo on a CPU: the sharded stack computes what the whole one does."""

import subprocess

import pytest

from tests.support.paths import ROOT
from tests.support.tensor_parallel import FOLDER
from tests.support.torch_cpu import PYTHON, needs_torch

CODE = """
import tempfile
import torch
from checking import check, output
from in_turn import turns
from operations import Plain
from pair import Pair
from ranks import Second
from sharding import SHAPES, part, whole

PARAMS = {"model": "llama-tiny", "layers": 3, "batch": 5, "context": 16, "turns": 4}

class Cell:
    params = PARAMS
    facts = {}
    def fact(self, name, value, unit=""):
        self.facts[name] = value

def whole_again():
    shape = SHAPES["llama-tiny"]
    layer = whole(shape, 0, 5, 16, "cpu")
    both = [part(layer, shape, rank, 2) for rank in (0, 1)]
    assert torch.equal(torch.cat([each.out for each in both], 1), layer.out)
    assert torch.equal(torch.cat([each.down for each in both], 1), layer.down)
    assert torch.equal(torch.cat([each.keys for each in both], 1), layer.keys)
    rows = [each.gate_up.chunk(2) for each in both]
    gate, up = (torch.cat([row[half] for row in rows]) for half in (0, 1))
    assert torch.equal(torch.cat([gate, up]), layer.gate_up)
    x = torch.randn(5, shape.width, dtype=torch.bfloat16)
    heads = (x @ layer.qkv.t()).view(5, -1, shape.head)
    mine = (x @ both[1].qkv.t()).view(5, -1, shape.head)
    torch.testing.assert_close(mine[:, :4], heads[:, 4:8], rtol=0.02, atol=0.01)
    torch.testing.assert_close(mine[:, 4], heads[:, 9], rtol=0.02, atol=0.01)
    torch.testing.assert_close(mine[:, 5], heads[:, 11], rtol=0.02, atol=0.01)
    a, b = torch.zeros(5, 8), torch.zeros(5, 8)
    partial, weight = torch.randn(5, 8), torch.randn(8)
    pieces = torch.stack(partial.chunk(2, 1))
    assert torch.equal(Plain().add_norm(partial, a, weight), Plain().add_norm(pieces, b, weight))
    assert torch.equal(a, b)

torch.set_num_threads(1)
whole_again()
with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
    pair = Pair(Second(PARAMS, folder + "/meeting"), "cpu")
    pair.both("load")
    for name, kind in {"nccl": "nccl", "overlap": "overlap", "alone": "alone"}.items():
        pair.both("begin", name, kind, True)
    for name in ("nccl", "overlap"):
        check(Cell(), pair, name)
        assert Cell.facts[f"error.{name}"] < 0.01, Cell.facts
        assert 0.9 < Cell.facts[f"error_over_nccl.{name}"] < 1.1, Cell.facts
    summed, alone = output(pair, "nccl", 1), output(pair, "alone", 1)
    assert not torch.allclose(summed, alone, atol=0.1)  # an exchange that sums nothing shows
    assert pair.both("differing", "alone") > 0
    taken = turns(Cell(), {name: (lambda: float(pair.go("step", "nccl").sum())) for name in "ab"})
    assert {name: len(values) for name, values in taken.items()} == {"a": 4, "b": 4}
    pair.end()
    pair.join()
"""


@pytest.mark.slow
@needs_torch
def test_two_ranks_compute_what_the_whole_stack_does() -> None:
    done = subprocess.run(
        [str(PYTHON), "-c", CODE],
        cwd=FOLDER,
        env={
            "PYTHONPATH": f"{ROOT}:{ROOT / 'problems'}:{FOLDER}",
            "PATH": "/usr/bin:/bin",
            "OMP_NUM_THREADS": "1",  # the other cores run other tests
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
