"""Without a GPU: launches have the arguments that kernels take; cells state what they should."""

import subprocess

import pytest

from harness.problem.model import Problem
from tests.support.paths import ROOT
from tests.support.tensor_parallel import FOLDER
from tests.support.torch_cpu import PYTHON, needs_torch

PLAYED = """
import ctypes
import re
import torch
import driver

launched = {}

def signature(file, name):
    text = re.sub(r"//.*", "", (driver.KERNELS / f"{file}.cu").read_text())
    text = re.sub(r"#ifdef FUSED\\n(.*?)#else\\n(.*?)#endif\\n", CHOSEN, text, flags=re.S)
    found = re.search(rf"\\b{name}\\(([^)]*)\\)", text)[1]
    return ["pointer" if "*" in one else one.split()[-2] for one in found.split(",")]

CHOSEN = r"\\2"

class Kernel:
    def __init__(self, file, name, *defined):
        global CHOSEN
        CHOSEN = r"\\1" if defined else r"\\2"
        self.name, self.takes = name, signature(file, name)
    def __call__(self, grid, threads, arguments):
        kinds = {int: "int", float: "float"}
        given = [kinds.get(type(one), "pointer") for one in arguments]
        assert given == self.takes, (self.name, given, self.takes)
        assert all(isinstance(size, int) and size > 0 for size in (*grid, threads))
        assert all(one.is_contiguous() for one in arguments if isinstance(one, torch.Tensor))
        launched[self.name] = grid

def on_cpu(make):
    return lambda *sizes, **named: make(*sizes, **(named | {"device": "cpu"}))

driver.Kernel = Kernel
torch.zeros, torch.empty = on_cpu(torch.zeros), on_cpu(torch.empty)

class Arena:
    rank, used = 1, 0
    def take(self, size):
        from peer import Place
        self.used += size
        return Place(ctypes.c_void_p(1), ctypes.c_void_p(2))
"""

LAUNCHES = """
import torch.nn.functional as F
from exchange import made
from link import Link
from operations import NORM_WIDTH, Fused
from peer import PeerReduce
from sharding import Layer
from straggler import Straggler

operations = Fused()
rows, heads, kv, head = 3, 32, 4, 128
blank = lambda *sizes: torch.zeros(sizes, dtype=torch.bfloat16)
cache = blank(rows, kv, 16, head)
layer = Layer(*[blank(1)] * 6, cache, cache.clone())
qkv = blank(rows, (heads + 2 * kv) * head)
queries = operations.rope_store(qkv, layer, torch.zeros(64, 2), 15)
assert queries.shape == (rows, kv, heads // kv, head)
seen = F.scaled_dot_product_attention(queries, cache, cache).flatten(1)
assert seen.shape == (rows, heads * head)
assert launched["rope_store"] == (heads + 2 * kv, rows)
assert operations.swiglu(blank(rows, 2 * 14336)).shape == (rows, 14336)
local, weight = blank(rows, 64), blank(NORM_WIDTH, 64)
for kind in ("alone", "one-shot", "two-shot", "packed", "fused"):
    arena = Arena()
    exchange = made(kind, operations, rows, NORM_WIDTH, lambda: arena)
    normed = exchange(local, weight, blank(rows, NORM_WIDTH), blank(NORM_WIDTH))
    assert normed.shape == (rows, NORM_WIDTH)
assert launched["one_shot_all_reduce_add_norm"] == (8 * rows,) == launched["add_norm"]
flags = 4 * 8 * rows
assert arena.used == 2 * 2 * rows * NORM_WIDTH * 2 + flags  # two slots, twice the bytes of bf16
arena = Arena()
made("fused", operations, 64, NORM_WIDTH, lambda: arena)
assert arena.used == 2 * 64 * NORM_WIDTH * 2 + 4 * 8 * 64  # plain words
for size in (1 << 10, 16 << 20):
    for kind in ("one-shot", "two-shot", "packed"):
        PeerReduce(kind, size, Arena())(blank(size // 2))
assert all(launched[name][0] <= 128 for name in launched if name.endswith("all_reduce"))
import any_ranks
from sweep import OWN, any_batches

any_ranks.torch.cuda.can_device_access_peer = lambda *ranks: True
any_ranks.allocate = any_ranks.opened = lambda given: 0
any_ranks.handle_of = lambda address: bytes(64)

class Store:
    set = lambda self, *given: None
    get = lambda self, name: b"00"

torch.tensor = on_cpu(torch.tensor)
for ranks, sizes_kb in CASES:  # all of a case have to fit into what the ranks share
    everyone = any_ranks.Everyone(0, ranks, Store())
    for kb in sizes_kb:
        batches = any_batches(everyone, blank(kb << 9), 1)
        assert tuple(batches) == OWN
        assert all(len(batch()) == kb << 9 for batch in batches.values())
link = Link(0, Arena())
assert len(link._one_way(fenced=True)) == 20
kinds = {"one_shot_all_reduce", "two_shot_all_reduce", "packed_one_shot_all_reduce", "swiglu"}
assert kinds <= set(launched), launched
"""

