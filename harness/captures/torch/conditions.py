"""What a trace of torch.profiler says of how it was recorded."""

from pathlib import Path

from harness.evidence.tables import Tables


def conditions(_path: Path, tables: Tables) -> dict[str, str]:
    """Return the conditions that ``tables`` hold: they may stand anywhere in the file.

    Keys: GPU (those that ran something), CUDA (the driver's), CUDA runtime, ROCm, profiler, rank,
    tracing, not read (categories of events, with counts).
    """
    return dict(tables["conditions"].select("name", "value").rows())
