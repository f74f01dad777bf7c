"""Both ranks as the cell uses them: what one is told to do, the other does."""

from typing import Any

import torch
from rank import Rank
from ranks import Second


class Pair:
    """Rank 0 in this process, and rank 1 in the process that waits for its first message."""

    def __init__(self, second: Second, device: str) -> None:
        self._second = second
        second.tell("start", device)
        self.first = Rank(0, device=device, **second.given)
        second.wait()

    def have_gpus_alone(self) -> None:
        """Keep other cells off the GPUs until the phase ends, before steps wait for each other.

        Where processes share a GPU in time slices, a kernel that waits for the other GPU wastes
        its own. An event that measures time is what tells the harness (docs/measurement.md).
        """
        if self.first.device == "cuda":
            torch.cuda.Event(enable_timing=True)

    def go(self, action: str, *arguments: Any) -> Any:
        """Have both ranks do an action; return rank 0's result as soon as rank 0's host has it."""
        self._second.tell(action, *arguments)
        return self.first.do(action, *arguments)

    def both(self, action: str, *arguments: Any) -> Any:
        """Do the same, and wait until rank 1's host is done, too."""
        result = self.go(action, *arguments)
        self._second.wait()
        return result

    def end(self) -> None:
        """End both ranks: each gives up the communicator as the other does."""
        self.both("synchronize")
        self._second.end()
        self.first.close()

    def join(self) -> None:
        """Wait until rank 1's process has ended."""
        self._second.join()
