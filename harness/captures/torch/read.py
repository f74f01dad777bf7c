"""Traces of torch.profiler: Chrome trace events as JSON, plain or in gzip or zstd."""

from pathlib import Path
from typing import Any

from harness.evidence.tables import Tables
from harness.ground.errors import CaptureError


def read(path: Path) -> Tables:
    """Return the tables that a trace fills; rows are in the file's order.

    Times are nanoseconds since the trace's ``baseTimeNanoseconds`` (or since the epoch, in traces
    without it). A run without a GPU gives no ``gpu_ops``. Memory grows with the tables, not with
    the file. Raises CaptureError where the file is no whole trace, with the place of the fault.
    """
    from harness.captures.formats.compressed import blocks
    from harness.captures.formats.json_stream import BLOCK, pieces
    from harness.captures.torch import metadata
    from harness.captures.torch.events import DECODER
    from harness.captures.torch.tables import TableBuilder

    builder = TableBuilder()
    fields: dict[str, Any] = {}

    def around(document: bytes) -> None:
        fields.update(metadata.around(document))

    try:
        for piece in pieces(blocks(path, BLOCK), "traceEvents", DECODER, around):
            builder.add(piece)
        tables = builder.tables()
    except CaptureError as error:
        raise CaptureError(error.what, where=path, remedy=error.remedy) from error
    gpus, gpu_ops = metadata.devices(fields), tables["gpu_ops"]
    told = metadata.conditions(fields, gpus, gpu_ops, builder.not_read)
    dropped = metadata.dropped(tables, builder.early)
    return tables | {"devices": gpus, "conditions": told, "dropped": dropped}
