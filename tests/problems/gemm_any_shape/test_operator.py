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
played.play.argtypes = [ctypes.c_uint64, ctypes.c_int]
played.on.argtypes = played.fill.argtypes = [ctypes.c_uint64]
NAMES = ("cuLaunchKernelEx", "cuTensorMapReplaceAddress", "cuGetErrorString", "cuCtxGetCurrent",
         "aoti_torch_get_current_cuda_stream")
ADDRESSES = [ctypes.cast(getattr(played, name), ctypes.c_void_p).value for name in NAMES]
entered = []

def enter(device):
    entered.append(device)
    played.enter()

def connect(bind, most=100):
    gemm._EXTENSION.connect(ADDRESSES, bind, enter, most)

def play(stream=0, status=0):
    played.play(stream, status)

def driver(name, *arguments):  # the map holds its matrix's address where the played driver does
    if name == "cuTensorMapEncodeTiled":
        ctypes.c_uint64.from_address(arguments[0].value).value = arguments[3].value

packing.call_driver = launch.call = driver
COUNTS = {"stream_k": 10, "ping_pong": 10, "split_k": 6, "sliced": 15, "dots": 11, "transpose": 6,
          "add_parts": 10, "align_rows": 3}
general.Library._function = lambda self, step: ctypes.c_void_p(COUNTS[step.file[:-3]])

def kernel(step, element, cache):
    made = launch.Kernel.__new__(launch.Kernel)
    made.step, made.element, made._function, made._sms = step, element, ctypes.c_void_p(6), 132
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
    return packing.Record([launch.Launch(ctypes.c_void_p(3), config, parameters, keep)], stream)
"""

MOVED = """
PROBLEMS = [
    ((512, 512, 512), "nn"), ((200, 300, 4096), "nt"), ((9, 512, 1000), "tn"),
    ((33, 65, 129), "tt"), ((5, 607, 2335), "nt"), ((300, 1535, 515), "nn"),
    ((640, 640, 640), "nt"),
]
kinds = {}
for shape, letters in PROBLEMS:
    problem = plans.Problem(shape, letters)
    for plan in plans.plans(problem):
        step = plan.step(problem)
        turned = getattr(plan.config, "transposed", False)
        kind = step.file, step.maps, plan.swapped, plan.copied, plan.added, turned
        kinds.setdefault(kind, (problem, plan))
assert {kind[0] for kind in kinds} >= {
    f"{name}.cu" for name in ("stream_k", "ping_pong", "split_k", "sliced", "dots")
}
library = general.Library("bf16", allocate=Memory)
slots = set()

def memory(values):  # what begins with an address: neither sizes nor pitches
    return [at for at, value in enumerate(values) if not hasattr(value, "value") or not value.value
            or isinstance(value, ctypes.c_void_p)]

for stream, (problem, plan) in enumerate(kinds.values()):
    m, n, k = problem.shape
    bound = []

    def launches_of(a, b, c):
        a, b = (lies(*each) for each in zip((a, b), problem.layout))
        return library.bind(plan, problem, a, b, c)

    def bind(a, b, c, stream):
        bound.append(packing.Record(launches_of(a, b, c), stream))
        slots.update((operand, in_map) for operand, in_map, _ in bound[0].slots)
        return bound[0]

    connect(bind)
    for turn in range(3):
        a, b = matrix(m, k, problem.layout[0]), matrix(k, n, problem.layout[1])
        if turn == 1 and problem.layout == "nn" and m == n == k:
            b = a
        play(stream)
        c = multiplied(a, b)
        wanted = launches_of(a, b, c)
        assert played.launched() == len(wanted)
        for at, one in enumerate(wanted):
            found = played.launch(at).contents
            assert found.function == len(one.parameters)
            assert found.stream == stream
            places = memory(one.keep[:len(one.parameters)])
            expected = [ctypes.c_uint64.from_address(one.parameters[p]).value for p in places]
            assert [found.parameters[p] for p in places] == expected, (problem, plan.name)
    assert len(bound) == 1
assert slots == {(operand, in_map) for operand in range(3) for in_map in (False, True)}
"""

RECORDS = """
bound = []

def bind(a, b, c, stream):
    bound.append(pointers(a, b, c, stream))
    return bound[-1]

def called(a, b):  # returns C and the addresses that were launched with
    play()
    c = multiplied(a, b)
    (found,) = [played.launch(at).contents for at in range(played.launched())]
    return c, found.parameters[:3]

