"""The thresholds of findings: each with its reason and where it comes from."""

MATTERS = 0.05
"""Of the subject's time: a cause that costs less is not named first, and a subject without a larger
one is healthy. Repeated runs of one process differ by 1 to 3 % (docs/statistics.md), so a smaller
gain would not be seen."""

SEEN = 0.01
"""Of the subject's time: a cause that explains less is not listed, as repeated runs of one process
differ by 1 to 3 % (docs/statistics.md)."""

REPEATED = 3
"""Gaps that a cause must explain, and one a measured step: what happened once or twice is not the
steady state."""

REPEATED_INPUT = 2
"""The same of waits for input, however many steps: a loader of W workers delivers W batches at
about the same time, so the device waits once in W steps (torch.utils.data.DataLoader hands batch i
to worker i modulo W)."""

WHOLE = 0.95
"""Of a capture's time: where less of it counts, a finding says how much."""

TIME_SLICE_NS = 750_000
"""A thread that loses its core may wait this long: the base slice of Linux's scheduler, before it
is scaled by the number of cores (kernel/sched/fair.c, sysctl_sched_base_slice, before 6.6
sysctl_sched_min_granularity). Where a host spent less time outside CUDA in all, a capture does not
tell the program's code from such a wait."""

RAMP_NS = 30_000
"""A measured step starts with an idle device: gaps in the time that two or three launches take are
the recording's, not the program's."""

ONE_GAP = 0.8
"""Of a cause's idle time: if its longest gap holds more, the cause is an event and no pattern."""

GRAPH_GAP_NS = 1_000
"""What a chain of kernels still waits between two of them in a CUDA graph: 0.2 to 1 µs on an H200
(reports/2-gemlite-autotune, gpu_ops of the graph variants)."""

PINNED_RATES = {7: 10e9, 8: 20e9, 9: 50e9}
"""Bytes a second that pinned memory is copied at, at least, by the major compute capability of a
GPU: from 9.0 (H100) on PCIe 5.0 x16, from 8.0 PCIe 4.0, before it PCIe 3.0, which carry 63, 31.5
and 15.8e9 a second (PCI Express Base Specifications), about four fifths of it as data. Capabilities
above count as 9; where none is known, as 8."""

COPY_BOUND = 2.0
"""Copies that last this many times as long as all kernels cannot hide behind them: then the fix is
to copy less, and the gain is their whole time."""

LINK_FULL = 0.8
"""Of a link's rate: copies that reach it are held up by the link. A copy takes some 4 µs to start,
a fifth of the time of 1 MiB over PCIe 5.0: slower ones are small, or their memory is far from the
GPU, and larger copies or nearer memory gain, too."""

IN_TURN = 0.1
"""Of the time that the device which computes least does: where more of it is beside another one's,
batches are divided among the stages already, and devices do not compute in turn."""

LEAST_OPERATIONS = 10
"""Operations of a capture without measured steps: fewer are a fragment of a program."""

BUSY = 0.9
"""Of the time: a device that computes for this part has at most 11 % to gain from its timeline."""

FULL_GRAPH = 0.5
"""Of the time: where graphs traced as one unit take more, the kernels in them decide and are not
seen."""

SAME_RANK = 0.6
"""Of the collectives: the rank that comes last in more of them is slow; below that, ranks take
turns and the wait is jitter. Of two ranks, chance gives each a half."""

SMALL_GRID = 0.5
"""Of the multiprocessors: two grids of at most this size fit a device side by side."""

FEW_BLOCKS = SMALL_GRID / 2
"""Of the multiprocessors: g blocks on S of them occupy g at most, so their work divided over all
would take g / S of the time. That is the most to gain: a grid does not say whether memory, which
all share, would allow it. So it is promised only where the two remedies hold at once: two such
kernels, each divided in two, still have a multiprocessor a block. A judgement: at SMALL_GRID itself
streams of sound twins side by side were named, too (problem 6, tests/data/held_out). Outside,
Nsight Compute warns of any grid below S (rule LaunchConfiguration), and NVIDIA's CUDA C++ Best
Practices Guide asks for more blocks than multiprocessors ("Thread and Block Heuristics")."""

SHORT_NS = 10_000
"""Kernels of at most this length are about as long as their launch, 5 to 8 µs from torch under nsys
(reports/1-torchao-float8, api_calls): more blocks would save what the next launch then takes."""

LONG_WAIT = 0.5
"""Of a kernel's own duration: it was ready for at least this long while another stream's kernel ran
alone."""

LINK = 0.05
"""Of the shorter of two kernels: what runs between them for at most as long is no work, but what
makes one wait for the other. Without it the two would still gain nineteen twentieths."""

LEAST_MULTIPROCESSORS = 40
"""Of a GPU of which neither capture nor datasheet says how many it has: a T4's, the fewest of the
datacentre GPUs since 2018 (NVIDIA T4 datasheet)."""
