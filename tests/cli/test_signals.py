"""A signal ends a command as Ctrl-C does: exit code 130, and a line that says so."""

import signal
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

WAITING = """
import signal, time
from harness import cli
from harness.problem import manifest
def wait(*_):
    print("waits", flush=True)
    time.sleep(60)
manifest.outlines = wait
# Whoever runs the tests may ignore these, as a shell does for what it runs in the background.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, IGNORED if number == signal.SIGHUP else signal.default_int_handler)
cli.main()
"""


def ended(number: signal.Signals, *, hangup_ignored: bool = False) -> tuple[int, str]:
    code = WAITING.replace("IGNORED", f"signal.SIG_{'IGN' if hangup_ignored else 'DFL'}")
    with subprocess.Popen(
        [sys.executable, "-c", code, "list"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout
        assert command.stdout.readline() == "waits\n"
        command.send_signal(number)
        if hangup_ignored:
            command.terminate()
        _, stderr = command.communicate()
    return command.returncode, stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_signal_is_said_in_one_line(name: str) -> None:
    assert ended(signal.Signals[name]) == (130, "harness: interrupted\n")


def test_under_nohup_a_hangup_is_nothing() -> None:
    assert ended(signal.SIGHUP, hangup_ignored=True) == (130, "harness: interrupted\n")