def addresses(*operands):
    return [each.data_ptr() for each in operands]

connect(bind, most=3)
assert entered == []
for _ in range(3):
    a, b = matrix(64, 32), matrix(32, 16)
    c, found = called(a, b)
    assert found == addresses(a, b, c)
assert len(bound) == gemm._EXTENSION.records() == 1
assert entered == [-1]  # of a CPU; this thread has the context from then on

# What decides a plan is in the key: where addresses lie within 16 bytes, strides, type, stream.
wide = torch.randn(64, 40).bfloat16()
for a in (wide[:, 1:33], wide[:, 2:34]):
    c, found = called(a, b)
    assert found == addresses(a, b, c)
assert len(bound) == 3
first = weakref.ref(bound[0])
bound.clear()
assert first() is not None
called(matrix(64, 32).half(), b.half())
assert gemm._EXTENSION.records() == 1  # the others were too many
assert first() is None
play(5)
multiplied(matrix(64, 32).half(), b.half())
assert played.launch(0).contents.stream == 5
assert len(bound) == 2

# An operand that is neither row-major nor the transpose of such a matrix is copied first.
connect(bind)
strided = [((64, 32), (40, 1)), ((64, 32), (1, 70)), ((64, 32), (64, 2)), ((64, 32), (0, 0)),
           ((64, 32), (0, 1)), ((1, 32), (32, 1)), ((64, 1), (1, 1)), ((64, 1), (4, 1)),
           ((1, 32), (1, 1)), ((1, 32), (1, 2)), ((64, 1), (2, 9))]
pool = torch.randn(8192).bfloat16()
for shape, strides in strided:
    a = pool.as_strided(shape, strides)
    _, found = called(a, matrix(shape[1], 8))
    assert (found[0] == a.data_ptr()) == bool(order(a)), (shape, strides)

# No kernel for this GPU: torch.mm.
def nothing(a, b, c, stream):
    return None

connect(nothing)
a, b = matrix(24, 8), matrix(8, 16)
for _ in range(2):
    play(6)
    assert torch.equal(multiplied(a, b), a @ b)
    assert played.launched() == 0

# What fails is told, and the next call does not miss it.
connect(bind)
a, b = matrix(48, 32), matrix(32, 16)
for status in (700, 700, 0):
    play(7, status)
    try:
        multiplied(a, b)
    except RuntimeError as error:
        assert status and "cuLaunchKernelEx: error 700, played" in str(error)
    else:
        assert not status

def broken(a, b, c, stream):
    raise LookupError("no plan")

connect(broken)
before = gemm._EXTENSION.records()
try:
    multiplied(matrix(56, 32), matrix(32, 16))
except LookupError as error:
    assert str(error) == "no plan"
else:
    raise AssertionError
assert gemm._EXTENSION.records() == before
"""

THREADS = """
ROUNDS = 300
connect(pointers)
pairs = [(matrix(64, 32), matrix(32, 16)) for _ in range(3)]
ready = threading.Barrier(3)
results = [[] for _ in pairs]

def work(pair, kept):
    ready.wait()
    kept.extend(multiplied(*pair) for _ in range(ROUNDS))

