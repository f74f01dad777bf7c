"""What a launch is made of: matrices, tensor maps, arguments, configurations, memory of the driver.

Arguments know whose address they hold, so that a record of a product can be moved to other tensors.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ladder import (
    BOX,
    DATA_TYPES,
    ELEMENT_BYTES,
    PROGRAMMATIC_SERIALIZATION,
    SWIZZLE_128B,
    Launch,
    LaunchAttribute,
    LaunchConfig,
    LaunchError,
    Step,
    call_driver,
)
from plans import CHUNK

OPERANDS = "abc"
CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_*
CAPTURE_MODE_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_*
STREAM_NON_BLOCKING = 1
OUT_OF_MEMORY = "cuMemAlloc_v2: error 2,"  # how the failure's message begins
SWIZZLES = {16: 1, 32: 2, 64: SWIZZLE_128B}  # CU_TENSOR_MAP_SWIZZLE_32B, _64B
PROMOTE_128B = 2
"""What TMA fetches into L2 of each row of a box: its line. Of 256 bytes, half would be others'."""
MAP_BYTES, MAP_ALIGNMENT = 128, 64


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory: rows of ``columns`` elements, ``pitch`` elements apart."""

    address: int
    rows: int
    columns: int
    pitch: int
    operand: str = field(default="", compare=False)
    """Whose address it is: that of "a", "b" or "c", or else of memory that stays where it is."""

    @property
    def aligned(self) -> bool:
        """Whether TMA can read and write it."""
        return self.address % 16 == 0 and (self.rows == 1 or self.pitch % CHUNK == 0)


class Pointer(ctypes.c_void_p):
    """The address of a matrix as an argument; ``operand``: as in ``Matrix``."""

    operand = ""


class TensorMap:
    """The TMA descriptor of a matrix, with boxes of ``box_rows`` by 64 elements.

    A box of 16, 32 or 64 columns is swizzled by as many bytes as its rows have; others are not.
    """

    def __init__(self, element: str, matrix: Matrix, box_rows: int, columns: int = BOX) -> None:
        self._memory, self.address = map_memory()
        self.operand = matrix.operand
        pitch = -(-matrix.pitch // CHUNK) * CHUNK  # of a single row the pitch is never used
        call_driver(
            "cuTensorMapEncodeTiled",
            ctypes.c_void_p(self.address),
            DATA_TYPES[element],
            ctypes.c_uint32(2),
            ctypes.c_void_p(matrix.address),
            (ctypes.c_uint64 * 2)(matrix.columns, matrix.rows),
            (ctypes.c_uint64 * 1)(pitch * ELEMENT_BYTES),
            (ctypes.c_uint32 * 2)(columns, box_rows),
            (ctypes.c_uint32 * 2)(1, 1),
            0,  # no interleave
            SWIZZLES.get(columns, 0),
            PROMOTE_128B,
            0,  # what lies outside reads as zero
        )


class Copy(ctypes.Structure):
    """The argument of align_rows: one matrix to copy."""

    _fields_ = (
        ("source", ctypes.c_void_p),
        ("target", ctypes.c_void_p),
        ("source_pitch", ctypes.c_int64),
        ("target_pitch", ctypes.c_int64),
        ("rows", ctypes.c_int),
        ("columns", ctypes.c_int),
    )
    operand = ""


def map_memory() -> tuple[Any, int]:
    """Return memory for a tensor map, and where it begins in there: it has to be aligned."""
    memory = (ctypes.c_byte * (MAP_BYTES + MAP_ALIGNMENT))()
    return memory, -(-ctypes.addressof(memory) // MAP_ALIGNMENT) * MAP_ALIGNMENT


def stored(tensor: Any, operand: str = "") -> Matrix:
    """Return how a two-dimensional tensor with unit stride along its rows lies."""
    rows, columns = tensor.shape
    pitch = tensor.stride(0) if rows > 1 else columns
    return Matrix(tensor.data_ptr(), rows, columns, pitch, operand)


def pointer(matrix: Matrix) -> Pointer:
    """Return a matrix's address as an argument that knows whose it is."""
    found = Pointer(matrix.address)
    found.operand = matrix.operand
    return found


def enter_context(device: int) -> None:
    """Make a device's primary context, torch's, current in a thread that has none.

    The runtime does that when it first needs one, the driver's functions do not; autograd computes
    gradients in threads of its own.
    """
    context, handle = ctypes.c_void_p(), ctypes.c_int()
    call_driver("cuCtxGetCurrent", ctypes.byref(context))
    if not context.value:
        call_driver("cuDeviceGet", ctypes.byref(handle), device)
        call_driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        call_driver("cuCtxSetCurrent", context)