IN_TURN = """
import contextlib
import in_turn
import library_ways
import sweep
from statistics import median

EXPOSED = {"alone": 0.0, "nccl-graph": 0.2, "one-shot": 0.05, "two-shot": 0.06}
EXPOSED |= {"packed": 0.04, "fused": 0.02}
LINK = {"signal_us": [1.0], "fenced_us": [2.0], "gb_s": [400.0]}

class Cell:
    def __init__(self, **params):
        self.params, self.facts, self.samples = params, {}, {}
    def fact(self, name, value, unit=""):
        self.facts[name] = value
    def sample(self, region, metric, unit, values):
        self.samples[region, metric] = values
    @contextlib.contextmanager
    def phase(self, name=""):
        yield
    exclusively = phase

class First:
    class shape:
        width = 8192
    def batched(self, size, kind):
        return library_ways.chained(kind, 10)
    def sweep_kinds(self, size):
        more = (*sweep.OWN, *sweep.LIBRARY[:4]) if len(cell.params["sizes_kb"]) == 2 else ()
        return sweep.KINDS + (sweep.NORMS if size == 1 << 20 else ()) + more
    def left_out(self):
        return {"symm-two-shot": "no such operator"}

class Pair:
    first = First()
    def __init__(self):
        self.last = []
    def both(self, action, *arguments):
        if action == "measure_link":
            return LINK
        return [(1.0, 1700.0), (1.02, 1717.0)] if action == "time_alone" else None
    def have_gpus_alone(self):
        pass
    def go(self, action, *arguments):
        self.last = [action, *arguments]

def timed(launch, count):
    launch()
    action, *about = pair.last
    if action == "step":
        return count * (2.0 + EXPOSED[about[0]])
    size, kind = about
    us = {"nccl": 20.0, "one-shot": 5.0, "two-shot": 6.0, "packed": 4.0, "fused": 3.0}
    us = us.get(kind, 2.0) + (2 if kind == "packed" else 1) * size / 400e3
    return library_ways.chained(kind, 10) * count * us / 1e3

in_turn.timed, in_turn.check, pair = timed, lambda *_: None, Pair()
contenders = {name: [name, True] for name in EXPOSED}
cell = Cell(layers=8, batch=1, turns=3, steps_a_turn=5, contenders=contenders)
in_turn.steps(cell, pair)
floor = 1.0 + 16384 / 400e3
assert abs(cell.facts["floor_us"] - floor) < 1e-9
assert abs(median(cell.samples["fused", "exposed_us"]) - 1e3 * 0.02 / 16) < 1e-9
assert abs(median(cell.samples["fused", "exposed_over_floor"]) - 1.25 / floor) < 1e-9
assert abs(median(cell.samples["nccl-graph", "exposed_share"]) - 100 * 0.2 / 2.2) < 1e-9
assert len(cell.samples["alone", "step_ms"]) == 3
assert ("alone", "exposed_us") not in cell.samples
assert abs(cell.facts["straggler_share"] - 2) < 1e-9
assert abs(cell.facts["clock_difference"] - 1) < 1e-9
assert cell.facts["model_ms_8.one-shot"] > cell.facts["model_ms_4.one-shot"] > 2.05
assert cell.facts["model_ms_4.packed"] > 2.04

cell = Cell(turns=3, batches_a_turn=4, sizes_kb=[1, 8, 1024])
in_turn.sweep(cell, pair)
assert abs(median(cell.samples["8KiB", "packed_us"]) - (4.0 + 2 * 8192 / 400e3)) < 1e-9
assert cell.facts["best.1024KiB"] == "one-shot"
assert abs(cell.facts["crossing_kib.packed-to-one-shot"] - 400e3 / 1024) < 1e-9
assert abs(cell.facts["crossing_model_2.packed-to-one-shot"] - 400e3 / 1024) < 1e-9
worst = (5.0 + (1 << 20) / 400e3) / (20.0 + (1 << 20) / 400e3)
assert abs(median(cell.samples["8KiB-1MiB", "best_of_nccl"]) - worst) < 1e-9
assert abs(median(cell.samples["1024KiB", "fused_adds_us"]) - 1.0) < 1e-9
assert ("8KiB", "fused_us") not in cell.samples
cell = Cell(turns=3, batches_a_turn=4, sizes_kb=[1, 8], others=True)
in_turn.sweep(cell, pair)
assert pair.last[0] == "sweep_step"
assert cell.facts["left_out.symm-two-shot"] == "no such operator"
assert cell.facts["rival.8KiB"] in sweep.LIBRARY
wire = 8192 / 400e3
own, rival = 4.0 + 2 * wire, 2.0 + wire
assert abs(median(cell.samples["8KiB", "best_of_libraries"]) - own / rival) < 1e-9
assert abs(median(cell.samples["8KiB", "any_ring_us"]) - rival) < 1e-9
assert abs(cell.facts["model_us_2.8KiB-ring"] - (wire + 4.0)) < 1e-9
assert abs(cell.facts["model_us_2.8KiB-packed-one-shot"] - (2 * wire + 1.0)) < 1e-9
assert cell.facts["model_us_8.8KiB-ring"] > cell.facts["model_us_4.8KiB-ring"] > rival
assert abs(median(cell.samples["8KiB", "link_share"]) - 100 * wire / own) < 1e-9
assert abs(median(cell.samples["8KiB", "nccl_short_us"]) - rival) < 1e-9

import many

class Ranks:
    libraries = type("Libraries", (), {"left_out": {"symm-two-shot": "no such operator"}})
    def ways(self, size):
        self.size = size
        return None, {name: name for name in ("nccl", *sweep.OWN, *sweep.LIBRARY)}
    def check(self, x, ways):
        pass
    def timed(self, way, count):
        us = 2.0 if way == "any-one-shot" else 3.0
        wire = (3 if way == "any-one-shot" else 1.5) * self.size / 400e3
        return library_ways.chained(way, 50) * count * (us + wire)

kept = {}
params = {"turns": 3, "batches_a_turn": 4, "sizes_kb": [1, 64, 1024]}
many.measured(
    Ranks(), params, 7, lambda region: contextlib.nullcontext(),
    lambda region, name, unit, values: kept.update({(region, name): values}),
)
assert abs(median(kept["64KiB", "nccl_as_12_us"]) - (3.0 + 1.5 * 65536 / 400e3)) < 1e-9
assert kept["", "best.1KiB"] == "any-one-shot"
assert abs(kept["", "crossing_kib.any-one-shot-to-any-two-shot"] - 400e3 / 1.5 / 1024) < 1e-6
assert kept["", "left_out.symm-two-shot"] == "no such operator"
"""

