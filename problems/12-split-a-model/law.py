"""What a way to split a model sends, waits for and holds: formulas without a measurement in them.

``ranks`` GPUs; a message's bytes are those of one rank's tensor unless it says otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

Points = Sequence[tuple[float, float]]
"""Places, rising, and what was measured at each."""

_US_OF_MS = 1e3


@dataclass(frozen=True)
class Sizes:
    """A case: the model's dimensions and the work. ``element``: bytes of a number."""

    ranks: int
    layers: int
    tokens: int
    width: int
    kv_width: int
    hidden: int
    element: int
    experts: int = 0
    top: int = 1
    microbatches: int = 1
    chunks: int = 1

    @property
    def attention_weights(self) -> int:
        """Return the weights of a layer's four projections."""
        return 2 * self.width * (self.width + self.kv_width)

    @property
    def shared_weights(self) -> int:
        """Return the weights of a layer without its feed-forwards: projections, router, norms."""
        return self.attention_weights + self.width * (self.experts + 2)

    @property
    def layer_weights(self) -> int:
        """Return all weights of a layer."""
        return self.shared_weights + 3 * self.width * self.hidden * max(self.experts, 1)

    @property
    def hidden_bytes(self) -> int:
        """Return the bytes of all tokens' hidden states."""
        return self.tokens * self.width * self.element


def sent(kind: str, size: float, ranks: int) -> float:
    """Return the bytes that one rank sends in a collective of ``size`` bytes.

    ``size``: of an all-reduce, the message; of an all-gather, what it returns; of a
    reduce-scatter, what it takes; of all others, what leaves the rank. A ring moves
    no less: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009. A one-shot
    all-reduce is counted as an all-reduce; over more than two ranks it moves more.
    """
    share = (ranks - 1) / ranks
    return {
        "all-reduce": 2 * share * size,
        "one-shot": 2 * share * size,
        "all-gather": share * size,
        "reduce-scatter": share * size,
    }.get(kind, size)


def forward_bytes(way: str, of: Sizes) -> float:
    """Return the bytes that a rank sends in one forward pass of a way; 0 for what sends nothing.

    Tensor parallelism sums twice a layer; sequence parallelism gathers and scatters what that
    sums, so it sends as much (Korthikanti et al., 2022, arXiv:2205.05198, section 4.2). A ring
    passes the local keys and values on ``ranks`` - 1 times (Liu et al., 2023, arXiv:2310.01889).
    Ulysses exchanges queries, keys, values and results (Jacobs et al., 2023, arXiv:2309.14509).
    """
    share = (of.ranks - 1) / of.ranks
    local = of.tokens / of.ranks
    a_layer = {
        "tensor": 4 * share * of.hidden_bytes,
        "ring": (of.ranks - 1) * local * 2 * of.kv_width * of.element,
        "ring-torch": (of.ranks - 1) * local * 2 * of.width * of.element,
        "ulysses": share * local * (2 * of.width + 2 * of.kv_width) * of.element,
        "experts": 2 * share * local * of.top * of.width * of.element,
        "none": 0.0,
    }
    return of.layers * a_layer[way]


def training_bytes(way: str, of: Sizes) -> float:
    """Return the mean over the ranks of what one sends in a training step.

    Data parallelism sums gradients. FSDP gathers the weights twice and scatters gradients once
    (Rajbhandari et al., 2020, arXiv:1910.02054, section 7); ``fsdp-keep`` gathers once. A pipeline
    sends hidden states on and their gradients back, over each border between two stages. Expert
    parallelism sums the gradients of what all ranks have, and exchanges the rows' gradients as it
    does rows.
    """
    share = (of.ranks - 1) / of.ranks
    weights = (of.layers * of.layer_weights + of.width) * of.element
    shared = (of.layers * of.shared_weights + of.width) * of.element
    borders = of.ranks * of.chunks - 1
    return {
        "data": 2 * share * weights,
        "experts": 2 * share * shared + 2 * forward_bytes("experts", of),
        "fsdp": 3 * share * weights,
        "fsdp-keep": 2 * share * weights,
        "pipeline": 2 * borders * of.hidden_bytes / of.ranks,
    }[way]


def bubble(schedule: str, of: Sizes) -> float:
    """Return the idle part of a pipeline's step, over the work of a stage.

    Narayanan et al., 2021, arXiv:2104.04473, section 2.2; without a bubble: Qi et al., 2023,
    arXiv:2401.10241, whose schedules split the backward pass.
    """
    micro = 1 if schedule == "naive" else of.microbatches
    waits = {"naive": 1.0, "gpipe": 1.0, "1f1b": 1.0, "interleaved": 1 / of.chunks, "zero": 1 / 3}
    return (of.ranks - 1) * waits[schedule] / micro


@dataclass(frozen=True)
class Overlap:
    """What a way hides: communication beside ``beside`` of the rank's own work, all but ``ends``.

    ``beside``: 0 hides nothing. ``ends``: parts of the communication that no work is beside.
    ``loss``: ms that the work takes longer per ms of communication beside it. Copies that the GPU's
    copy engines make, not ``by_kernels``, take no SM from it: their loss is not counted.
    """

    beside: float = 0.0
    ends: float = 0.0
    by_kernels: bool = True
    loss: float = 0.0

    def hidden_ms(self, part_ms: float, comm_us: float) -> float:
        """Return how many ms of communication have work beside them."""
        return min(comm_us / _US_OF_MS * (1 - self.ends), self.beside * part_ms)


def step_ms(part_ms: float, comm_us: float, overlap: Overlap, idle: float = 0.0) -> float:
    """Return the predicted ms of a step.

    ``part_ms``: the rank's own work, measured on one GPU alone. ``comm_us``: its collectives, each
    by what the link took for it alone. ``idle``: a pipeline's bubble, over the own work.
    """
    hidden = overlap.hidden_ms(part_ms, comm_us)
    return part_ms * (1 + idle) + comm_us / _US_OF_MS - hidden * (1 - overlap.loss)


def attention_share(of: Sizes) -> float:
    """Return the part of a forward pass's FLOP that attention has, whole sequences and causal."""
    attention = 2 * of.tokens * of.width
    products = 2 * (of.attention_weights + 3 * of.width * of.hidden * (of.top if of.experts else 1))
    return attention / (attention + products)


def between(points: Points, place: float) -> float:
    """Return the value at a place, by straight lines in log-log between measured points.

    Before the first it is the first's; beyond the last the last line goes on. ValueError where it
    takes a line and there is but one point.
    """
    if place <= points[0][0]:
        return points[0][1]
    lines = list(pairwise(points))
    if not lines:
        raise ValueError("it was measured at fewer than two sizes")
    (low, first), (high, last) = next((line for line in lines if place <= line[1][0]), lines[-1])
    return exp(log(first) + log(place / low) / log(high / low) * log(last / first))


def crossover(
    lengths: Sequence[float], first_ms: Sequence[float], second_ms: Sequence[float]
) -> float | None:
    """Return the length from which the first is faster for good, by straight lines in log-log.

    None if it never is, or is at every length.
    """
    gains = [log(b / a) for a, b in zip(first_ms, second_ms, strict=True)]
    for at in range(len(gains) - 1, 0, -1):
        if gains[at] <= 0:
            return None
        if gains[at - 1] <= 0:
            before, after = log(lengths[at - 1]), log(lengths[at])
            part = -gains[at - 1] / (gains[at] - gains[at - 1])
            return exp(before + part * (after - before))
    return None
