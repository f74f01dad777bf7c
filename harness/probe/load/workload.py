"""What is asked of an engine: when requests come, and how long prompts and outputs are.

All is drawn from a seed. Arrivals, lengths and tokens have a stream of random numbers each, so at
another rate the same requests come, only closer.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count, islice, repeat
from random import Random

_SHARES = (0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1)

Arrivals = Callable[[Random], Iterator[float]]
"""Yields the times at which requests are due, in seconds from the start."""


@dataclass(frozen=True)
class Request:
    """A prompt of token ids that is due ``due_ns`` after the start, and its most new tokens."""

    name: str
    due_ns: int
    prompt: list[int]
    most_new: int


@dataclass(frozen=True)
class Lengths:
    """A distribution of numbers of tokens by its quantiles: ``tokens`` at each of ``shares``.

    Between two quantiles it is uniform. Draws outside of ``least`` to ``most`` become these.
    """

    tokens: tuple[int, ...]
    shares: tuple[float, ...] = _SHARES
    least: int = 1
    most: int | None = None

    def draw(self, random: Random) -> int:
        """Return a number of tokens."""
        return self.quantile(random.random())

    def quantile(self, share: float) -> int:
        """Return the tokens that a ``share`` (0 to 1) of draws does not exceed."""
        place = min(bisect_right(self.shares, share), len(self.shares) - 1)
        (low, high), (left, right) = (
            values[place - 1 : place + 1] for values in (self.tokens, self.shares)
        )
        tokens = round(low + (high - low) * (share - left) / (right - left))
        return min(max(tokens, self.least), tokens if self.most is None else self.most)


def fixed(tokens: int) -> Lengths:
    """Return the distribution that is always ``tokens``."""
    return Lengths((tokens, tokens), (0, 1))


LENGTHS: dict[str, tuple[Lengths, Lengths]] = {
    "azure-conversation-2023": (
        Lengths(
            (2, 29, 181, 207, 387, 403, 703, 1020, 1071, 1130, 1315, 2734, 4083, 4142, 6122, 14050)
        ),
        Lengths((7, 16, 41, 54, 77, 91, 103, 129, 177, 384, 400, 424, 451, 601, 954, 1000)),
    ),
    "azure-code-2023": (
        Lengths(
            (3, 17, 75, 147, 385, 770, 1075, 1469, 1909, 2433, 3192, 5186, 7302, 7436, 7437, 7437)
        ),
        Lengths((6, 6, 6, 7, 8, 9, 11, 13, 16, 20, 29, 55, 90, 249, 824, 1899)),
    ),
}
"""Trace to the lengths of its prompts and of its outputs.

The Azure LLM inference traces of 2023 (Patel et al., Splitwise, ISCA 2024; CC-BY, at
Azure/AzurePublicDataset): order statistics of ContextTokens and GeneratedTokens of their 19,366 and
8,819 requests. No fit: they have several peaks, which no lognormal has. The largest distance of the
distribution functions is 0.07, as a third of the conversation's prompts have few lengths.
Prompt and output are drawn apart: in the traces their rank correlation is 0.07 and -0.02.
"""


def poisson(rate: float) -> Arrivals:
    """Return arrivals of a Poisson process: independent exponential gaps of 1/``rate`` s mean."""

    def times(random: Random) -> Iterator[float]:
        now = 0.0
        while True:
            now += random.expovariate(1.0) / rate
            yield now

    return times


def bursts(size: int, every_s: float) -> Arrivals:
    """Return arrivals of ``size`` requests at once, every ``every_s`` seconds from the start."""
    return lambda _: chain.from_iterable(repeat(number * every_s, size) for number in count())


def at_once() -> Arrivals:
    """Return arrivals that are all due at the start."""
    return lambda _: repeat(0.0)


def requests(
    number: int,
    arrivals: Arrivals,
    lengths: tuple[Lengths, Lengths],
    seed: int,
    vocabulary: int = 256,
) -> list[Request]:
    """Return ``number`` requests in the order of their arrival; token ids below ``vocabulary``.

    ``lengths``: of prompts and of outputs, as in LENGTHS.
    """
    of_prompts, of_outputs = lengths
    names = ("arrivals", "prompts", "outputs", "tokens")
    streams = [Random(f"{seed} {name}") for name in names]  # noqa: S311 - no secrets
    coming, prompts, outputs, tokens = streams
    return [
        Request(
            str(place),
            round(due * 1e9),
            tokens.choices(range(vocabulary), k=of_prompts.draw(prompts)),
            of_outputs.draw(outputs),
        )
        for place, due in enumerate(islice(arrivals(coming), number))
    ]
