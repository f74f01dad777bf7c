"""Serves a folder on the loopback interface."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from harness.ground.errors import UsageError


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def end_headers(self) -> None:
        """Add what a page cannot say of itself: no other page shows it in a frame."""
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        super().end_headers()


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of ``folder`` on 127.0.0.1, to be ended by its ``with``.

    Port 0 takes any that is free. Raises UsageError if the port cannot be had.
    """
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Quiet, directory=str(folder)))
    except OSError as error:
        what = f"cannot serve: {error.strerror}"
        raise UsageError(what, where=f"port {port}", remedy="--port 0 takes a free one") from error