class Workspace:
    """At least ``count`` zeroed bytes from the driver, never freed: a CUDA graph may use them.

    torch's allocator would take them from the graph's pool where one is being captured, and count
    them as the graph's. Sizes are powers of two, so that all that a growing workspace left behind
    is no more than the last. ``LaunchError`` if there is no memory, nor in what torch keeps cached.
    """

    def __init__(self, count: int) -> None:
        size = ctypes.c_size_t(1 << (count - 1).bit_length())
        address, stream = ctypes.c_uint64(), ctypes.c_void_p()
        mode = ctypes.c_int(CAPTURE_MODE_RELAXED)
        call_driver("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        try:
            _allocate(address, size)
            call_driver("cuStreamCreate", ctypes.byref(stream), STREAM_NON_BLOCKING)
            call_driver("cuMemsetD8Async", address, 0, size, stream)
            call_driver("cuStreamSynchronize", stream)
            call_driver("cuStreamDestroy_v2", stream)
        finally:
            call_driver("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        self._address = address.value

    def data_ptr(self) -> int:
        """Return where it begins."""
        return self._address


def _allocate(address: ctypes.c_uint64, size: ctypes.c_size_t) -> None:
    """Allocate; where memory is short, once more without the free blocks that torch keeps."""
    try:
        call_driver("cuMemAlloc_v2", ctypes.byref(address), size)
    except LaunchError as error:
        import torch

        # A capture forbids to free: what waits for the blocks' events would be part of the graph.
        if not str(error).startswith(OUT_OF_MEMORY) or torch.cuda.is_current_stream_capturing():
            raise
        torch.cuda.empty_cache()
        call_driver("cuMemAlloc_v2", ctypes.byref(address), size)


def arguments(values: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the array of addresses that a launch takes, and what has to outlive it."""
    pointers = [
        value.address if isinstance(value, TensorMap) else ctypes.addressof(value)
        for value in values
    ]
    return (ctypes.c_void_p * len(pointers))(*pointers), list(values)


def configured(step: Step, blocks: int, cluster: int, *, pdl: bool) -> LaunchConfig:
    """Return a launch's configuration; ``cluster``: its blocks, if chosen at launch, else 0."""
    attributes = (LaunchAttribute * 2)()
    count = 0

    def put(identity: int, *numbers: int) -> None:
        nonlocal count
        attributes[count].id = identity
        value = count * ctypes.sizeof(LaunchAttribute) + LaunchAttribute.number.offset
        (ctypes.c_uint * len(numbers)).from_buffer(attributes, value)[:] = numbers
        count += 1

    if pdl:
        put(PROGRAMMATIC_SERIALIZATION, 1)
    if cluster:
        put(CLUSTER_DIMENSION, cluster, 1, 1)
    first = ctypes.cast(attributes, ctypes.POINTER(LaunchAttribute))
    return LaunchConfig((blocks, 1, 1), (step.threads, 1, 1), step.shared_bytes, None, first, count)


class Record:
    """A product's launches with arguments of their own, and where those hold operands' addresses.

    ``launches``: addresses of configuration, function and arguments, as cuLaunchKernelEx takes
    them. ``slots``: an operand's index, whether what holds its address is a tensor map, and where
    that lies. All of this memory lives as long as the record.
    """

    def __init__(self, launches: Sequence[Launch], stream: int) -> None:
        self._keep: list[Any] = [*launches]
        self._copies: dict[int, int] = {}
        self.launches: list[tuple[int, int, int]] = []
        self.slots: list[tuple[int, bool, int]] = []
        for launch in launches:
            config = LaunchConfig.from_buffer_copy(launch.config)
            config.stream = stream
            values = launch.keep[: len(launch.parameters)]
            parameters = (ctypes.c_void_p * len(values))(*map(self._copied, values))
            self._keep += config, parameters
            found = ctypes.addressof(config), launch.function.value, ctypes.addressof(parameters)
            self.launches.append(found)

    def _copied(self, value: Any) -> int:
        """Return the address of an argument's copy; one that stands in two places stays one."""
        if id(value) in self._copies:
            return self._copies[id(value)]
        in_map = hasattr(value, "address")
        if in_map:
            memory, address = map_memory()
            ctypes.memmove(address, value.address, MAP_BYTES)
        else:
            memory = type(value).from_buffer_copy(value)
            address = ctypes.addressof(memory)
        self._keep.append(memory)
        self._copies[id(value)] = address
        operand = getattr(value, "operand", "")
        if operand:
            self.slots.append((OPERANDS.index(operand), in_map, address))
        return address
