"""Findings on timelines of nsys and torch.profiler; ``timeline_view.py`` is what they read."""

FINDINGS = (
    "exposed_communication",
    "straggler",
    "data_starved",
    "host_bound",
    "launch_bound",
    "host_sync",
    "pageable_copy",
    "serialised_copy",
    "allocator_churn",
    "compile_in_loop",
    "stream_serialised",
    "graph_opaque",
)
"""The files of this package that each find one cause."""
