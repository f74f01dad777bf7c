"""Blocks of the key-value cache: who holds which, and which prompts' tokens they hold."""

from collections import OrderedDict
from collections.abc import Sequence

Key = tuple[int, ...]
"""A block's tokens behind the hash of the key before it: equal keys, equal prefixes."""


class NoBlocksError(Exception):
    """More blocks were asked for than are free."""


class Blocks:
    """``count`` blocks of ``size`` tokens, numbered from 1; block 0 is written by padding only.

    A block is held by one request or by several that begin alike. One that nobody holds is free;
    while its tokens are known it can still be found, until it is taken for others: the one that was
    given back first goes first.
    """

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        self._empty = list(range(count, 0, -1))
        self._known: OrderedDict[int, None] = OrderedDict()
        self._holders = [0] * (count + 1)
        self._key: dict[int, Key] = {}
        self._at: dict[Key, int] = {}

    @property
    def free(self) -> int:
        """Return how many blocks can be taken."""
        return len(self._empty) + len(self._known)

    def needed(self, tokens: int) -> int:
        """Return how many blocks hold ``tokens`` tokens."""
        return -(-tokens // self.size)

    def take(self, count: int) -> list[int]:
        """Take ``count`` blocks of unknown content.

        Raises
        ------
        NoBlocksError
            Fewer are free; none was taken.

        """
        if count > self.free:
            raise NoBlocksError(f"{count} blocks asked for, {self.free} of {self.count} are free")
        return [self._take() for _ in range(count)]

    def give_back(self, blocks: Sequence[int]) -> None:
        """Let go of ``blocks``, the last first: a prefix is worth more than what follows it."""
        for block in reversed(blocks):
            self._holders[block] -= 1
            if self._holders[block]:
                continue
            if block in self._key:
                self._known[block] = None
            else:
                self._empty.append(block)

    def find(self, tokens: Sequence[int]) -> list[int]:
        """Hold and return the blocks that are known to begin ``tokens``, but never all of it.

        The last token is always left over: its logits are what the prefill is for.
        """
        found = []
        for key in self._keys(tokens, (len(tokens) - 1) // self.size):
            block = self._at.get(key)
            if block is None:
                break
            self._known.pop(block, None)
            self._holders[block] += 1
            found.append(block)
        return found

    def know(self, tokens: Sequence[int], blocks: Sequence[int]) -> None:
        """Remember that ``blocks`` hold ``tokens``, as far as they fill whole blocks."""
        for key, block in zip(self._keys(tokens, len(tokens) // self.size), blocks, strict=False):
            if key not in self._at and block not in self._key:
                self._at[key], self._key[block] = block, key

    def _keys(self, tokens: Sequence[int], blocks: int) -> list[Key]:
        keys, before = [], 0
        for at in range(blocks):
            key = (before, *tokens[at * self.size : (at + 1) * self.size])
            keys.append(key)
            before = hash(key)
        return keys

    def _take(self) -> int:
        if self._empty:
            block = self._empty.pop()
        else:
            block, _ = self._known.popitem(last=False)
            del self._at[self._key.pop(block)]
        self._holders[block] = 1
        return block
