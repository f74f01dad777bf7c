"""Which doubtful cells run a second time: none whose doubt a repetition is known to keep.

Pure, but for the lock: cells of one case wait while one of them is tried again.
"""

import contextlib
import threading
from collections.abc import Collection, Iterable, Iterator

from harness.evidence.cell_record import CellRecord
from harness.machine.stability import OF_THE_LOAD


class Retries:
    """Knows which doubts a second try kept, by case; ``records`` are those of the run so far."""

    def __init__(self, records: Iterable[CellRecord] = ()) -> None:
        self._kept: dict[str, set[str]] = {}
        self._turns: dict[str, threading.Lock] = {}
        for record in records:
            self.learn(record)

    @contextlib.contextmanager
    def turn(self, record: CellRecord) -> Iterator[bool]:
        """Yield whether a doubtful cell runs again; others of its case wait for what comes of it.

        It does not where all its doubts are of the load and stayed in another cell's repetition.
        """
        if not _of_the_load(record.doubts or ()):
            yield True
            return
        with self._turns.setdefault(record.case, threading.Lock()):
            yield not _of_the_load(record.doubts or ()) <= self._kept.get(record.case, set())

    def learn(self, record: CellRecord) -> None:
        """Note the doubts that a cell had in both tries."""
        both = _of_the_load(record.retried) & _of_the_load(record.doubts or ())
        self._kept.setdefault(record.case, set()).update(both)


def _of_the_load(doubts: Collection[str]) -> set[str]:
    """Return the kinds of doubts if all are of the load, else nothing."""
    kinds = {kind for doubt in doubts for kind in OF_THE_LOAD if doubt.startswith(kind)}
    return kinds if all(doubt.startswith(OF_THE_LOAD) for doubt in doubts) else set()
