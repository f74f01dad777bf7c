"""The thresholds of findings on kernels: each with its reason and where it comes from."""

CEILINGS = {"DRAM": 0.925, "tensor pipe": 0.96}
"""What the best kernels reach of a part's peak, where that is less than all of it. DRAM: reads of
4 453 GB/s of 4 813 on an H200, `harness doctor --calibrate`. Tensor pipe: 95.2 to 96.6 % of the
active cycles in the fastest products of problem 4, its torch.mm among them."""

AT_CEILING = 0.6
"""Of a ceiling. Below it Nsight Compute's own guidance speaks of latency: "achieved compute
throughput and/or memory bandwidth below 60.0% of peak typically indicate latency issues" (its rule
SOLBottleneck). From there on a launch is bound by the part, and healthy unless the work is
wasted."""

SATURATED = 0.7
"""Of a pipe's ceiling: from there on more warps hardly help, and only less work for the pipe does.
Between the 60 % of that rule and the 80 % from which it calls a part highly used. The double
accumulator of problem 6 fills 76 % of the FP64 pipe, and is bound by it."""

AT_ATOMICS = 0.5
"""Of the samples of warps: half of the time goes to atomics. Shared atomics take less than 5 %
in the healthy twins of problem 6."""

CLOSE = 0.08
"""Two uses that differ by less name the more specific part: FFMAs take issue slots, too."""

SPECIFIC_WASTE = 0.15
"""Of the work of a part: below it access patterns are good. Padded shared memory leaves 11 to 12 %
conflicts (problem 4, p2 and p3), which the next step did not gain from removing."""

NARROW = 0.5
"""Of the accesses of global memory, those of 1 or 2 bytes per thread: most of them."""

NARROW_SECTORS = 4.0
"""Sectors of an access, on average: 4 bytes per thread fill four. With no more, a warp's threads
access neighbouring bytes, and their number for each access is at fault, not their distance."""

SECTORS_WASTED = 0.2
"""Of all sectors: below it vectors of 16 bytes with unaligned ends still occur in good kernels."""

WAITS = 0.4
"""Of the warps' cycles: one reason that holds more is what the kernel waits for. Healthy kernels of
problem 4 at 95 % of the tensor pipe still wait 56 % at barriers, so it counts only where no part is
at its ceiling."""

READY = 3.0
"""Warps of a scheduler that could issue, in a cycle: with three on average a cycle without any is
rare (5 %, if they come and go independently), and latency is hidden. Then dispatch holds
instructions back: FFMAs of three registers issue in 59 % of an H200's cycles, at 6 to 7 ready warps
(the healthy twins of the sine series and of the partial wave)."""

BARRIER_WAITS = 0.3
"""Of the warps' cycles at barriers. Uneven tasks of problem 6 wait 83 %, its even ones 5 %."""

BETWEEN_BARRIERS = 24.0
"""Instructions of a warp by its barriers. A level of a tree in shared memory (reduction, scan) has
8 to 16: index, comparison, branch, two loads, an addition, a store and the barrier. Of launches
that wait longest at barriers, those in loops over tiles have 50 and more (problems 4 and 6,
tests/data/held_out)."""

REREAD = 1.3
"""Bytes read from device memory by bytes that the process had mapped: every byte was read, and some
again. Below it the mapped bytes that the launch never touches could hide it."""

SAME_ADDRESS = 8.0
"""Stores of a warp by the addresses that it computed for them: a loop of eight turns or more, so
that a sum in a register saves seven of eight. Unrolled loops of other stores add to one address,
and store a few times for each that is computed."""

REUSE = 4.0
"""Bytes read from L2 by those that came from DRAM, or by all that L2 holds. Blocked products read
2 to 10 times what DRAM delivers and are bound by other parts (problems 4 and 6)."""

ROOM = 0.2
"""Of a launch's time: a bound that leaves less until the next part is as busy is no fault, as
foretold gains are a quarter off."""

FULL_WARP = 0.75
"""Of 32 threads: with fewer, a quarter of the warp's lanes idle. Bounds checks and partial last
warps cost less in good kernels: 25 of 32 work in the sorted twin of problem 6's trip counts."""

LOCAL_PART = 0.05
"""Of L1's sectors: a prologue that spills a few registers once is below it."""

ATOMIC_SLICE = 0.45
"""Of the busiest L2 slice's cycles spent on atomics. The average hides contention: one address lies
in one of an H200's 96 slices. A million additions of FP64 to one address keep its slice at 50 %
(tests/data/held_out, gas_energy_a), of FP32 at 80 % and more; 27 % cost nothing (library_score_b
there)."""

MEMORY_LATENCY = 500.0
"""Cycles that device memory takes to answer one access if nothing else is asked of it: 400 to 550
on A100, H100 and RTX 4090 (Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
Architecture", arXiv:2402.13499)."""

QUEUED = 10 * MEMORY_LATENCY
"""Cycles that a warp waits for memory by each access: nine tenths of the wait are in a queue. Where
no part of the GPU is busy on average, the queue is that of one slice."""

