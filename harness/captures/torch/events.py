"""The events of a torch.profiler trace: which are read, what of them, and what they must have.

Categories and arguments are named as Kineto writes them (pytorch/kineto, libkineto:
include/ActivityType.h, src/output_json.cpp, src/CuptiActivity.cpp); those with a capital are of
2021 (src/output_json.cpp before pytorch/kineto#593). ``gpu_user_annotation`` events are left out:
Kineto derives each from a host annotation and the GPU operations launched in it, so they hold
nothing new. ``mtia_ccp_events`` are what Meta's accelerator does; waiting is no work.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import chain
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import msgspec

from harness.captures.formats.json_stream import ListDecoder, Piece
from harness.ground.errors import CaptureError

KINDS = {
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "gpu_memset": "memset",
    "Kernel": "kernel",
    "Memcpy": "copy",
    "Memset": "memset",
}
"""The kind of GPU operation that events of a category are."""

_HOST_CALLS = (
    "cuda_runtime",
    "cuda_driver",
    "Runtime",
    "xpu_runtime",
    "xpu_driver",
    "mtia_runtime",
    "privateuse1_runtime",
    "privateuse1_driver",
)
_MTIA, _OPERATOR_OF_2021, _FRAME = "mtia_ccp_events", "Operator", "python_function"
MIXED = (_MTIA, _OPERATOR_OF_2021, _FRAME)
"""Categories whose events are told apart by name: see ``table_of``."""

TABLES = {
    **dict.fromkeys(KINDS, "gpu_ops"),
    _MTIA: "gpu_ops",
    **dict.fromkeys(_HOST_CALLS, "api_calls"),
    "user_annotation": "ranges",
    "cpu_op": "operators",
    _OPERATOR_OF_2021: "operators",
    _FRAME: "modules",
}
"""The table that events of a category become rows of; other categories are not read."""

MODULE = "nn.Module: "
"""What the names of Python frames begin with that are calls of a module (torch/profiler)."""

SHORTEST_US = 5.0
"""Of a Python frame. A shorter one is about as long as its recording, and its caller has its
time."""

LATEST_US = 2.0**52
"""142 years in microseconds: a later time is damage. Its nanoseconds fit 64 bits, with room."""
LONGEST_US = 2.0**43
"""101 days in microseconds: no event takes longer."""

_ANNOTATION = re.compile(r"ProfilerStep#|Optimizer\.|enumerate\(DataLoader\)#")
"""torch's own annotations (torch/profiler, torch/optim, torch/utils/data), operators in 2021."""
_WAITING = ("event_wait", "event_record")

_NO_TEXT = msgspec.Raw()
_Int: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Number: TypeAlias = _Int | float
_N = TypeVar("_N")
_A = TypeVar("_A")
_I = TypeVar("_I")


class Args(msgspec.Struct, Generic[_I], gc=False, frozen=True):
    """The arguments that are read; operators of Triton kernels have a text grid."""

    correlation: _I | None = None
    device: _I | None = None
    in_device: _I | None = msgspec.field(name="inDevice", default=None)  # of copies between GPUs
    stream: _I | None = None
    grid: tuple[_Int, _Int, _Int] | str | None = None
    block: tuple[_Int, _Int, _Int] | str | None = None
    registers: _I | None = msgspec.field(name="registers per thread", default=None)
    shared_bytes: _I | None = msgspec.field(name="shared memory", default=None)
    bytes: _I | None = None
    graph_node: _I | None = msgspec.field(name="graph node id", default=None)
    collective: str | None = msgspec.field(name="Collective name", default=None)
    sequence: _I | None = msgspec.field(name="Sequence number", default=None)
    forward_thread: _I | None = msgspec.field(name="Fwd thread id", default=None)
    # of operators, where shapes were recorded: a list an argument, kept as its JSON text
    sizes: msgspec.Raw = msgspec.field(name="Input Dims", default=_NO_TEXT)
    types: msgspec.Raw = msgspec.field(name="Input type", default=_NO_TEXT)
    strides: msgspec.Raw = msgspec.field(name="Input Strides", default=_NO_TEXT)
    values: msgspec.Raw = msgspec.field(name="Concrete Inputs", default=_NO_TEXT)
    kernel: str | None = None  # that a call of HIP launches


