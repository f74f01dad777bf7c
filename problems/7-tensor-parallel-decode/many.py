"""All-reduces over any number of GPUs, each way in turn: a process a rank, and all run this alike.

The cell's process is rank 0 and keeps what was measured; ``python many.py`` is one of the others.
"""

import json
import os
import random
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from any_ranks import Everyone
from crossings import Taken, crossings
from in_turn import WARM_TURNS, ratios, timed
from library_ways import LibraryWays, chained, nccl_batch, summed
from rank import captured
from sharding import seeded
from sweep import OWN, PACKED, SumError, any_batches, near
from torch import Tensor

_TIMEOUT = timedelta(seconds=240)
_COUNT = 50
"""All-reduces of a batch, which is one CUDA graph."""

Keep = Callable[..., None]


class Others:
    """The processes of ranks 1 and up: each imports torch, and waits until it is told to begin."""

    def __init__(self, params: dict[str, Any], meeting: str) -> None:
        self.given = {"params": params, "meeting": meeting, "seed": random.getrandbits(32)}
        self._processes = [
            subprocess.Popen(
                [sys.executable, __file__],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.PIPE,
                text=True,
            )
            for _ in range(1, params["ranks"])
        ]

    def begin(self) -> None:
        """Have each take its GPU."""
        for rank, process in enumerate(self._processes, 1):
            assert process.stdin is not None  # noqa: S101 - a pipe was asked for
            process.stdin.write(json.dumps(self.given | {"rank": rank}))
            process.stdin.close()

    def end(self) -> None:
        """Wait a minute for them; end those that still run."""
        for process in self._processes:
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()


class Ranks:
    """Rank ``rank`` of those that sum, with the host's own group beside NCCL's."""

    def __init__(self, rank: int, size: int, meeting: str) -> None:
        self.rank, self.size = rank, size
        torch.cuda.set_device(rank)
        torch.zeros(1, device="cuda")  # makes the context that the driver's calls need
        store = dist.FileStore(meeting, size)
        store.set_timeout(_TIMEOUT)
        place = torch.device("cuda", rank)
        dist.init_process_group(
            "nccl", store=store, rank=rank, world_size=size, device_id=place, timeout=_TIMEOUT
        )
        self._hosts = dist.new_group(backend="gloo", timeout=_TIMEOUT)
        self.everyone, self.libraries = Everyone(rank, size, store), LibraryWays()

    def timed(self, launch: Callable[[], object], count: int) -> float:
        """Return the µs of ``count`` launches on the slowest GPU; all begin together."""
        torch.cuda.synchronize()
        dist.barrier(group=self._hosts)
        taken = torch.tensor([timed(launch, count)], dtype=torch.float64)
        dist.all_reduce(taken, dist.ReduceOp.MAX, group=self._hosts)
        return 1e3 * float(taken)

    def ways(self, size: int) -> tuple[Tensor, dict[str, Callable[[], Tensor]]]:
        """Return the message and, by way, what launches a batch of its all-reduces."""
        x = torch.zeros(size // 2, dtype=torch.bfloat16, device="cuda")
        batches = {"nccl": nccl_batch(x, _COUNT)}
        batches |= any_batches(self.everyone, x, _COUNT)
        batches |= self.libraries.made(x, _COUNT)
        return x, {
            name: batch if name == "nccl-launched" else captured(batch)
            for name, batch in batches.items()
        }

    def check(self, x: Tensor, ways: dict[str, Callable[[], Tensor]]) -> None:
        """Compare each way's sums with torch's; SumError where one is wrong.

        What every rank rounds once has to have the very bits; the others may round on the way.
        Libraries sum what was summed: each of a batch multiplies by the number of ranks.
        """
        for number in range(2):
            parts = [
                torch.empty_like(x).normal_(generator=seeded(self.size * number + rank, "cuda"))
                for rank in range(self.size)
            ]
            for name, way in ways.items():
                x.copy_(parts[self.rank])
                expected, result = summed(name, parts, _COUNT), way()
                right = torch.equal(result, expected) if name in PACKED else near(result, expected)
                if not right:
                    raise SumError(f"{name}, {x.nbytes} bytes, round {number}: not the sum")
        torch.cuda.synchronize()
        dist.barrier(group=self._hosts)

    def close(self) -> None:
        """Give up what the communicator has to outlive, then the communicator."""
        torch.cuda.synchronize()
        dist.barrier(group=self._hosts)
        self.libraries.close()
        dist.destroy_process_group()


def measured(ranks: Ranks, params: dict[str, Any], seed: int, alone: Any, keep: Keep) -> None:
    """Time every way by size, in a new order a turn; ``alone(region)``: holds the GPUs meanwhile.

    ``keep(region, name, unit, values)`` gets the samples, and facts where ``region`` is empty.
    """
    order = random.Random(seed)  # noqa: S311 - the same on every rank
    taken: Taken = {}
    for kb in params["sizes_kb"]:
        region = f"{kb}KiB"
        with alone(region):
            x, ways = ranks.ways(kb << 10)
            ranks.check(x, ways)
            us: dict[str, list[float]] = {name: [] for name in ways}
            for turn in range(WARM_TURNS + params["turns"]):
                for name in order.sample(list(ways), len(ways)):
                    value = ranks.timed(ways[name], params["batches_a_turn"])
                    if turn >= WARM_TURNS:
                        count = chained(name, _COUNT) * params["batches_a_turn"]
                        us[name].append(value / count)
        stated(region, us, keep)
        taken[kb] = {name: median(values) for name, values in us.items()}
        ways.clear()  # a graph that lives on keeps its communicator from ending
    for pair, kib in crossings(taken).items():
        keep("", f"crossing_kib.{pair}", "KiB", kib)
    for name, why in ranks.libraries.left_out.items():
        keep("", f"left_out.{name}", "", why)


def stated(region: str, us: dict[str, list[float]], keep: Keep) -> None:
    """Keep a size's times, and the fastest own way over the fastest of libraries."""
    for name, values in us.items():
        keep(region, f"{name.replace('-', '_')}_us", "µs", values)
    best = min(OWN, key=lambda name: median(us[name]))
    rival = min(set(us) - set(OWN), key=lambda name: median(us[name]))
    keep("", f"best.{region}", "", best)
    keep("", f"rival.{region}", "", rival)
    keep(region, "best_own_us", "µs", us[best])
    keep(region, "best_of_libraries", "×", ratios(us[best], us[rival]))


def run(cell: Any, others: Others) -> None:
    """Measure as rank 0, and keep the samples in the cell."""

    def keep(region: str, name: str, unit: str, values: Any) -> None:
        if region:
            cell.sample(region, name, unit, values)
        else:
            cell.fact(name, values, unit)

    given = others.given
    with cell.phase("start"):
        others.begin()
        ranks = Ranks(0, cell.params["ranks"], given["meeting"])
    measured(ranks, cell.params, given["seed"], cell.exclusively, keep)
    ranks.close()
    cell.finish()
    others.end()


def main() -> None:
    """Be one of the other ranks, as standard input says which."""
    given = json.loads(sys.stdin.read() or "null")
    if given is None:
        return  # rank 0 has ended before it began
    params = given["params"]
    with torch.inference_mode():
        ranks = Ranks(given["rank"], params["ranks"], given["meeting"])
        measured(ranks, params, given["seed"], lambda _: nullcontext(), lambda *_: None)
        ranks.close()


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # the communicator's threads would wait for the other ranks
