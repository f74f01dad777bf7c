"""Commands of the harness that take the machine's lock, which other tests hold for a while."""

import subprocess
import time
from typing import Any

PATIENCE_S = 600.0


def in_turn(argv: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command and return its output; again while another run holds the machine's lock."""
    until = time.monotonic() + PATIENCE_S
    while True:
        done = subprocess.run(argv, capture_output=True, text=True, **options)
        if " holds cpu " not in done.stderr or time.monotonic() > until:
            return done
        time.sleep(1)