BRIEF_LIFE = 4 * MEMORY_LATENCY
"""Cycles that a warp lives: it has made a trip or two to memory. Until the next block has taken a
place on an SM, 400 to 1 300 cycles go by on an H100 or H200: the life of a warp by the warps that
fit and were not there, in launches of many blocks (element-wise kernels of torch, problem 1, whose
warps live for 1 000 to 2 500). In blocks that live no longer than this, start and end are much."""

MANY_WAVES = 4.0
"""Of the grid's blocks by those that fit at once: half as many blocks still fill the GPU twice."""

IMBALANCE = 0.1
"""Of the busiest SM's cycles. The evenly loaded launches of problem 4 and cuBLAS's differ by 1 to
8 %: clusters of two and ramp-up."""

RAMP_NS = 2_000.0
"""Idle time that starting and ending any launch takes: an empty kernel takes 2.9 µs between events
on an H200 (`harness doctor --calibrate`, event_pair)."""

MOST_RAMP = 0.4
"""Of a launch's time, start and end at most: a launch of less than 5 µs is little else, and says
nothing of latency, occupancy or its number of blocks."""

LOW_OCCUPANCY = 0.5
"""Of an SM's warps. NVIDIA's "CUDA C++ Best Practices Guide" (Occupancy): more than half seldom
helps."""

PIPELINED = 0.05
"""Of the tensor pipe: kernels that feed tensor cores hold accumulators in registers and hide
latency by pipelining within a warp, at low occupancy by design (CUTLASS, "Efficient GEMM in
CUDA")."""

PRODUCT = 0.8
"""Of the FFMAs, those that multiply two loaded values, in a product of matrices: all of them in
cuBLAS's and Triton's products on the FMA pipe, none in filters, polynomials and recurrences."""

PRODUCT_SHARE = 0.4
"""Of all executed instructions, FFMAs in a product of matrices: its inner loop is little else."""

PRODUCT_BUSY = 0.6
"""Of the FMA pipe or the issue slots: below it a product waits for other things than arithmetic.
cuBLAS's FP32 product takes 87 % of the issue slots, Triton's 69 %, one by hand of BF16 values 65 %
(tests/data/held_out, query_key_scores)."""

TENSOR_GAIN = 8.0
"""FP32 on tensor cores (TF32) by FP32 on the FMA pipe: 495 by 67 TFLOP/s on an H200, 156 by 19.5 on
an A100 (datasheets, dense)."""

OPERAND_WORDS = 2.0
"""Words of a warp's operands by mma.sync. Shared memory delivers a word per thread and cycle to one
warp of an SM (CUDA C++ Programming Guide, Shared Memory: 32 banks), and m16n8k16 takes the tensor
cores of an A100 2 cycles, an H100 1 (datasheets, dense): with two words shared memory is as busy.
A warp's tile of 32 by 32 needs two, of 64 by 64 one."""

INTEGER_SHARE = 0.5
"""Of the executed instructions: with more, addresses and integers fill the issue slots."""

SERVED = 0.01
"""Of the executed instructions, accesses and arithmetic other than integers. An address takes 2 to
10 integer instructions and a 64-bit division about 70 (SASS for compute capability 9.0), so a
hundred are more than any access needs. Ciphers and hashes have one in 1 000 to 10 000."""

SINGLE_BITS = 0.1
"""Of the executed instructions, masks of one bit. With a shift and an addition for each, a tenth
stands for a third of the work, which uses one of a word's 32 bits."""

RANGE_REDUCTION = 0.3
"""Of the executed instructions, those of the slow path of sine and cosine. It takes some 190 for an
argument, the fast one a dozen (SASS for compute capability 9.0): with a third of all, at least one
argument in 30 takes it in a kernel of nothing but sines."""

PROMOTED = 0.02
"""Conversions between FP64 and FP32 by FP64 instructions, of double arithmetic on values that are
single. CUDA's double division takes 9 FP64 instructions, its exp 17 (SASS for compute capability
9.0): a function or two of a value that is converted have more than one conversion in 50. Arithmetic
on values that are double has none, or one where it ends."""

AT_DOUBLE = 0.5
"""Of the samples of warps, those at such arithmetic, or waiting for its results: more than at all
else together. What they wait for from memory does not count."""

REMOTE_PART = 0.3
"""Of the bytes that reach an SM over the crossbar, those from other SMs' shared memory: nearly
all in problem 6's distributed table, none in its other kernels."""

MASKED = 0.2
"""Of the executed loads of global memory, those with no thread left. Where no padding was planted
in the zoo, less than 3 % are masked."""

HOST_MISSES = 0.5
"""Of the sectors that L2 has to fetch, those from host memory. Each takes longer than one from
device memory, so from half of them on most of the wait for fetches is for the host."""

HOST_READS = 0.1
"""Of the sectors that SMs read from L2, those from host memory. Over PCIe one takes 1 to 2 µs, ten
times what L2 needs for one that it holds: from a tenth on the host's make half of the wait."""
