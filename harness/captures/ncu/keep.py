"""The kept part of an ncu report: the metrics that pages and the diagnosis read.

A launch profiled with `--set full` has about 2 200 metrics; nine in ten are other roll-ups (.min,
.max, .avg, per second) of a counter that is kept. The report itself, which a published report
carries, holds all of them, and the commands that are given the file show all of them.
"""

from fnmatch import fnmatchcase

from harness.evidence.tables import Tables

KEPT = (
    # How long, and how near to which limit.
    "gpu__time_duration.sum",
    "gpu__*throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__*.avg.pct_of_peak_sustained_elapsed",
    "fbpa__dram_sectors.avg.pct_of_peak_sustained_elapsed",
    "lts__*.avg.pct_of_peak_sustained_elapsed",
    "l1tex__*.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
    # Bytes, where they were found, and how much of each sector was asked for.
    "dram__bytes.sum.per_second",
    "dram__bytes.sum.peak_sustained",
    "dram__bytes_read.sum",
    "dram__bytes_read.sum.per_second",
    "dram__bytes_write.sum",
    "dram__bytes_write.sum.per_second",
    "dram__cycles_elapsed.avg.per_second",
    "profiler__replayer_bytes_mem_accessible.avg",  # what the process had mapped
    "lts__t_bytes.sum",
    "lts__t_sectors.sum",
    "lts__t_sector_hit_rate.pct",
    "lts__t_sector_op_*_hit_rate.pct",
    "lts__t_sectors_op_*.sum",
    "l1tex__t_sector_hit_rate.pct",
    "l1tex__t_requests_pipe_lsu_mem_*.sum",
    "l1tex__t_sectors_pipe_lsu_mem_*.sum",
    "l1tex__average_t_sectors_per_request_*",
    "smsp__sass_average_data_bytes_per_sector_mem_*.ratio",
    "memory_l?_*",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared*.sum",
    "l1tex__data_pipe_lsu_wavefronts*.sum",
    "smsp__sass_l1tex_data_*_mem_shared_op_*.sum",
    # Constant memory: a request an address.
    "idc__requests.sum",
    # Atomics: the busiest slice of L2 tells contention from load.
    "lts__d_atomic_input_cycles_active.*.pct_of_peak_sustained_elapsed",
    "smsp__inst_executed_op_*atom*.sum",
    # From L2 to the multiprocessors, between them, and what TMA multicast spares it.
    "lts__t_sectors_srcunit_tex_op_*.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    # From and to the host's memory, and the link that leads there.
    "lts__t_sectors_srcunit_tex_aperture_sysmem_op_read_lookup_miss.sum",
    "lts__t_sectors_srcunit_tex_aperture_sysmem_op_write.sum",
    "c2clink__present",
    "l1tex__m_xbar2l1tex_read_bytes*.sum",
    "l1tex__m_l1tex2xbar_write_bytes*.sum",
    # The launch, its occupancy, what holds that down, and how evenly the SMs were busy.
    "launch__grid_*",
    "launch__block_*",
    "launch__cluster_*",
    "launch__sm_count",
    "launch__thread_count",
    "launch__registers_per_thread",
    "launch__shared_mem_*",
    "launch__waves_per_multiprocessor",
    "launch__occupancy_limit_*",
    "sm__maximum_warps_per_active_cycle_pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__cycles_active.avg",
    "sm__cycles_active.max",
    "sm__cycles_active.min",
    "l1tex__cycles_active.avg",
    "l1tex__cycles_active.max",
    "l1tex__cycles_active.min",
    "l1tex__cycles_elapsed.max",
    # What the schedulers and pipes did.
    "sm__pipe_tensor_cycles_active.avg",
    "sm__pipe_*cycles_active.avg.pct_of_peak_sustained_*",
    "sm__inst_executed_pipe_*.avg.pct_of_peak_sustained_*",
    "sm__inst_executed.avg.per_cycle_*",
    "sm__inst_executed_pipe_tensor*.sum",
    "sm__ops_path_tensor_src_*.sum",
    "sm__sass_thread_inst_executed_op_*.sum.peak_sustained",
    "smsp__sass_thread_inst_executed_op_*_pred_on.sum*",
    "smsp__sass_inst_executed_op_*.sum",
    "sass__inst_executed_*",
    "smsp__inst_executed.sum",
    "smsp__inst_executed_op_*.sum",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__warps_eligible.avg.per_cycle_active",
    "smsp__thread_inst_executed*_per_inst_executed.ratio",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "smsp__average_warp_latency_per_inst_issued.ratio",
    "smsp__average_warps_issue_stalled_*_per_issue_active.ratio",
    # Clocks while the counters were read, and the device they belong to.
    "sm__cycles_elapsed.avg",
    "sm__cycles_elapsed.max",
    "*__cycles_elapsed.avg.per_second",
    "device__attribute_compute_capability_*",
    "device__attribute_global_memory_bus_width",
    "device__attribute_l2_cache_size",
    "device__attribute_memory_clock_rate",
    "device__attribute_single_to_double_precision_perf_ratio",
    "device__attribute_max_warps_per_multiprocessor",
    "device__attribute_multiprocessor_count",
)
"""The metrics that are kept, as fnmatch patterns: names differ between architectures."""


def is_kept(metric: str) -> bool:
    """Return whether pages or findings read a metric, by its name."""
    return any(fnmatchcase(metric, pattern) for pattern in KEPT)


def keep(tables: Tables) -> Tables:
    """Return the tables of a report without the metrics that no page and no finding reads."""
    import polars as pl

    counters = tables["counters"]
    kept = [name for name in counters["metric"].cast(pl.String).unique() if is_kept(name)]
    return tables | {"counters": counters.filter(pl.col("metric").cast(pl.String).is_in(kept))}
