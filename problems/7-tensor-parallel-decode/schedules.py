"""All-reduces over any number of ranks, as what each rank does in which order.

A message is ``words`` of 16 bytes. Each rank works on a copy of its own. A step sends a range of it
into a slot of another rank's inbox, or waits for a slot of its own and puts that over the range or
adds it there. Every rank's last step depends on what every rank has, so two alternating inboxes are
enough, as with two ranks.
"""

from dataclasses import dataclass
from itertools import pairwise

SEND, ADD, PUT, ADD_ALL = range(4)
"""``ADD_ALL``: the sum of all ranks' ranges in their order, this one's own in its place."""


@dataclass(frozen=True)
class Step:
    """``first``, ``count``: the range in words. ``place``: the slot's first word in the inbox.

    ``flag``: the slot's number. Of ``ADD_ALL`` both are of the first slot; the others follow.
    """

    kind: int
    peer: int
    first: int
    count: int
    place: int = 0
    flag: int = 0


class Written:
    """The steps of all ranks; a send and its receiver's wait are written together."""

    def __init__(self, ranks: int) -> None:
        self.steps: list[list[Step]] = [[] for _ in range(ranks)]
        self.words, self.flags = [0] * ranks, [0] * ranks

    def pass_on(self, source: int, target: int, first: int, count: int) -> tuple[int, int]:
        """Have ``source`` send a range; return the slot in the inbox of ``target``."""
        place, flag = self.words[target], self.flags[target]
        self.words[target] += count
        self.flags[target] += 1
        self.steps[source].append(Step(SEND, target, first, count, place, flag))
        return place, flag

    def take(self, rank: int, kind: int, source: int, span: tuple[int, int, int, int]) -> None:
        """Have ``rank`` wait for a slot; ``span``: first, count, place, flag."""
        self.steps[rank].append(Step(kind, source, *span))


def one_shot(ranks: int, words: int) -> Written:
    """Everyone sends all to everyone, and adds: (ranks - 1) messages, one wait."""
    written = Written(ranks)
    _gather(written, [(rank, 0, words) for rank in range(ranks)])
    return written


def two_shot(ranks: int, words: int) -> Written:
    """Everyone adds a part and sends it to everyone: 2 (ranks - 1) / ranks messages, two waits."""
    written = Written(ranks)
    parts = [(rank, *span) for rank, span in enumerate(spans(ranks, words))]
    _gather(written, parts)
    slots = [
        (other, owner, first, count, *written.pass_on(owner, other, first, count))
        for owner, first, count in parts
        for other in range(ranks)
        if other != owner
    ]
    for rank, owner, *span in slots:
        written.take(rank, PUT, owner, tuple(span))
    return written


def _gather(written: Written, parts: list[tuple[int, int, int]]) -> None:
    """Have each owner add its part, (owner, first, count), of all ranks."""
    waits = []
    for owner, first, count in parts:
        waits.append((owner, (first, count, written.words[owner], written.flags[owner])))
        for source in range(len(written.steps)):
            if source != owner:
                written.pass_on(source, owner, first, count)
    for owner, span in waits:
        written.take(owner, ADD_ALL, owner, span)


def ring(ranks: int, words: int) -> Written:
    """Parts go round twice, first added up, then put: 2 (ranks - 1) / ranks messages and hops."""
    written = Written(ranks)
    parts = spans(ranks, words)
    for kind, shift in ((ADD, 0), (PUT, 1)):
        for hop in range(ranks - 1):
            coming = []
            for rank in range(ranks):
                first, count = parts[(rank + shift - hop) % ranks]
                target = (rank + 1) % ranks
                slot = written.pass_on(rank, target, first, count)
                coming.append((target, rank, first, count, *slot))
            for target, source, *span in coming:
                written.take(target, kind, source, tuple(span))
    return written


def tree(ranks: int, words: int) -> Written:
    """Up a binary tree, added, and down again: two messages a rank at most, 2 log2(ranks) waits."""
    written = Written(ranks)
    far = 1
    levels = []
    while far < ranks:
        levels.append(far)
        for low in range(0, ranks - far, 2 * far):
            slot = written.pass_on(low + far, low, 0, words)
            written.take(low, ADD, low + far, (0, words, *slot))
        far *= 2
    for far in reversed(levels):
        for low in range(0, ranks - far, 2 * far):
            slot = written.pass_on(low, low + far, 0, words)
            written.take(low + far, PUT, low, (0, words, *slot))
    return written


def doubling(ranks: int, words: int) -> Written:
    """Pairs at distance 1, 2, 4 … swap all and add: log2(ranks) messages and waits.

    ValueError unless ``ranks`` is a power of two.
    """
    if ranks & (ranks - 1):
        raise ValueError(f"recursive doubling over {ranks} ranks: it needs a power of two")
    written = Written(ranks)
    far = 1
    while far < ranks:
        slots = [written.pass_on(rank, rank ^ far, 0, words) for rank in range(ranks)]
        for rank, slot in enumerate(slots):
            written.take(rank ^ far, ADD, rank, (0, words, *slot))
        far *= 2
    return written


ALGORITHMS = {
    "one-shot": one_shot,
    "two-shot": two_shot,
    "ring": ring,
    "tree": tree,
    "doubling": doubling,
}


def spans(ranks: int, words: int) -> list[tuple[int, int]]:
    """Return the first word and the count of as many even parts as there are ranks."""
    edges = [rank * words // ranks for rank in range(ranks + 1)]
    return [(low, high - low) for low, high in pairwise(edges)]
