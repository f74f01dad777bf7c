"""The thresholds of findings on memory: each with its reason and where it comes from."""

SMALL_SEGMENT = 2 << 20
"""Bytes: torch's allocator keeps blocks of at most 1 MiB in segments of this size, apart from
larger ones (kSmallBuffer of c10/cuda/CUDACachingAllocator)."""

SHARED_SEGMENT = 20 << 20
"""Bytes: blocks above 1 MiB and below 10 MiB share segments of this size; a larger one gets a
segment of its own size (kLargeBuffer and kMinLargeAlloc of c10/cuda/CUDACachingAllocator)."""

FEW_BLOCKS = 8
"""Blocks that one expression makes: operands, results and intermediates of a function and of its
backward pass. The specimen transient-spike-logits of problem 6 has 3: logits, their copy in fp32,
and its softmax."""

MOST_OF_SPIKE = 0.5
"""Of the short-lived bytes at a peak: below this, other blocks hold more of them."""

SPIKE = 0.25
"""Of the reserved bytes: where the few largest short-lived blocks are less, other blocks make the
peak. Of the specimen transient-spike-logits they are 91 % (reports/6-bottleneck-zoo), of r40 of the
third held-out set, which is sound, 17 %."""

EVEN = 2
"""Times: blocks left in two quarters of the measured steps differ by no more where each step leaves
the same, because a quarter cuts at most one of four steps. The specimen leak-history of problem 6
leaves the same number in each."""

FRAGMENTED = 0.2
"""Of the reserved bytes: the caching allocator rounds segments up to 2 and 20 MiB, so programs
without any fault leave 10 % (leak_losses_healthy in tests/data/held_out) and 16 % in pieces (r34 of
its third set)."""

SCALAR = 512
"""Bytes: a block of one number, such as a loss; the allocator rounds up to as much (kMinBlockSize
of c10/cuda/CUDACachingAllocator)."""

CYCLES = 3
"""Of each quarter: steps that allocate and free again. A quarter of fewer is cut too unevenly."""

GROWTH = 0.5
"""Of the reserved bytes: where as much is left evenly, but nothing tells whether by steps or by the
layers of one pass, the snapshot is not called healthy."""

UNUSED = 0.3
"""Of the reserved bytes: where more is never in use and no finding says why, nothing is concluded.
Cached segments of an earlier phase are reused piece by piece, so some always lie idle: at most 7 %
in the healthy twins of problem 6 (transient-spike-logits)."""
