"""Traces of torch.profiler: Chrome trace events as JSON, plain or in gzip or zstd."""

from pathlib import Path

from harness.errors import CaptureError
from harness.evidence.tables import Tables


def read(path: Path) -> Tables:
    """Return gpu_ops, api_calls, ranges and operators of a trace; rows are in the file's order.

    Times are nanoseconds since the trace's ``baseTimeNanoseconds`` (or since the epoch, in traces
    without it). A run without a GPU gives no ``gpu_ops``. Memory grows with the tables, not with
    the file. Raises CaptureError where the file is no whole trace, with the place of the fault.
    """
    from harness.captures.formats.compressed import blocks
    from harness.captures.formats.json_stream import BLOCK, pieces
    from harness.captures.torch.events import DECODER
    from harness.captures.torch.tables import TableBuilder

    builder = TableBuilder()
    try:
        for piece in pieces(blocks(path, BLOCK), "traceEvents", DECODER):
            builder.add(piece)
        return builder.tables()
    except CaptureError as error:
        raise CaptureError(error.what, where=path, remedy=error.remedy) from error
