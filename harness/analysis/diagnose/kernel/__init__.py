"""Findings on one profiled launch; ``kernel_view.py`` is what they read.

A fault is a cause of being far from every ceiling, or of work that is wasted at one; its gain is
what its removal saves. A bound says which part of the GPU limits: of device memory, tensor cores
and FP32 it is no fault, its gain is 0, and the launch is healthy. Special functions, FP64,
integers, issue slots and shared memory are bounds that other instructions avoid: their gain is the
room that other parts leave.
"""

FINDINGS: tuple[str, ...] = (
    *("uncoalesced", "cache_thrash", "bank_conflicts", "warp_divergence", "register_spills"),
    *("atomics_contention", "too_few_blocks", "tail_effect", "tile_quantisation"),
    *("low_occupancy_registers", "low_occupancy_shared", "latency_bound", "barrier_imbalance"),
    *("issue_bound", "integer_bound", "special_function_bound", "fp64_bound", "fp32_bound"),
    *("shared_memory_bound", "tensor_cores_unused", "inter_sm_traffic"),
    *("tensor_bound", "dram_bound"),
)
"""The files of this package that each find one cause."""
