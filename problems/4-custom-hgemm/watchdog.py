"""Runs a program and ends it with all its descendants after a deadline: a kernel may hang."""

import os
import signal
import subprocess


def ended(argv: list[str], limit_s: float) -> tuple[str, int | None]:
    """Run a program; return its output and its exit status, None if the deadline ended it."""
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], None
    return output, process.returncode
