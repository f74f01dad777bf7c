"""What Nsight Compute's rules name, in the ids of findings, to hold the exam's answers beside.

A rule counts as naming every finding that its text leads to. Rules without an estimate, such as
those of Speed of Light, rank nowhere.
Source of the texts: Nsight Compute's Kernel Profiling Guide (warp stall reasons, memory tables) and
the rules' messages in reports of version 2025.3.
"""

import polars as pl

from harness.evidence.tables import Tables

_PIPES = frozenset(
    {
        "fp32-bound",
        "fp64-bound",
        "integer-bound",
        "special-function-bound",
        "tensor-bound",
        "tensor-cores-unused",
    }
)
_OCCUPANCY = frozenset({"low-occupancy-registers", "low-occupancy-shared"})
_SHARED = frozenset({"bank-conflicts", "shared-memory-bound"})
_WAITS = frozenset({"latency-bound", "cache-thrash", "uncoalesced", "dram-bound"})

NAMED = {
    "Achieved Occupancy": frozenset({"tail-effect", "barrier-imbalance"}),
    "Barrier Stalls": frozenset({"barrier-imbalance"}),
    "Branch Resolving Stalls": frozenset({"warp-divergence"}),
    "DRAM Global Load Access Pattern": frozenset({"uncoalesced"}),
    "Dispatch Stall Stalls": frozenset({"issue-bound"}),
    "FP32 Non-Fused Instructions": frozenset({"fp32-bound"}),
    "FP64 Non-Fused Instructions": frozenset({"fp64-bound"}),
    "High Utilization": _PIPES,
    "Issue Slot Utilization": frozenset({"latency-bound", *_OCCUPANCY}),
    "L1TEX Global Load Access Pattern": frozenset({"uncoalesced"}),
    "L1TEX Global Store Access Pattern": frozenset({"uncoalesced"}),
    "L1TEX Local Load Access Pattern": frozenset({"register-spills"}),
    "L1TEX Local Store Access Pattern": frozenset({"register-spills"}),
    "L2 Global Load Access Pattern": frozenset({"uncoalesced"}),
    "L2 Global Store Access Pattern": frozenset({"uncoalesced"}),
    "L2 Local Load Access Pattern": frozenset({"register-spills"}),
    "L2 Local Store Access Pattern": frozenset({"register-spills"}),
    "L2 Slices Workload Imbalance": frozenset({"atomics-contention"}),
    "Lg Throttle Stalls": frozenset({"uncoalesced", "register-spills", "atomics-contention"}),
    "Long Scoreboard Stalls": _WAITS,
    "Low Utilization": frozenset({"latency-bound", "too-few-blocks", *_OCCUPANCY}),
    "Math Pipe Throttle Stalls": _PIPES,
    "Mio Throttle Stalls": _SHARED | {"special-function-bound"},
    "No Instruction Stalls": frozenset({"issue-bound"}),
    "Not Selected Stalls": frozenset({"issue-bound"}),
    "SMSPs Workload Imbalance": frozenset({"tail-effect", "too-few-blocks", "barrier-imbalance"}),
    "SMs Workload Imbalance": frozenset({"tail-effect", "too-few-blocks"}),
    "Shared Load Bank Conflicts": frozenset({"bank-conflicts"}),
    "Shared Store Bank Conflicts": frozenset({"bank-conflicts"}),
    "Short Scoreboard Stalls": _SHARED | {"special-function-bound", "inter-sm-traffic"},
    "Small Grid": frozenset({"too-few-blocks"}),
    "Tail Effect": frozenset({"tail-effect"}),
    "Theoretical Occupancy": _OCCUPANCY,
    "Thread Divergence": frozenset({"warp-divergence"}),
    "Uncoalesced Global Accesses": frozenset({"uncoalesced"}),
    "Uncoalesced Shared Accesses": frozenset({"bank-conflicts"}),
    "Wait Stalls": frozenset({"issue-bound", "latency-bound"}),
    "Warpgroup Arrive Stalls": frozenset({"tensor-bound"}),
}
"""Titles of rules to the ids of findings that they lead to; titles not listed lead to none."""


def ranked(tables: Tables) -> list[str]:
    """Return the titles of rules that estimate a speedup of the longest launch, largest first."""
    rules = tables["rules"].filter(pl.col("speedup").is_not_null())
    durations = tables["counters"].filter(
        pl.col("metric").cast(pl.String) == "gpu__time_duration.sum"
    )
    longest = durations.sort("value", "launch", descending=[True, False])["launch"].head(1)
    of_longest = rules.filter(pl.col("launch").is_in(longest.implode()))
    by_speedup = of_longest.sort("speedup", descending=True, maintain_order=True)
    return [str(title) for title in by_speedup["title"]]


def names(title: str, finding: str) -> bool:
    """Return whether a rule's title leads to the finding."""
    return finding in NAMED.get(title, frozenset())
