"""Which memory instructions a launch's warps waited for, by the samples of SourceCounters.

A warp is sampled at the instruction that cannot issue: the one that reads a result, not the load or
atomic that makes it. So samples count for the memory instruction shortly before that writes one of
the registers which the sampled instruction reads, or else for the instruction itself.
"""

from collections.abc import Sequence

from harness.analysis.diagnose.launch import mix, warps
from harness.analysis.diagnose.launch.counted import Counted, Instruction

_BACK = 64
"""Instructions between a result and its first use: compilers hoist loads by a loop body."""
_MADE_BY = mix.ATOMIC | mix.LOCAL | mix.LOAD | mix.CONSTANT


def share(view: Counted, opcodes: frozenset[str]) -> float | None:
    """Return the samples of warps at these memory opcodes, or waiting for them, of all samples."""
    whole = sum(each.samples for each in view.instructions)
    if not whole:
        return None
    samples = 0
    made: list[tuple[int, str, set[int]]] = []
    for index, each in enumerate(view.instructions):
        if each.samples:
            samples += each.samples if _maker(each, index, made) in opcodes else 0
        if each.opcode in _MADE_BY:
            made.append((index, each.opcode, mix.written(each)))
    return samples / whole


def _maker(sampled: Instruction, index: int, made: Sequence[tuple[int, str, set[int]]]) -> str:
    """Return the opcode of the memory instruction that the one at ``index`` waits for.

    ``made``: place, opcode and registers of each that stands before it.
    """
    if sampled.opcode in _MADE_BY:
        return sampled.opcode
    read = set(mix.registers(sampled.sass))
    for place, opcode, written in reversed(made):
        if place < index - _BACK:
            break
        if read & written:
            return opcode
    return sampled.opcode


def for_constants(view: Counted) -> float | None:
    """Return the part of the warps' cycles spent waiting for loads of constant memory.

    No more than they wait for the queue of such loads (MIO) or for their results (short
    scoreboard): arithmetic that reads a constant is sampled while it waits for its pipe, too.
    """
    sampled = share(view, mix.CONSTANT)
    if sampled is None:
        return None
    return min(sampled, warps.waiting(view, "mio_throttle", "short_scoreboard"))


def for_memory(view: Counted) -> float | None:
    """Return the cycles that a warp waits for memory by each access of global memory, on average.

    For what a load or atomic returns, or for room in the queue that accesses go through.
    """
    stalled = warps.an_instruction(view, "long_scoreboard", "lg_throttle")
    accesses = mix.share(view, mix.GLOBAL)
    return stalled / accesses if stalled is not None and accesses else None
