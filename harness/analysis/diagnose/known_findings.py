"""The findings that the diagnosis knows, by family.

To add one, write ``<family>/<id with _ for ->.py`` with ``KIND``, a
:class:`~harness.analysis.diagnose.finding.FindingKind`, and ``found(view)``, a pure function that
yields ``KIND.finding(…)`` for each place where the view bears the cause out; then add the file to
the family's ``findings`` below. A finding reads its family's view and nothing else.
"""

from harness.analysis.diagnose import kernel_view, memory_view, serving_view, timeline_view
from harness.analysis.diagnose.families import Family
from harness.analysis.diagnose.finding import FindingKind
from harness.analysis.diagnose.kernel import abstain as kernel_abstain
from harness.analysis.diagnose.kernel import (
    atomics_contention,
    bank_conflicts,
    barrier_imbalance,
    cache_thrash,
    constant_divergence,
    dram_bound,
    fp32_bound,
    fp64_bound,
    frequent_barriers,
    global_sums,
    grid_barrier,
    host_memory_traffic,
    integer_bound,
    inter_sm_traffic,
    issue_bound,
    l1_bound,
    latency_bound,
    local_arrays,
    low_occupancy_registers,
    low_occupancy_shared,
    register_spills,
    shared_memory_bound,
    slow_range_reduction,
    small_tiles,
    special_function_bound,
    tail_effect,
    tensor_bound,
    tensor_cores_unused,
    tile_quantisation,
    too_few_blocks,
    uncoalesced,
    warp_divergence,
)
from harness.analysis.diagnose.kernel import healthy as kernel_healthy
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.memory import abstain as memory_abstain
from harness.analysis.diagnose.memory import (
    dead_pool,
    deferred_free,
    fragmentation,
    kept_activations,
    kept_checkpoint,
    kept_copies,
    leak,
    out_of_memory,
    transient_spike,
    unused_gradients,
)
from harness.analysis.diagnose.memory import healthy as memory_healthy
from harness.analysis.diagnose.memory_view import MemoryView
from harness.analysis.diagnose.serving import abstain as serving_abstain
from harness.analysis.diagnose.serving import (
    batch_underfilled,
    kv_cache_pressure,
    prefill_interference,
    scheduler_bubble,
)
from harness.analysis.diagnose.serving import healthy as serving_healthy
from harness.analysis.diagnose.serving_view import ServingView
from harness.analysis.diagnose.timeline import abstain as timeline_abstain
from harness.analysis.diagnose.timeline import (
    allocator_churn,
    compile_in_loop,
    copy_engine_bound,
    data_starved,
    expert_imbalance,
    exposed_communication,
    graph_opaque,
    host_bound,
    host_sync,
    launch_bound,
    optimizer_bound,
    pageable_copy,
    pipeline_bubble,
    serialised_copy,
    slow_kernel,
    small_grid,
    straggler,
    stream_serialised,
)
from harness.analysis.diagnose.timeline import healthy as timeline_healthy
from harness.analysis.diagnose.timeline_view import TimelineView

SERVING = Family[ServingView](
    name="serving",
    table="load_requests",
    views=serving_view.views,
    findings=(
        scheduler_bubble,
        prefill_interference,
        batch_underfilled,
        kv_cache_pressure,
    ),
    healthy=serving_healthy,
    abstain=serving_abstain,
)
TIMELINE = Family[TimelineView](
    name="timeline",
    table="gpu_ops",
    views=timeline_view.views,
    findings=(
        exposed_communication,
        straggler,
        expert_imbalance,
        pipeline_bubble,
        data_starved,
        host_bound,
        launch_bound,
        host_sync,
        pageable_copy,
        serialised_copy,
        copy_engine_bound,
        allocator_churn,
        compile_in_loop,
        stream_serialised,
        small_grid,
        slow_kernel,
        optimizer_bound,
        graph_opaque,
    ),
    healthy=timeline_healthy,
    abstain=timeline_abstain,
)
KERNEL = Family[KernelView](
    name="kernel",
    table="counters",
    views=kernel_view.views,
    findings=(
        uncoalesced,
        cache_thrash,
        bank_conflicts,
        warp_divergence,
        constant_divergence,
        local_arrays,
        register_spills,
        global_sums,
        atomics_contention,
        host_memory_traffic,
        too_few_blocks,
        tail_effect,
        tile_quantisation,
        low_occupancy_registers,
        low_occupancy_shared,
        latency_bound,
        grid_barrier,
        frequent_barriers,
        barrier_imbalance,
        issue_bound,
        integer_bound,
        special_function_bound,
        fp64_bound,
        fp32_bound,
        l1_bound,
        shared_memory_bound,
        slow_range_reduction,
        small_tiles,
        tensor_cores_unused,
        inter_sm_traffic,
        tensor_bound,
        dram_bound,
    ),
    healthy=kernel_healthy,
    abstain=kernel_abstain,
)
MEMORY = Family[MemoryView](
    name="memory",
    table="memory_pools",
    views=memory_view.views,
    findings=(
        out_of_memory,
        fragmentation,
        dead_pool,
        deferred_free,
        transient_spike,
        kept_activations,
        kept_copies,
        kept_checkpoint,
        unused_gradients,
        leak,
    ),
    healthy=memory_healthy,
    abstain=memory_abstain,
)


def kinds() -> dict[str, FindingKind]:
    """Return what every finding of every family is, by id, in the order of the families."""
    return SERVING.kinds() | TIMELINE.kinds() | KERNEL.kinds() | MEMORY.kinds()
