"""Count the recorded graphs and their nodes, through the driver.

torch destroys the graph once it is instantiated, so its nodes are counted at the last moment of the
recording. The driver's library is called by its stable C names; nothing has to be installed for it.
"""

import ctypes
from collections.abc import Callable
from typing import Any

Count = Callable[[int], int | None]
"""From a stream that records to the number of nodes so far; None if the driver does not say."""

Blocks = list[tuple[int, int]]
"""Address and bytes of each."""

_RECORDING = 1
_ASK = "cuStreamGetCaptureInfo_v3"  # the second version refuses if any edge says more than "after"


class Recorder:
    """Counts graphs and their nodes from ``install`` on, and notes what each holds."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._nodes: list[int | None] = []
        self._held: Blocks = []

    def install(self, graph: Any, stream: Callable[[], int], held: Callable[[], Blocks]) -> None:
        """Count whatever ``graph``, the class, records.

        ``stream`` returns the recording stream, ``held`` the allocated blocks of the graphs' pools.
        Right after a recording Inductor frees its workspaces, and its replays go on using them.
        """
        end = graph.capture_end

        def capture_end(recorded: Any) -> None:
            self._nodes.append(self._count(stream()))
            self._held += held()
            end(recorded)

        graph.capture_end = capture_end

    @property
    def held(self) -> Blocks:
        """Return the blocks allocated in the graphs' pools as each recording ended."""
        return self._held

    def forget(self) -> None:
        """Hold no graph's blocks any more: the graphs are gone."""
        self._held = []

    @property
    def graphs(self) -> int | None:
        """Return how many graphs were recorded; an empty one, which keeps a pool alive, is none."""
        counts = self._counts()
        return None if counts is None else sum(nodes > 0 for nodes in counts)

    @property
    def nodes(self) -> int | None:
        """Return the nodes of all graphs; None if any is unknown: part of a sum is not the sum."""
        counts = self._counts()
        return None if counts is None else sum(counts)

    def _counts(self) -> list[int] | None:
        counts = [nodes for nodes in self._nodes if nodes is not None]
        return counts if len(counts) == len(self._nodes) else None


def driver() -> Count:
    """Return a count that asks this machine's driver."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return lambda _: None
    return lambda stream: captured_nodes(library, stream)


def captured_nodes(library: Any, stream: int) -> int | None:
    """Return how many nodes were recorded on ``stream`` so far; None if the driver does not say."""
    if not hasattr(library, _ASK):
        return None  # drivers before CUDA 12.3
    status, number, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
    before, edges, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    failed = getattr(library, _ASK)(
        ctypes.c_void_p(stream),
        ctypes.byref(status),
        ctypes.byref(number),
        ctypes.byref(graph),
        ctypes.byref(before),
        ctypes.byref(edges),
        ctypes.byref(count),
    )
    if failed or status.value != _RECORDING:
        return None
    nodes = ctypes.c_size_t()
    if library.cuGraphGetNodes(graph, None, ctypes.byref(nodes)):
        return None
    return nodes.value
