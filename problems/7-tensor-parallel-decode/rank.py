"""A rank: its part of the stack, its exchanges and their graphs, and what rank 0 tells it to do.

Both ranks run the same actions in the same order. ``do("step")`` returns once the step is queued.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from any_ranks import Everyone
from exchange import made
from library_ways import LibraryWays
from link import Link
from operations import Fused, Plain
from peer import Arena
from ranks import RANKS
from sharding import SHAPES, hidden_states
from stack import Stack, reference
from straggler import Straggler
from sweep import Others, Sweep
from torch import Tensor
from workloads.decoder import Shape

_TIMEOUT = timedelta(seconds=60)
"""How long a rank waits for the other one to come."""
_WARM = 3
"""Steps before a capture: libraries allocate and choose in the first ones."""

# Two GPUs gain nothing by NVLink's multicast, and machines may lack the rights for it.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


class Rank:
    """Rank ``number`` of ``RANKS``; ``meeting``: a file by which the ranks find each other."""

    def __init__(self, number: int, params: dict[str, Any], device: str, meeting: str) -> None:
        self.number, self.params, self.device = number, params, device
        if device == "cuda":
            torch.cuda.set_device(number)
            torch.zeros(1, device="cuda")  # makes the context that the driver's calls need
        self.store = dist.FileStore(meeting, RANKS)
        self.store.set_timeout(_TIMEOUT)
        place = torch.device(device, number) if device == "cuda" else None
        backend = "nccl" if place else "gloo"
        dist.init_process_group(
            backend,
            store=self.store,
            rank=number,
            world_size=RANKS,
            device_id=place,
            timeout=_TIMEOUT,
        )
        self._arena: Arena | None = None
        self._stack: Stack | None = None
        self._steps: dict[str, Callable[[], Tensor]] = {}
        self._results: dict[str, Tensor] = {}
        self._exact: Tensor | None = None
        self._links: Link | None = None
        self._sweeps: dict[int, Sweep] = {}
        self._others: Others | None = None

    def do(self, action: str, *arguments: Any) -> Any:
        """Run an action by its name."""
        return getattr(self, action)(*arguments)

    @property
    def shape(self) -> Shape:
        """Return the dimensions of the model."""
        return SHAPES[self.params["model"]]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Return layers, batch and length of the cache."""
        return self.params["layers"], self.params["batch"], self.params["context"]

    def arena(self) -> Arena:
        """Return the memory that the other rank writes into; made when it is first asked for."""
        self._arena = self._arena or Arena(self.number, self.store)
        return self._arena

    def meet(self) -> None:
        """Wait until both ranks' devices have done all that they were given."""
        self.synchronize()
        dist.barrier()
        self.synchronize()

    def synchronize(self) -> None:
        """Wait for this rank's device."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def load(self) -> None:
        """Make this rank's part of the weights."""
        self._operations = Fused() if self.device == "cuda" else Plain()
        self._stack = Stack(self.shape, self.sizes, self.number, self.device, self._operations)
        self.meet()

    def begin(self, name: str, kind: str, graph: bool) -> None:
        """Make the step of an exchange, as a CUDA graph where ``graph`` and the device allow it."""
        stack = self._stack
        assert stack is not None, "load comes first"  # noqa: S101 - rank 0's order
        exchange = made(kind, self._operations, stack.batch, self.shape.width, self.arena)
        if not (graph and self.device == "cuda"):
            self._steps[name] = lambda: stack.step(exchange)
            self._steps[name]()
        else:
            self._steps[name] = captured(lambda: stack.step(exchange))
        self.meet()

    def input(self, number: int) -> Tensor:
        """Return the input of that number, [batch, width]."""
        return hidden_states(self.shape, self.params["batch"], number, self.device)

    def exact(self) -> Tensor:
        """Return the output of the whole stack for input 0 in fp32; computed once."""
        if self._exact is None:
            self._exact = reference(self.shape, self.sizes, self.input(0), torch.float32)
        return self._exact

    def load_input(self, number: int) -> None:
        """Put the input of that number where steps read it."""
        assert self._stack is not None, "load comes first"  # noqa: S101 - rank 0's order
        self._stack.x.copy_(self.input(number))

    def step(self, name: str) -> Tensor:
        """Launch a step; returns its output, which the next step of that name may overwrite."""
        result = self._results[name] = self._steps[name]()
        return result

    def differing(self, name: str) -> int:
        """Return how many elements of the last output differ between the ranks, bit by bit."""
        mine = self._results[name].contiguous().view(torch.uint8)
        both = [torch.empty_like(mine) for _ in range(RANKS)]
        dist.all_gather(both, mine)
        return int((both[0] != both[1]).sum())

    def measure_link(self) -> dict[str, list[float]]:
        """Return the rates and times of the link: see ``Link.measured``."""
        self._links = self._links or Link(self.number, self.arena())
        measured = self._links.measured()
        self.meet()
        return measured

    def time_alone(self, name: str) -> list[tuple[float, float]]:
        """Return each rank's ms a step and its SM clock in MHz, without any exchange."""
        mine = Straggler(lambda: self.step(name)).measured()
        pairs = torch.tensor([mine], dtype=torch.float64, device=self.device)
        both = [torch.empty_like(pairs) for _ in range(RANKS)]
        dist.all_gather(both, pairs)
        return [(float(ms), float(mhz)) for each in both for ms, mhz in each.tolist()]

    def sweep_begin(self, size: int, others: bool = False) -> None:
        """Make the all-reduces of messages of ``size`` bytes, and check each.

        ``others``: beside the ladder's, those of libraries and those of any number of ranks.
        """
        if others and self._others is None:
            self._others = Everyone(self.number, RANKS, self.store), LibraryWays()
        chosen = self._others if others else None
        self._sweeps[size] = Sweep(size, self.number, self.arena(), chosen, captured)
        self._sweeps[size].check()
        self.meet()

    def left_out(self) -> dict[str, str]:
        """Return which of the libraries' ways there are not, and why."""
        return self._others[1].left_out if self._others else {}

    def sweep_step(self, size: int, kind: str) -> None:
        """Launch a batch of all-reduces."""
        self._sweeps[size].launch(kind)

    def sweep_kinds(self, size: int) -> tuple[str, ...]:
        """Return the ways that such batches go."""
        return self._sweeps[size].kinds

    def batched(self, size: int, kind: str) -> int:
        """Return how many all-reduces such a batch has."""
        return self._sweeps[size].batched(kind)

    def close(self) -> None:
        """Give up graphs, then the communicator that they hold."""
        self.synchronize()
        self._steps.clear()
        self._sweeps.clear()
        if self._others:
            self._others[1].close()
        dist.destroy_process_group()


@dataclass(frozen=True)
class Replay:
    """A step as a CUDA graph.

    The graph knows tensors by address alone, so ``step`` is kept: without it an exchange's epochs
    would be freed, overwritten by another tensor, and the next replay would wait for ever.
    """

    step: Callable[[], Tensor]
    graph: torch.cuda.CUDAGraph
    result: Tensor

    def __call__(self) -> Tensor:
        """Launch the graph; returns its output, which the next replay overwrites."""
        self.graph.replay()
        return self.result


def captured(step: Callable[[], Tensor]) -> Replay:
    """Return the replay of a step as a CUDA graph; the step runs a few times before."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(_WARM):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # Other threads, such as the one that watches NCCL, may ask for their events meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = step()
    return Replay(step, graph, result)