play()
threads = [threading.Thread(target=work, args=each) for each in zip(pairs, results)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert played.launched() == 3 * ROUNDS
assert entered == [-1, -1, -1]
found = sorted(tuple(played.launch(at).contents.parameters[:3]) for at in range(3 * ROUNDS))
wanted = sorted(
    (a.data_ptr(), b.data_ptr(), c.data_ptr())
    for (a, b), kept in zip(pairs, results) for c in kept
)
assert found == wanted
"""

STREAMS = """
import time

def twice(a, b, c, stream):  # two launches, as of a product that copies an operand first
    values = [packing.pointer(packing.stored(*each)) for each in zip((a, b, c), "abc")]
    launches = []
    for _ in range(2):
        parameters, keep = packing.arguments(values)
        config = launch.LaunchConfig()
        launches.append(launch.Launch(ctypes.c_void_p(3), config, parameters, keep))
    return packing.Record(launches, stream)

connect(twice)
failed = []

def work(stream, rounds, *pair):
    played.on(stream)
    try:
        kept = [multiplied(*pair) for _ in range(rounds)]
    except RuntimeError as error:
        failed.append(error)

def started(*arguments):
    thread = threading.Thread(target=work, args=arguments)
    thread.start()
    return thread

# A launch that waits for its queue holds up no other stream, which it perhaps waits for.
play()
pair = matrix(64, 32), matrix(32, 16)
played.fill(1)
threads = [started(1, 1, *pair)]
while not played.waits():
    time.sleep(0.001)
threads.append(started(2, 1, *pair))
for thread in threads:
    thread.join()
assert failed == []
assert played.launched() == 4

# Products of one stream share a workspace: launches of one stay together.
play()
pairs = [(matrix(64, 8 * n), matrix(8 * n, 16)) for n in (1, 2, 3)]
for thread in [started(3, 100, *pair) for pair in pairs]:
    thread.join()
found = [tuple(played.launch(at).contents.parameters[:3]) for at in range(played.launched())]
assert len(found) == 600
assert found[::2] == found[1::2]
"""

SIZES = """
from multiplier import MAX_SIZE

def sized(*shape):
    return torch.empty(shape, device="meta", dtype=torch.bfloat16)

has_sizes = gemm._EXTENSION.has_sizes
for fits, m, k, n in (
    (True, 3, 4, 5), (True, MAX_SIZE, 1, 1), (True, 1, MAX_SIZE, 1), (True, 1, 1, MAX_SIZE),
    (False, MAX_SIZE + 1, 1, 1), (False, 1, MAX_SIZE + 1, 1), (False, 1, 1, MAX_SIZE + 1),
    (False, 0, 4, 5), (False, 3, 0, 5), (False, 3, 4, 0),
):
    assert has_sizes(sized(m, k), sized(k, n)) == fits, (m, k, n)
assert not has_sizes(sized(3, 4), sized(3, 4))
assert not has_sizes(sized(3), sized(3, 4))
assert not has_sizes(sized(2, 3, 4), sized(3, 4))
"""

ON_A_CPU = """
from gemm import OPERATOR, Linear, hgemm
compiled = sys.argv[1] == "compiled"
assert (gemm._EXTENSION is not None) == compiled
a, b = torch.randn(3, 4), torch.randn(4, 5)
assert torch.equal(hgemm(a, b), a @ b)
assert torch.equal(hgemm(a=a, b=b), a @ b)
x, y = (each.double().requires_grad_() for each in (a, b))
assert torch.autograd.gradcheck(hgemm, (x, y))
assert torch.autograd.gradgradcheck(hgemm, (x, y))
(only,) = torch.autograd.grad(hgemm(x, b.double()).sum(), x)
assert torch.allclose(only, b.double().sum(1).expand(3, 4))
assert not hgemm(a, b).requires_grad
with torch.no_grad():
    assert not hgemm(x, y).requires_grad
found = torch.library.opcheck(OPERATOR, (x, y))
assert set(found.values()) == {"SUCCESS"}
layer = torch.nn.Linear(4, 5)
for backend in ("eager", "aot_eager"):
    model = torch.compile(Linear(layer), fullgraph=True, backend=backend)
    torch.testing.assert_close(model(a), layer(a))
    torch.testing.assert_close(
        torch.autograd.grad(model(a).square().sum(), layer.weight),
        torch.autograd.grad(layer(a).square().sum(), layer.weight),
    )
seen = []

class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        seen.append(function)
        return function(*args, **(kwargs or {}))

with Mode():
    hgemm(a, b)
assert seen == [OPERATOR]
for wrong, kind in (((a, a), RuntimeError), ((a, 3), (TypeError, RuntimeError))):
    try:
        hgemm(*wrong)
    except kind:
        continue
    raise AssertionError(wrong)
"""

LINEARS = """
from gemm import Linear, replace_linears
from torch import nn

def model():
    return nn.Sequential(
        nn.Linear(16, 24), nn.Sequential(nn.Linear(24, 20), nn.ReLU()), nn.Linear(20, 32)
    )

def kinds(model):
    return [type(each) for each in model.modules() if isinstance(each, (Linear, nn.Linear))]

x = torch.randn(3, 16)
for every, wanted in ((False, [nn.Linear, Linear, Linear]), (True, [Linear] * 3)):
    given = model()
    before = given(x)
    replaced = replace_linears(given, every=every)
    assert replaced is given
    assert kinds(replaced) == wanted
    torch.testing.assert_close(replaced(x), before)
assert kinds(replace_linears(model())) == [nn.Linear, Linear, Linear]
aligned, odd = nn.Linear(16, 24), nn.Linear(16, 20)
assert replace_linears(aligned) is aligned
assert kinds(replace_linears(aligned, every=True)) == [Linear]
assert replace_linears(odd).weight is odd.weight
assert kinds(replace_linears(odd)) == [Linear]
"""

AUTOCAST = """
from gemm import OPERATOR, Linear, hgemm
assert (gemm._EXTENSION is not None) == (sys.argv[1] == "compiled")
weight = torch.randn(3, 5)

def told(product, a, b, backward_inside):  # the product and both gradients
    x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        c = product(x, y)
        if backward_inside:
            return c, *torch.autograd.grad(c, (x, y), weight.to(c.dtype))
    return c, *torch.autograd.grad(c, (x, y), weight.to(c.dtype))

def same(found, wanted):
    assert [each.dtype for each in found] == [each.dtype for each in wanted]
    assert all(map(torch.equal, found, wanted))

a, b = torch.randn(3, 4), torch.randn(4, 5)
for first, second in ((a, b), (a.bfloat16(), b), (a, b.half()), (a.double(), b.double())):
    for inside in (False, True):
        wanted = told(torch.mm, first, second, inside)
        same(told(hgemm, first, second, inside), wanted)
        same(told(OPERATOR, first, second, inside), wanted)
assert hgemm(a, b).dtype == torch.float32

linear = torch.nn.Linear(4, 5)

def layer(module, x):
    with torch.autocast("cpu", torch.bfloat16):
        y = module(x)
    return y, *torch.autograd.grad(y.float().square().sum(), (x, linear.weight, linear.bias))

x = a.clone().requires_grad_()
for of in (Linear(linear), torch.compile(Linear(linear), fullgraph=True, backend="aot_eager")):
    found, wanted = layer(of, x), layer(linear, x)
    assert [each.dtype for each in found] == [each.dtype for each in wanted]
    for each, other in zip(found, wanted):
        torch.testing.assert_close(each, other, rtol=2e-2, atol=2e-2)
"""

TRANSFORMS = """
from gemm import hgemm
from torch.autograd import forward_ad
assert (gemm._EXTENSION is not None) == (sys.argv[1] == "compiled")
a, b, da, db = (torch.randn(*size) for size in ((3, 4), (4, 5), (3, 4), (4, 5)))

def same(found, wanted):
    torch.testing.assert_close(found, wanted)

def total(product):
    return lambda a, b: product(a, b).square().sum()

def mapped(a, b):  # over the rows of A
    return lambda product: torch.func.vmap(lambda row: product(row[None], b))(a)

def forward(*needed):
    def tangents(product):
        with forward_ad.dual_level():
            x, y = (each.clone().requires_grad_(need) for each, need in zip((a, b), needed))
            c = product(forward_ad.make_dual(x, da), y)
            value, tangent = forward_ad.unpack_dual(c)
            of = [each for each, need in zip((x, y), needed) if need]
            grads = torch.autograd.grad(tangent.square().sum(), of) if tangent.requires_grad else ()
            return value.detach(), tangent.detach(), *grads
    return tangents

func = torch.func
for transformed in (
    lambda product: func.jvp(product, (a, b), (da, db)),
    lambda product: func.jvp(lambda a: product(a, b), (a,), (da,)),
    lambda product: func.grad(total(product), (0, 1))(a, b),
    lambda product: func.grad(lambda b: total(product)(a, b))(b),
    lambda product: func.hessian(total(product), (0, 1))(a, b),
    lambda product: func.jacrev(product)(a, b),
    mapped(a, b),
    lambda product: func.vmap(func.grad(total(product)), (None, 0))(a, torch.stack([b, db])),
    forward(False, False), forward(False, True), forward(True, False), forward(True, True),
):
    same(transformed(hgemm), transformed(torch.mm))
"""

CALLS = """
import host_calls

class Cell:
    def __init__(self):
        self.samples = {}
    def sample(self, region, metric, unit, values):
        self.samples[region, metric] = values

cell = Cell()
host_calls.keep(cell, {
    (1000, 1000, 1000): {"hgemm": [2e5, 4e5], "torch": [1e5, 4e5]},
    (768, 256, 1024): {"hgemm": [3e5, 9e5], "torch": [6e5, 1e5]},
})
assert cell.samples["1000x1000x1000", "calls_over"] == [2.0, 1.0]
assert cell.samples["768x256x1024", "calls_over"] == [0.5, 9.0]
assert all(abs(x - y) < 1e-9 for x, y in zip(cell.samples["all", "calls_over"], [1.0, 3.0]))
middle = host_calls.typical({"hgemm": [1.0, 2.4, 9.0], "torch": [3.0, 5.0]})
assert middle == {"hgemm": 2, "torch": 4}
assert cell.samples["768x256x1024", "calls_per_s"] == [3e5, 9e5]
assert cell.samples["768x256x1024", "torch_calls_per_s"] == [6e5, 1e5]

class Pool:
    def __init__(self, element, elements):
        pass
    def sets(self, problem):
        m, n, k = problem.shape
        return [(torch.empty(m, k), torch.empty(n, k), torch.empty(m, n))] * 2

called = []

def seconds(product, sets, calls):
    assert calls == len(sets) == 1
    (a, b), = sets
    called.append((product is torch.mm, a.shape[0]))
    return (a @ b).shape[0] / 1e3

host_calls.OperandPool, host_calls._seconds = Pool, seconds
first = host_calls.first_calls("bf16", rows=(100, 140, 180), width=8)
assert first == {"hgemm": [140.0, 180.0], "torch": [140.0, 180.0]}, first
assert called == [(mm, m) for m in (100, 140, 180) for mm in (False, True)]
host_calls.keep_first(cell, first | {"torch": [1.0, 2.0]})
assert cell.samples["new sizes", "first_ms"] == [140.0, 180.0]
assert cell.samples["new sizes", "torch_first_ms"] == [1.0, 2.0]
"""


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The played driver's library; what is compiled stays for other runs."""
    monkeypatch.setenv("HGEMM_CACHE", str(of_compiler("g++")))
    source = Path(__file__).with_name("played.cpp").read_text(encoding="utf-8")
    return str(compiled(tmp_path, source, tmp_path)._name)


def without_compiler(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the operator's Python alone: no compiler, and nothing that one has made."""
    monkeypatch.setenv("HGEMM_CACHE", str(empty))
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.delenv("CXX", raising=False)


def test_slots_move_with_the_operands_in_every_kind_of_plan(played: str) -> None:
    run(PREAMBLE + PLAYED + MOVED, played)


def test_records_are_found_by_what_decides_a_plan_and_dropped_when_too_many(played: str) -> None:
    run(PREAMBLE + PLAYED + RECORDS, played)


def test_threads_that_share_a_record_launch_with_their_own_operands(played: str) -> None:
    run(PREAMBLE + PLAYED + THREADS, played)


def test_streams_wait_for_none_but_their_own_and_keep_a_products_launches_together(
    played: str,
) -> None:
    run(PREAMBLE + PLAYED + STREAMS, played)


@pytest.mark.usefixtures("played")
def test_sizes_that_an_int_does_not_hold_are_not_the_kernels() -> None:
    run(PREAMBLE + SIZES)


@pytest.mark.usefixtures("played")
def test_on_a_cpu_it_is_torchs_product_with_gradients() -> None:
    run(PREAMBLE + ON_A_CPU, "compiled")


def test_without_a_compiler_the_operator_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compiler(tmp_path, monkeypatch)
    run(PREAMBLE + ON_A_CPU, "not compiled")


@pytest.mark.usefixtures("played")
def test_layers_of_which_a_side_is_no_multiple_of_8_are_replaced() -> None:
    run(PREAMBLE + LINEARS)


@pytest.mark.parametrize("code", [AUTOCAST, TRANSFORMS], ids=["autocast", "transforms"])
@pytest.mark.parametrize("kind", ["compiled", "not compiled"])
def test_autocast_and_transforms_are_as_torchs_products(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    code: str,
) -> None:
    if kind == "compiled":
        request.getfixturevalue("played")
    else:
        without_compiler(tmp_path, monkeypatch)
    run(PREAMBLE + code, kind)


def test_the_compiler_finds_nothing_to_warn_of(tmp_path: Path) -> None:
    run(
        PREAMBLE
        + """
from pathlib import Path
target = Path(sys.argv[1]) / "strict.so"
command = extension._command(extension.compiler(), target)
assert extension.compiled([*command, "-Wextra", "-fsyntax-only"], "strict") == ""
""",
        str(tmp_path),
    )


@pytest.mark.usefixtures("played")
def test_calls_per_second_are_the_operators_over_torchs() -> None:
    run(PREAMBLE + CALLS)
