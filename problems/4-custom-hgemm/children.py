"""A process that is ended with all that it started if it takes too long: a kernel may not end."""

import os
import signal
import subprocess


def ended(argv: list[str], limit_s: float) -> tuple[str, int | None]:
    """Run a program; return what it printed, and its exit status, None if it had to be ended."""
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        said, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], None
    return said, process.returncode
