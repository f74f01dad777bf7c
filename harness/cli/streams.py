"""The standard streams: text for any locale, and one error where stdout takes no more."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from harness.ground.errors import OutputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDOUT, _STDERR = 1, 2


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Meanwhile stdout raises OutputError where it takes no more, and stderr drops the text.

    A character that the locale cannot show is printed as an escape. At the end stdout is flushed.
    """
    if sys.stdout is None:  # the caller closed it
        _lead_nowhere(_STDOUT)
    if sys.stderr is None:
        _lead_nowhere(_STDERR)
    sys.stdout = _text(_Stdout(_STDOUT, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Stderr(_STDERR, "w", closefd=False), sys.stderr)
    try:
        yield
        sys.stdout.flush()
    except OutputError:
        _lead_nowhere(_STDOUT)  # unwritten text in the buffers has to go somewhere
        raise


class _Stdout(io.FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OutputError(f"not printed: {error.strerror}", where="stdout") from error


class _Stderr(io.FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        with contextlib.suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def _text(raw: io.FileIO, like: TextIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(like, "encoding", None) or "utf-8",
        errors="backslashreplace",
        line_buffering=getattr(like, "line_buffering", True),
        write_through=getattr(like, "write_through", False),
    )


def _lead_nowhere(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
