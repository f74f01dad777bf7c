"""Two and four processes of a CPU: each way is the unsplit model, and a muted one is not."""

import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.split_study import FOLDER
from tests.support.torch_cpu import PYTHON, needs_torch

CODE = """
import os
import sys
from contextlib import contextmanager
import link
import torch
from checking import Expected, WrongStepError, check
from counted import ops_of
from expert_ways import imbalance, waits_ms
from link import CHAIN, GRAPH_KINDS, HIDDEN_KINDS, Link, chained_us, loss_of, measured
from team import Follower, Team
from way import UnfitError
from ways import WAYS
from work import Work
from world import World

torch.set_num_threads(1)

def expect_wrong(params, world, name, work):
    work = Work.of(params | work, world.device)
    expected = Expected.of(work)
    with torch.set_grad_enabled(work.trains):
        way = WAYS[name](work, world, world.mesh)
        assert check(way, expected, world) < 1e-5, name
        try:
            check(WAYS[name](work, world, world.muted), expected, world)
        except WrongStepError:
            return
    raise AssertionError(f"{name}: muted it is right, too")

def rows_of_both(params, world, work):
    # Muted, a rank computes as many rows as come to it: the unsplit model's router told how many.
    work = Work.of(params | work, world.device)
    split, alone = (WAYS["experts"](work, world, mesh) for mesh in (world.mesh, world.muted))
    for way in (split, alone):
        with torch.set_grad_enabled(work.trains):
            way.step()
    came, first = ([block.feed.came for block in way.parts[0][0].blocks] for way in (split, alone))
    assert came[0] == first[0] and sum(came) == sum(first), (came, first)
    assert waits_ms(alone, world) > -1e-6
    return imbalance(split, world)

def run(cell, world, seed):
    params = cell.params
    prefill = {"work": "prefill", "model": "llama-tiny", "batch": 1, "tokens": 64}
    for name in ("tensor", "sequence", "sequence-async", "ring", "ulysses"):
        expect_wrong(params, world, name, prefill)
    mixture = prefill | {"model": "mixtral-tiny", "batch": 4}
    over = []
    for skew in (0, 1):
        for name in ("tensor", "experts"):
            expect_wrong(params, world, name, mixture | {"skew": skew})
        over.append(rows_of_both(params, world, mixture | {"skew": skew}))
    assert 1 <= over[0] and 1.15 * over[0] < over[1], over
    with torch.enable_grad():
        rows_of_both(params, world, mixture | {"work": "train"})
    for name in ("data", "experts", "fsdp"):
        expect_wrong(params, world, name, mixture | {"work": "train"})
    train = {"work": "train", "model": "llama-tiny", "batch": 8, "tokens": 8, "microbatches": 4}
    for name in ("data", "fsdp", "1f1b", "zero"):
        expect_wrong(params, world, name, train)
    odd = Work.of(params | prefill | {"tokens": 66}, world.device)
    try:
        WAYS["ring"](odd, world, world.mesh)
    except UnfitError as error:
        assert "66 tokens" in str(error)
    else:
        raise AssertionError("66 tokens were split")
    last = world.size - 1
    # Two collectives, in which the first and the last rank send most: each takes the most.
    assert study.slowest_us(world, [float(world.rank), float(last - world.rank)]) == 2 * last
    assert study.slowest_us(world, [1.0] * (1 + world.rank)) == world.size
    known = measured(world, [1024, 8192], [1024, 4096])
    # On a CPU the collective comes before the product, so that it loses all of its time.
    assert set(known.losses) == set(HIDDEN_KINDS) and min(known.losses.values()) >= 0
    tables = (known.measured, known.in_graph)
    assert all(us > 0 for table in tables for points in table.values() for _, us in points)
    assert {kind: [size for size, _ in at] for kind, at in known.in_graph.items()} == {
        "all-reduce": [1024, 4096]  # a CPU has no symmetric memory
    }
    decode = {"work": "decode", "batch": 4, "tokens": 1, "context": 8}
    for model in ("llama-tiny", "mixtral-tiny"):
        work = Work.of(params | decode | {"model": model}, world.device)
        with torch.no_grad():
            ops = ops_of(WAYS["tensor"](work, world, world.mesh).step, world.size)
        assert ops and {kind for kind, _ in ops} <= set(GRAPH_KINDS)

lines = Link({"send": [(100.0, 10.0), (400.0, 20.0), (1600.0, 80.0)]})
assert [round(lines.us("send", size), 6) for size in (1, 100, 200, 400, 800)] == [
    10, 10, round(10 * 2**0.5, 6), 20, 40
]
assert round(lines.us("send", 6400), 6) == 320  # beyond the last: on the last line
assert lines.gb_s == 1600 / 80 / 1e3
assert round(lines.us("send", 1600), 6) == 80

both = Link(
    {"send": [(1.0, 2.0), (2.0, 3.0)], "all-reduce": [(1.0, 30.0), (2.0, 40.0)]},
    {"all-reduce": [(1.0, 5.0), (2.0, 6.0)]},
)
assert [both.us("all-reduce", 1, is_graph=is_graph) for is_graph in (False, True)] == [30, 5]
assert both.us("send", 1, is_graph=True) == 2  # as launched: no graph was measured with it
assert [both.us("one-shot", 1, is_graph=is_graph) for is_graph in (False, True)] == [30, 5]
both.in_graph["one-shot"] = [(1.0, 4.0), (2.0, 4.5)]
assert [both.us(kind, 1, is_graph=True) for kind in GRAPH_KINDS] == [5, 4]

class Clock:
    # A call takes 10 µs, a replay as many calls as its step makes.
    calls = 0

    def captured(self, step):
        return step

    def timed(self, step, count):
        before = self.calls
        for _ in range(count):
            step()
        return (self.calls - before) * 0.01 / count

    def call(self):
        self.calls += 1

class Beside:
    # A product takes 5 ms, a collective 2; 3 of a product beside one are its own and 0.6 are lost.
    device, size, inside = "cpu", 2, False

    @contextmanager
    def beside(self, call):
        self.inside = True
        yield

    def timed(self, step, count):
        self.inside = False
        step()
        return 5.6 if self.inside else 2.0 if step is COLLECTIVE else 5.0

COLLECTIVE = lambda: None
link.collective, usual = lambda kind, size, world: COLLECTIVE, link.collective
assert round(loss_of("send", 1024, Beside()), 6) == 0.3
link.collective = usual
taken = (("send", 1.0), ("all-gather", 3.0), ("uneven", 9.0))
mixed = Link({kind: [(1.0, us)] for kind, us in taken}, losses={"send": 0.8, "all-gather": 0.4})
assert round(mixed.loss([("send", 1), ("all-gather", 1), ("uneven", 1)]), 6) == 0.5
assert mixed.loss([("uneven", 1)]) == 0.0

clock = Clock()
assert round(chained_us(clock.call, clock), 6) == 10
assert clock.calls % CHAIN == 0

import study
facts = {}

class Kept:
    def fact(self, name, value, unit):
        facts[name] = value

def skewed(over, ms):
    tensor = study.Outcome(72.0, 73.0, 1.0)
    return {"tensor": tensor, "experts": study.Outcome(ms, ms, 1.0, imbalance=over)}

study.state_skews(Kept(), [])
assert not facts
study.state_skews(Kept(), [skewed(1.0, 70.0), skewed(1.5, 90.0)])
assert 1 < facts["skew_crossover_measured"] < facts["skew_crossover_predicted"] < 1.5
study.run = run
params, meeting, rank = {"ranks": int(sys.argv[1]), "layers": 8}, sys.argv[2], int(sys.argv[3])
world = World(rank, params["ranks"], "cpu", meeting)
run(Follower(params), world, 0)
world.close()
# A thread of gloo may still let go of the last collective: an interpreter that ends aborts it.
os._exit(0)
"""


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_split_model_is_the_whole_one_only_if_its_ranks_communicate(
    tmp_path: Path, ranks: int
) -> None:
    started = [
        subprocess.Popen(
            [str(PYTHON), "-c", CODE, str(ranks), str(tmp_path / "meeting"), str(rank)],
            cwd=FOLDER,
            env={
                "PYTHONPATH": f"{ROOT}:{FOLDER}",
                "PATH": "/usr/bin:/bin",
                "OMP_NUM_THREADS": "1",
            },
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    told = [process.communicate(timeout=300)[1] for process in started]
    assert [process.returncode for process in started] == [0] * ranks, "\n".join(told)
