"""The command line in processes that are forked from one which has imported it.

A fresh Python takes half a second of CPU time to import what a command needs. Where a test asks
what a command prints and how it ends, and not how it starts, it need not pay that each time.
"""

import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import IO

from tests.support.paths import ROOT


def harness(
    *arguments: object, cwd: Path = ROOT, env: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Return what ``harness ARGUMENTS`` printed, and its exit code."""
    argv = ["harness", *map(str, arguments)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = [_at(stream) for stream in (out, err)]
        process = _forking().Process(target=_be, args=(argv, str(cwd), dict(env), *streams))
        process.start()
        process.join()
        assert process.exitcode is not None
        return subprocess.CompletedProcess(argv, process.exitcode, _text(out), _text(err))


@cache
def _forking() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "tests.support.warmed"])
    return context


def _at(stream: IO[bytes]) -> str:
    """Return a name of an open file for other processes."""
    return f"/proc/{os.getpid()}/fd/{stream.fileno()}"


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return io.TextIOWrapper(io.BytesIO(stream.read()), encoding="utf-8").read()


def _be(argv: list[str], cwd: str, env: dict[str, str], out: str, err: str) -> None:
    """Be the harness of an environment."""
    from harness import cli
    from harness.ground import checkout

    for number, name in ((1, out), (2, err)):
        opened = os.open(name, os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    checkout.CHECKOUT = Path(env.get(checkout.VARIABLE) or ROOT).resolve()
    sys.argv = argv
    cli.main()
