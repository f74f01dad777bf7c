"""Inputs of a step as numbers: the sizes they have, and a plan written into them."""

from dataclasses import dataclass

import numpy as np
from workloads.engine.schedule import Plan, Row


@dataclass(frozen=True)
class Form:
    """Sizes of a step: ``rows`` and ``tokens`` with padding; see ``Inputs`` for the others."""

    rows: int
    tokens: int
    singles: int
    longest: int

    @property
    def sizes(self) -> list[int]:
        """Return how many numbers each input has, in the order of ``Inputs``."""
        return [self.tokens] * 3 + [self.rows] * 3 + [self.rows + 1]

    def places(self, plan: Plan) -> list[int]:
        """Return where each row of a plan stands: prompts behind all places of decodes."""
        prompts = range(self.singles, self.singles + len(plan.rows) - plan.decodes)
        return [*range(plan.decodes), *prompts]


def form_of(plan: Plan) -> Form:
    """Return the sizes of a step without padding."""
    longest = max(row.count for row in plan.rows)
    return Form(len(plan.rows), plan.tokens, plan.decodes, longest if longest > 1 else 0)


def padding(form: Form) -> np.ndarray:
    """Return inputs of a token a row, at most one row of prompts, all written to block 0."""
    firsts = np.minimum(np.arange(form.rows + 1), form.singles + (form.longest > 0))
    ids = np.zeros(3 * form.tokens + form.rows)
    return np.concatenate([ids, np.diff(firsts), firsts[1:] - 1, firsts]).astype(np.int32)


def packed(plan: Plan, form: Form, block: int, table_width: int) -> np.ndarray:
    """Return a plan's inputs, and what the block tables lack: places, then as many blocks."""
    columns: list[list[int]] = [[], [], []]
    slots, ends, counts = (np.zeros(form.rows, dtype=np.int32) for _ in range(3))
    where: list[int] = []
    blocks: list[int] = []
    for row, place in zip(plan.rows, form.places(plan), strict=True):
        request = row.request
        _add_tokens(columns, row, block)
        slots[place], counts[place], ends[place] = request.slot, row.count, row.start + row.count
        base = request.slot * table_width
        where.extend(range(base + request.tabled, base + len(request.blocks)))
        blocks.extend(request.blocks[request.tabled :])
        request.tabled = len(request.blocks)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    fill = [0] * (form.tokens - plan.tokens)
    parts = [column + fill for column in columns]
    parts += [slots, ends, np.maximum(firsts[1:] - 1, 0), firsts, where, blocks]
    return np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])


def _add_tokens(columns: list[list[int]], row: Row, block: int) -> None:
    """Append ids (-1: the slot's last token), positions and places of a row's tokens."""
    ids, positions, places = columns
    request, span = row.request, range(row.start, row.start + row.count)
    known = request.tokens()[row.start : row.start + row.count]
    ids.extend(known + [-1] * (row.count - len(known)))
    positions.extend(span)
    places.extend(request.blocks[at // block] * block + at % block for at in span)
