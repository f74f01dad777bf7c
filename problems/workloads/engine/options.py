"""What the engine's user can switch, each of it one decision of a serving engine."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Options:
    """Decisions of the scheduler and the runner; the defaults are the last step of the ladder."""

    batching: Literal["static", "continuous"] = "continuous"
    """Static: a batch is formed when the last one has ended, and its rows stay till all have."""
    reservation: Literal["whole", "paged"] = "paged"
    """Blocks for prompt and all new tokens at admission, or one after the other as they fill."""
    chunked: bool = True
    """Prefill takes what the decodes leave of the token budget; else prompts run whole, alone."""
    token_budget: int = 2048
    """Most tokens that a step computes; a whole prompt may exceed it."""
    most_running: int = 64
    """Most requests that run at once."""
    graph_batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    """Batch sizes of decode steps that are captured as CUDA graphs; others are padded up to one."""
    mixed_graphs: bool = True
    """Steps with tokens of prompts are captured, too, for token budgets of at most 512."""
    ahead: bool = True
    """Plan and launch a step before the tokens of the one before it are read."""
    fused: bool = True
    """Norms, SwiGLU and sums run within the matrix products of decode steps of few rows."""
    reuse_prefixes: bool = True
    """Blocks of prompts stay known by their tokens; a prompt that begins with them skips them."""
    offload: bool = False
    """A preempted request's blocks go to host memory and come back, instead of being recomputed."""
    block: int = 16
    """Tokens in a block of the cache."""
    temperature: float = 0.0
    """0 takes the likeliest token; above, tokens are drawn from the softmax of logits by it."""

    def __post_init__(self) -> None:
        """Refuse what cannot run.

        Raises
        ------
        ValueError
            A number is out of its range, or decisions contradict each other.

        """
        if self.token_budget < 1 or self.most_running < 1 or self.block < 1:
            raise ValueError("token_budget, most_running and block must be 1 or more")
        if self.chunked and self.token_budget < self.most_running:
            raise ValueError("chunked prefill needs a token_budget of most_running or more")
        if self.temperature < 0:
            raise ValueError(f"temperature is {self.temperature}, must be 0 or more")
        if self.batching == "static" and (self.chunked or self.reservation == "paged"):
            raise ValueError('a static batch takes chunked=False and reservation="whole"')
