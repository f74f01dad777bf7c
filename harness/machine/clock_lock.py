"""Locks one GPU's SM clock for a while, and undoes that however the harness ends.

    python -m harness.machine.clock_lock UUID MHZ

is the guardian. It sets the lock and undoes it when its stdin ends: the kernel closes that pipe
also for a harness that was killed. It says "locked", or "failed: " and why, and exits with 0 if no
lock of its own is left.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.ground import process
from harness.ground.endings import ENDINGS
from harness.ground.errors import ToolError
from harness.machine import target

_DEADLINE_S = 10.0
_LOCKED = "locked"
_FAILED = "failed: "
_WITHOUT = "leave --lock-clocks out"


@contextlib.contextmanager
def locked(uuid: str, mhz: int) -> Iterator[None]:
    """Hold the SM clock of the GPU ``uuid`` at ``mhz`` within; nothing else of it is changed.

    Afterwards no lock holds, not even an earlier one, which NVML does not report. Raises ToolError
    if the GPU refuses, or if the guardian does not answer within ten seconds that the lock is set,
    or later that it is undone.
    """
    guardian = process.guardian(
        [sys.executable, "-m", __name__, uuid, str(mhz)],
        cwd=Path(__file__).parents[2],
        env=process.environment({"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}),
    )
    try:
        _await_lock(guardian, uuid)
        yield
    finally:
        _release(guardian, uuid)


def main(uuid: str, mhz: int) -> None:
    """Lock the clock at ``mhz`` until stdin ends; SystemExit with a line if it stays locked."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    with target.nvml() as library:
        try:
            handle = _lock(library, uuid, mhz)
        except ToolError as error:
            _write(f"{_FAILED}{error}")
            return
        try:
            _write(_LOCKED)
            sys.stdin.buffer.read()
        finally:
            _reset(library, handle, uuid)


def _await_lock(guardian: "subprocess.Popen[str]", uuid: str) -> None:
    assert guardian.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
    if not select.select([guardian.stdout], [], [], _DEADLINE_S)[0]:
        raise ToolError(f"no lock within {_DEADLINE_S:.0f} s", where=uuid, remedy=_WITHOUT)
    answer = guardian.stdout.readline().strip()
    if answer.startswith(_FAILED):
        raise ToolError(answer.removeprefix(_FAILED))
    if answer != _LOCKED:
        raise ToolError("what should lock its clock ended early", where=uuid, remedy=_WITHOUT)


def _release(guardian: "subprocess.Popen[str]", uuid: str) -> None:
    """End the guardian's stdin and wait; if it hangs, leave it: it may undo the lock yet."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        guardian.communicate(timeout=_DEADLINE_S)
    if guardian.returncode != 0:
        raise ToolError("its clock may still be locked", where=uuid, remedy=_by_hand(uuid))


def check(uuid: str, mhz: int) -> None:
    """Raise ToolError if the GPU is not found or offers no SM clock of ``mhz``; lock nothing."""
    with target.nvml() as library:
        _handle(library, uuid, mhz)


def _handle(library: Any, uuid: str, mhz: int) -> Any:
    """Return the handle of the GPU; ToolError if it is not found or offers no clock of ``mhz``."""
    if library is None:
        raise ToolError("no NVIDIA driver answers", where=uuid, remedy=_WITHOUT)
    try:
        handle = library.nvmlDeviceGetHandleByUUID(uuid)
    except library.NVMLError as error:
        raise ToolError(f"no such GPU: {error}", where=uuid, remedy="nvidia-smi -L") from None
    offered = _offered(library, handle)
    if offered and mhz not in offered:
        nearest = min(offered, key=lambda clock: abs(clock - mhz))
        remedy = f"the nearest that it has: --lock-clocks {nearest}"
        raise ToolError(f"its SM clock cannot be {mhz} MHz", where=uuid, remedy=remedy)
    return handle


def _lock(library: Any, uuid: str, mhz: int) -> Any:
    """Lock the clock and return the GPU's handle; ToolError if nothing was locked."""
    handle = _handle(library, uuid, mhz)
    try:
        library.nvmlDeviceSetGpuLockedClocks(handle, mhz, mhz)
    except library.NVMLError_NoPermission:
        remedy = f"run as root, or {_WITHOUT}"
        raise ToolError("this user may not lock its clock", where=uuid, remedy=remedy) from None
    except library.NVMLError_NotSupported:
        raise ToolError("its clock cannot be locked", where=uuid, remedy=_WITHOUT) from None
    except library.NVMLError as error:
        what = f"its clock was not locked at {mhz} MHz: {error}"
        raise ToolError(what, where=uuid, remedy=_WITHOUT) from None
    return handle


def _offered(library: Any, handle: Any) -> list[int]:
    """Return the clocks in MHz beside the fastest memory clock; empty where NVML refuses."""
    try:
        memory = max(library.nvmlDeviceGetSupportedMemoryClocks(handle), default=0)
        return list(library.nvmlDeviceGetSupportedGraphicsClocks(handle, memory))
    except library.NVMLError:
        return []


def _reset(library: Any, handle: Any, uuid: str) -> None:
    try:
        library.nvmlDeviceResetGpuLockedClocks(handle)
    except library.NVMLError as error:
        trouble = ToolError(
            f"its clock is still locked: {error}", where=uuid, remedy=_by_hand(uuid)
        )
        # To stderr, which is the harness's own: someone may read it after a kill.
        raise SystemExit(str(trouble)) from None


def _write(line: str) -> None:
    # Not print: with the harness gone, Python's own flush of stdout would fail at exit.
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{line}\n".encode())


def _by_hand(uuid: str) -> str:
    return f"as root: nvidia-smi -i {uuid} --reset-gpu-clocks"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
