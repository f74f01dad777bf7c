"""The kernel that reads memory and writes next to nothing."""

import triton
import triton.language as tl


@triton.jit
def read(source, sums, words, block: tl.constexpr) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Sum every word of ``source``, each program a stride of blocks; one word written a program."""
    start = tl.program_id(0) * block
    total = tl.zeros((block,), dtype=tl.float32)
    for at in range(start, words, tl.num_programs(0) * block):
        total += tl.load(source + at + tl.arange(0, block))
    tl.store(sums + tl.program_id(0), tl.sum(total))
