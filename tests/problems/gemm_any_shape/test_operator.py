"""The compiled operator: on a CPU as torch has it, and with a played driver what it launches."""

from pathlib import Path

import pytest

from tests.support.build_cache import of_compiler
from tests.support.hgemm import compiled
from tests.support.torch_cpu import needs_torch, run

pytestmark = needs_torch

PREAMBLE = """
import ctypes, sys, threading, weakref
sys.path[:0] = ["8-gemm-any-shape"]
import torch
import gemm, extension, general, ladder, launch, packing, plans
from multiplier import order

torch.manual_seed(0)
"""

PLAYED = """
played = ctypes.CDLL(sys.argv[1])

class Launched(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("function", "stream")]
    _fields_ += [("parameters", ctypes.c_uint64 * 16)]

played.launch.restype = ctypes.POINTER(Launched)
played.play.argtypes = [ctypes.c_uint64, ctypes.c_int, ctypes.c_int]
NAMES = ("cuLaunchKernelEx", "cuTensorMapReplaceAddress", "cuGetErrorString", "cuCtxGetCurrent",
         "aoti_torch_get_current_cuda_stream")
ADDRESSES = [ctypes.cast(getattr(played, name), ctypes.c_void_p).value for name in NAMES]
entered = []

def enter(device):
    entered.append(device)
    played.enter()

def connect(bind, most=100):
    gemm._EXTENSION.connect(ADDRESSES, bind, enter, most)

def play(stream=0, parameters=0, status=0):
    played.play(stream, parameters, status)

def launches(parameters):
    found = [played.launch(at).contents for at in range(played.launched())]
    return [list(one.parameters[:parameters]) for one in found]

def driver(name, *arguments):  # the map holds its matrix's address where the played driver does
    if name == "cuTensorMapEncodeTiled":
        ctypes.c_uint64.from_address(arguments[0].value).value = arguments[3].value

packing.call_driver = launch.call = driver
general.Library._function = lambda *_: ctypes.c_void_p(7)

def kernel(step, element, cache):
    made = launch.Kernel.__new__(launch.Kernel)
    made.step, made.element, made._function, made._sms = step, element, ctypes.c_void_p(8), 132
    made._bound = {}
    return made

general.kernel = kernel

class Memory:
    def __init__(self, count):
        self.memory = (ctypes.c_byte * 64)()
    def data_ptr(self):
        return ctypes.addressof(self.memory)

def matrix(rows, columns, letter="n"):
    made = torch.randn(columns, rows) if letter == "t" else torch.randn(rows, columns)
    return (made.t() if letter == "t" else made).bfloat16()

def lies(operand, letter):
    return operand.t() if letter == "t" else operand

multiplied = gemm._EXTENSION.multiplied

def pointers(a, b, c, stream):  # binds a launch of three pointers
    values = [packing.pointer(packing.stored(*each)) for each in zip((a, b, c), "abc")]
    parameters, keep = packing.arguments(values)
    config = launch.LaunchConfig()
    return packing.Record([launch.Launch(ctypes.c_void_p(9), config, parameters, keep)], stream)
"""

MOVED = """
PROBLEMS = [
    ((512, 512, 512), "nn"), ((200, 300, 4096), "nt"), ((9, 512, 1000), "tn"),
    ((33, 65, 129), "tt"), ((5, 607, 2335), "nt"), ((300, 1535, 515), "nn"), ((640, 640, 640), "nt"),
]
kinds = {}
for shape, letters in PROBLEMS:
    problem = plans.Problem(shape, letters)
    for plan in plans.plans(problem):
        step = plan.step(problem)
        turned = getattr(plan.config, "transposed", False)
        kind = step.source, plan.swapped, plan.copied, plan.added, turned, step.maps
        kinds.setdefault(kind, (problem, plan))
assert {kind[3] for kind in kinds} == {kind[1] for kind in kinds} == {False, True}
assert len({kind[0] for kind in kinds}) >= 6
library = general.Library("bf16", allocate=Memory)
slots = set()
for stream, (problem, plan) in enumerate(kinds.values()):
    m, n, k = problem.shape
    kept = []
    def bind(a, b, c, stream):
        first, second = (lies(*each) for each in zip((a, b), problem.layout))
        kept.append(library.bind(plan, problem, first, second, c))
        record = packing.Record(kept[-1], stream)
        slots.update((operand, in_map) for operand, in_map, _ in record.slots)
        return record
    connect(bind)
    for turn in range(3):
        a, b = matrix(m, k, problem.layout[0]), matrix(k, n, problem.layout[1])
        play(stream)
        # Arguments of each launch are as many as are read alike.
        c = multiplied(a, b)
        assert c.shape == (m, n)
        assert played.launched() == len(kept[0])
        fresh = library.bind(
            plan, problem, *(lies(*each) for each in zip((a, b), problem.layout)), c
        )
        for at, wanted in enumerate(fresh):
            count = min(len(one.parameters) for one in fresh)
            play(stream, count)
            c = multiplied(a, b)
            fresh = library.bind(
                plan, problem, *(lies(*each) for each in zip((a, b), problem.layout)), c
            )
            expected = [
                [ctypes.c_uint64.from_address(one.parameters[p]).value for p in range(count)]
                for one in fresh
            ]
            found = launches(count)
            for one, other in zip(found, expected):
                one[-1] &= 0xffffffff
                other[-1] &= 0xffffffff
            assert len(found) == len(expected)
            for one, other, of in zip(found, expected, fresh):
                for p, value in enumerate(of.keep[:count - 1]):
                    if isinstance(value, ctypes.c_int):
                        one[p] &= 0xffffffff
                        other[p] &= 0xffffffff
                assert one == other, (problem, plan.name, one, other)
    assert len(kept) == 1, plan.name
assert slots == {(operand, in_map) for operand in range(3) for in_map in (False, True)}
"""


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The played driver's library; what is compiled stays for other runs."""
    monkeypatch.setenv("HGEMM_CACHE", str(of_compiler("g++")))
    source = Path(__file__).with_name("played.cpp").read_text(encoding="utf-8")
    return str(compiled(tmp_path, source, tmp_path)._name)


def test_slots_move_with_the_operands_in_every_kind_of_plan(played: str) -> None:
    run(PREAMBLE + PLAYED + MOVED, played)