KEPT = """
import contextlib
import gc
import weakref
import torch
import rank

class Played:
    def __getattr__(self, name):
        return lambda *given: None

for name in ("Stream", "current_stream", "CUDAGraph"):
    setattr(torch.cuda, name, Played)
torch.cuda.synchronize = lambda: None
torch.cuda.stream = torch.cuda.graph = lambda *given, **named: contextlib.nullcontext()

def exchanged():
    epochs = torch.zeros(4)
    def step():
        return epochs + 1
    return rank.captured(step), weakref.ref(epochs)

replay, epochs = exchanged()
gc.collect()
assert replay().sum() == 4
assert epochs() is not None  # the graph's kernels count there

import sweep

sweep.PeerReduce = lambda kind, size, arena: torch.clone
sweep.nccl_batch.__globals__["dist"].all_reduce = lambda total, group: None
on_cpu, torch.zeros = torch.zeros, lambda *sizes, device=None, **named: on_cpu(*sizes, **named)
sums = sweep.Sweep(1024, 0, None, None, rank.captured)
for kind in sweep.KINDS:
    sums.launch(kind)
gc.collect()
gc.disable()
gone = weakref.ref(sums._replays["nccl"].graph), weakref.ref(sums._replays["packed"].graph)
del sums
assert not any(each() for each in gone)  # or the communicator that they hold waits for them
"""

LIBRARIES = """
import torch
import library_ways

def doubled(total, group=None):
    total.mul_(2)  # the other rank has the same

def ways(x):
    made = library_ways.LibraryWays.__new__(library_ways.LibraryWays)
    made.left_out, made._ll, made._registered = {}, None, torch.empty_like
    return made, made.made(x, 7)

library_ways.dist.all_reduce = doubled
whole, torch.tensor = torch.tensor, lambda given, **named: whole(given)
library_ways._symmetric = lambda x, count, name: lambda: 2 * x
x = torch.randn(512).bfloat16()
made, found = ways(x)
assert not made.left_out and tuple(found) == library_ways.LIBRARY
for name in library_ways.LIBRARY[:-2]:
    result = found[name]()
    assert torch.equal(result, library_ways.summed(name, [x, x], 7)), name
    assert result.nbytes == x.nbytes
    wanted = x.view(result.dtype) * 2.0 ** (2 if name in library_ways.SHORT else 7)
    assert torch.equal(result, wanted), name
assert torch.equal(found["symm-one-shot"](), library_ways.summed("symm-one-shot", [x, x], 7))

def fails(x, count, name):
    raise RuntimeError("no such operator")

library_ways._symmetric = fails
made, found = ways(x)
assert tuple(found) == library_ways.LIBRARY[:-2]
assert made.left_out == dict.fromkeys(library_ways.LIBRARY[-2:], "no such operator")
"""


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize(
    "code",
    [PLAYED + LAUNCHES, IN_TURN, KEPT, LIBRARIES],
    ids=["launches", "in turn", "kept", "libraries"],
)
def test_scripts_do_without_a_gpu_what_they_would_with_one(code: str, problem: Problem) -> None:
    params = [problem.cases[case].params for case in ("others", "ranks-4")]
    cases = [(given.get("ranks", 2), given["sizes_kb"]) for given in params]
    done = subprocess.run(
        [str(PYTHON), "-c", f"CASES = {cases}\n{code}"],
        cwd=FOLDER,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'problems'}:{FOLDER}", "PATH": "/usr/bin:/bin"},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
