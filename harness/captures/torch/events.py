"""The events of a torch.profiler trace: which are read, what of them, and what they must have.

Categories and arguments are named as Kineto writes them (pytorch/kineto, libkineto/src:
output_json.cpp, CuptiActivity.cpp). ``gpu_user_annotation`` events are left out: Kineto derives
each from a host annotation and the GPU operations launched in it, so they hold nothing new.
"""

from decimal import Decimal
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import msgspec

from harness.captures.formats.json_stream import ListDecoder, Piece
from harness.errors import CaptureError

TABLES = {
    "kernel": "gpu_ops",
    "gpu_memcpy": "gpu_ops",
    "gpu_memset": "gpu_ops",
    "cuda_runtime": "api_calls",
    "cuda_driver": "api_calls",
    "user_annotation": "ranges",
    "cpu_op": "operators",
}
"""The table that events of a category become rows of; other categories are not read."""

LATEST_US = 2.0**52
"""142 years in microseconds: a later time is damage. Its nanoseconds fit 64 bits, with room."""
LONGEST_US = 2.0**43
"""101 days in microseconds: no event takes longer."""

_Int: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Number: TypeAlias = _Int | float
_N = TypeVar("_N")
_A = TypeVar("_A")


class HostArgs(msgspec.Struct, gc=False, frozen=True):
    """The arguments of host events that are read."""

    external: _Int | None = msgspec.field(name="External id", default=None)
    correlation: _Int | None = None


class GpuArgs(HostArgs, gc=False, frozen=True):
    """The arguments of GPU events that are read; operators of Triton kernels have a text grid."""

    device: _Int | None = None
    in_device: _Int | None = msgspec.field(name="inDevice", default=None)  # of copies between GPUs
    stream: _Int | None = None
    grid: tuple[_Int, _Int, _Int] | str | None = None
    block: tuple[_Int, _Int, _Int] | str | None = None
    registers: _Int | None = msgspec.field(name="registers per thread", default=None)
    shared_bytes: _Int | None = msgspec.field(name="shared memory", default=None)
    bytes: _Int | None = None
    graph_node: _Int | None = msgspec.field(name="graph node id", default=None)


class _Event(msgspec.Struct, Generic[_N, _A], gc=False):
    cat: str | None = None
    name: str | None = None
    tid: _Int | str | None = None
    ts: _N | None = None
    dur: _N | None = None
    args: _A | None = None


class _Category(msgspec.Struct):
    cat: msgspec.Raw = msgspec.Raw(b"null")


Event: TypeAlias = _Event[float | Decimal, GpuArgs]
"""One event; ``ts`` and ``dur`` are microseconds."""


def _decoder(number: Any) -> ListDecoder[Event]:
    """Return a decoder of events whose times are of type ``number``."""
    with_gpu_args = msgspec.json.Decoder(_Event[number, GpuArgs])
    with_host_args = msgspec.json.Decoder(_Event[number, HostArgs])

    def misfit(text: bytes) -> Any:
        """Leave out what no table wants; ask of the rest no more than its table needs."""
        category = bytes(msgspec.json.decode(text, type=_Category).cat)
        table = TABLES.get(msgspec.json.decode(category)) if category.startswith(b'"') else None
        if table is None:
            return None
        return (with_gpu_args if table == "gpu_ops" else with_host_args).decode(text)

    return ListDecoder(_Event[number, GpuArgs], misfit)


DECODER = _decoder(_Number)
EXACT_DECODER = _decoder(Decimal)
"""As DECODER, with every digit of the times, and slower."""


def first_fault(piece: Piece[Event]) -> CaptureError:
    """Return the error of the first event of ``piece`` that cannot become a row."""
    for offset, text in piece.values():
        try:
            event = msgspec.json.decode(text, type=_Event[float, HostArgs])
        except msgspec.ValidationError:
            continue  # not of a category that is read, or it would have been refused
        if (fault := _fault(event)) is not None:
            return CaptureError(f"byte {offset}: {fault} in a {event.cat!r} event")
    return CaptureError(f"byte {piece.offset}: an event without a usable time")


def _fault(event: _Event[float, HostArgs]) -> str | None:
    table = TABLES.get(event.cat or "")
    if table is None:
        return None
    if event.name is None:
        return "no 'name'"
    for key, value, most in (("ts", event.ts, LATEST_US), ("dur", event.dur, LONGEST_US)):
        if value is None and not (key == "dur" and table == "ranges"):
            return f"no {key!r}"
        if value is not None and not 0 <= value <= most:
            return f"impossible {key!r} {value!r}"
    return None