_GpuArgs: TypeAlias = Args[_Int]
AnyArgs: TypeAlias = Args[_Int | str]
"""Host calls of AMD's runtime have numbers as text under the names of GPU events' arguments."""
NO_ARGS: AnyArgs = Args()


class _HostArgs(msgspec.Struct, gc=False, frozen=True):
    correlation: _Int | None = None
    kernel: str | None = None


class _Event(msgspec.Struct, Generic[_N, _A], gc=False):
    cat: str | None = None
    name: str | None = None
    tid: _Int | str | None = None
    ts: _N | None = None
    dur: _N | None = None
    args: _A | None = None


class _Category(msgspec.Struct):
    cat: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def name(self) -> str | None:
        text = bytes(self.cat)
        return msgspec.json.decode(text, type=str) if text.startswith(b'"') else None


Event: TypeAlias = _Event[float | Decimal, AnyArgs]
"""One event; ``ts`` and ``dur`` are microseconds."""


def _decoder(number: Any) -> ListDecoder[Event]:
    """Return a decoder of events whose times are of type ``number``."""
    exact = msgspec.json.Decoder(_Event[number, _GpuArgs])
    with_host_args = msgspec.json.Decoder(_Event[number, _HostArgs])

    def misfit(text: bytes) -> Any:
        """Keep the category of what no table wants; ask of the rest what its table needs."""
        category = msgspec.json.decode(text, type=_Category).name
        table = TABLES.get(category or "")
        if table is None:
            return _Event(category)
        if table == "gpu_ops":
            return exact.decode(text)
        event: Any = with_host_args.decode(text)
        given = event.args or _HostArgs()
        event.args = Args(given.correlation, kernel=given.kernel)
        return event

    return ListDecoder(_Event[number, AnyArgs], misfit)


DECODER = _decoder(_Number)
EXACT_DECODER = _decoder(Decimal)
"""As DECODER, with every digit of the times, and slower."""


def table_of(event: Event) -> str | None:
    """Return the table for an event of a category that holds several things; say which it is."""
    name = event.name or ""
    if event.cat == _MTIA:
        event.cat = "gpu_memcpy" if name == "dma_request" else "kernel"
        return None if name in _WAITING else "gpu_ops"
    if event.cat == _FRAME:
        if name.startswith(MODULE):
            return "modules"
        timed = event.ts is not None and event.dur is not None
        return "frames" if timed and event.dur >= SHORTEST_US else None  # type: ignore[operator]  # timed
    return "ranges" if _ANNOTATION.match(name) else "operators"


def first_fault(pieces: Sequence[Piece[Event]]) -> CaptureError:
    """Return the error of the first event of ``pieces`` that cannot become a row."""
    for offset, text in chain.from_iterable(piece.values() for piece in pieces):
        if (fault := _fault(text)) is not None:
            return CaptureError(f"byte {offset}: {fault}")
    return CaptureError(f"byte {pieces[0].offset}: an event without a usable time")


def _fault(text: bytes) -> str | None:
    category = msgspec.json.decode(text, type=_Category).name
    table = TABLES.get(category or "")
    if table is None:
        return None
    try:
        args: Any = _GpuArgs if table == "gpu_ops" else _HostArgs
        event = msgspec.json.decode(text, type=_Event[float, args])
    except msgspec.ValidationError as error:
        return str(error)
    if event.name is None:
        return f"no 'name' in a {category!r} event"
    for key, value, most in (("ts", event.ts, LATEST_US), ("dur", event.dur, LONGEST_US)):
        if value is None and not (key == "dur" and table == "ranges"):
            return f"no {key!r} in a {category!r} event"
        # An event that ends before it starts is dropped and counted.
        if value is not None and not (value <= most and (value >= 0 or key == "dur")):
            return f"impossible {key!r} {value!r} in a {category!r} event"
    return None
