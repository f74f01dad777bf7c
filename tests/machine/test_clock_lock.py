"""The clock's lock: whatever becomes of the harness, a real guardian undoes it on a fake card."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from harness.ground import process
from harness.ground.errors import ToolError
from harness.machine.clock_lock import check, locked
from tests.support.paths import ROOT

UUID = "GPU-1234"
SET = "nvmlDeviceSetGpuLockedClocks card 1500 1500"
RESET = "nvmlDeviceResetGpuLockedClocks card"
BY_HAND = f"nvidia-smi -i {UUID} --reset-gpu-clocks"

# As pynvml: tells each call, and refuses or hangs in those that the test names.
PYNVML = """
import json, os, time
from functools import partial
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
BEHAVIOUR = json.loads((HERE / "behaviour.json").read_text())
ANSWERS = {
    "nvmlDeviceGetHandleByUUID": "card",
    "nvmlDeviceGetSupportedMemoryClocks": [2619, 3201],
    "nvmlDeviceGetSupportedGraphicsClocks": [1980, 1515, 1500, 1485, 345],
}
(HERE / "pid").write_text(str(os.getpid()))

class NVMLError(Exception): pass
class NVMLError_NoPermission(NVMLError): pass
class NVMLError_NotSupported(NVMLError): pass
class NVMLError_NotFound(NVMLError): pass

def __getattr__(name):
    if not name.startswith("nvml"):
        raise AttributeError(name)
    return partial(_call, name)

def _call(name, *arguments):
    until = time.monotonic() + 60
    while BEHAVIOUR.get(name) == "hang" and not (HERE / "go").exists():
        if time.monotonic() > until:
            return
        time.sleep(0.02)
    with (HERE / "calls").open("a") as file:
        file.write(" ".join(map(str, (name, *arguments))) + "\\n")
    if BEHAVIOUR.get(name, "hang") != "hang":
        raise globals()[BEHAVIOUR[name]]("refused by the fake")
    return ANSWERS.get(name)
"""

# A harness: holds the lock, runs a cell meanwhile, and tells what it was told.
HOLDER = f"""
import pathlib, signal, sys
from harness.ground import process
from harness.machine import clock_lock
from harness.ground.errors import ToolError

here = pathlib.Path.cwd()
clock_lock._DEADLINE_S = float(sys.argv[1])
# Whoever runs the tests may ignore these, as a shell does for what it runs in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
try:
    with clock_lock.locked("{UUID}", 1500):
        argv = ["bash", "-c", sys.argv[2]]
        env = process.environment({{}})
        process.run(argv, cwd=here, env=env, log=here / "log", deadline_s=60)
except ToolError as error:
    print(error, flush=True)
"""
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
CELL = "echo $$ > cell.new; mv cell.new cell; exec sleep 60"


class Card:
    """A GPU as the fake in ``folder`` plays it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pynvml.py").write_text(PYNVML)
        self.behaves()

    def behaves(self, **calls: str) -> None:
        """Let calls raise the error of that name, or hang until told to ``go``."""
        (self.folder / "behaviour.json").write_text(json.dumps(calls))

    def go(self) -> None:
        (self.folder / "go").touch()

    def changes(self) -> list[str]:
        """Return the calls that changed the card, or tried to."""
        calls = self.folder / "calls"
        queries = ("nvmlInit", "nvmlShutdown", "nvmlDeviceGet")
        output = calls.read_text().splitlines() if calls.exists() else []
        return [call for call in output if not call.startswith(queries)]

    def pid(self, name: str = "pid") -> int:
        return int((self.folder / name).read_text())


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Card:
    monkeypatch.syspath_prepend(tmp_path)
    return Card(tmp_path)


def loaded(card: Card) -> ModuleType:
    """Load the fake of this card as it behaves now."""
    spec = importlib.util.spec_from_file_location("pynvml", card.folder / "pynvml.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def soon(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    return False


@contextmanager
def holder(card: Card, deadline_s: float = 10, cell: str = CELL) -> Iterator[subprocess.Popen[str]]:
    """Start a harness in a process group of its own; neither it nor its cell is left behind."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(deadline_s), cell],
        cwd=card.folder,
        env={**os.environ, "PYTHONPATH": f"{card.folder}:{ROOT}"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            yield running
        finally:
            card.go()
            running.kill()
            if (card.folder / "cell").exists() and alive(card.pid("cell")):
                os.kill(card.pid("cell"), signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_the_clock_is_locked_within_and_nothing_else_is_changed(card: Card) -> None:
    with locked(UUID, 1500):
        assert card.changes() == [SET]
    assert card.changes() == [SET, RESET]


def test_an_exception_within_is_passed_on_and_the_lock_undone(card: Card) -> None:
    with pytest.raises(ZeroDivisionError), locked(UUID, 1500):
        _ = 1 / 0
    assert card.changes() == [SET, RESET]


@pytest.mark.parametrize("number", [*ENDS, signal.SIGKILL])
def test_a_signal_to_the_harness_and_its_group_undoes_the_lock(
    card: Card, number: signal.Signals
) -> None:
    with holder(card) as running:
        assert soon((card.folder / "cell").exists)
        assert card.changes() == [SET]
        os.killpg(running.pid, number)
        assert soon(lambda: card.changes() == [SET, RESET])


def test_a_killed_harness_leaves_neither_lock_nor_cell(card: Card) -> None:
    with holder(card) as running:
        assert soon((card.folder / "cell").exists)
        running.kill()
        assert soon(lambda: card.changes() == [SET, RESET])
        assert soon(lambda: not alive(card.pid("cell")))


def test_signals_do_not_end_the_guardian(card: Card) -> None:
    with locked(UUID, 1500):
        for number in ENDS:
            os.kill(card.pid(), number)
    assert card.changes() == [SET, RESET]


@pytest.mark.parametrize(
    ("call", "error", "output"),
    [
        ("nvmlInit", "NVMLError", "no NVIDIA driver answers (leave"),
        ("nvmlDeviceGetHandleByUUID", "NVMLError_NotFound", "no such GPU: refused"),
        ("nvmlDeviceSetGpuLockedClocks", "NVMLError_NoPermission", "run as root, or leave --lock"),
        ("nvmlDeviceSetGpuLockedClocks", "NVMLError_NotSupported", "cannot be locked (leave"),
        ("nvmlDeviceSetGpuLockedClocks", "NVMLError", "not locked at 1500 MHz: refused"),
    ],
)
def test_a_refusal_is_one_line_and_nothing_is_reset(
    card: Card, capfd: pytest.CaptureFixture[str], call: str, error: str, output: str
) -> None:
    card.behaves(**{call: error})
    with pytest.raises(ToolError) as raised, locked(UUID, 1500):
        pytest.fail("entered without a lock")
    assert str(raised.value).startswith(f"{UUID}: ")
    assert output in str(raised.value)
    assert RESET not in card.changes()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("asked", "nearest"), [(1495, 1500), (1, 345), (9999, 1980)])
def test_a_clock_that_the_card_has_not_got_names_the_nearest(
    card: Card, asked: int, nearest: int
) -> None:
    with (
        pytest.raises(ToolError, match=f"cannot be {asked} MHz .*--lock-clocks {nearest}"),
        locked(UUID, asked),
    ):
        pytest.fail("entered without a lock")
    assert card.changes() == []


def test_a_clock_is_checked_without_being_locked(
    card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", loaded(card))
    with pytest.raises(ToolError, match=r"cannot be 1495 MHz .*--lock-clocks 1500"):
        check(UUID, 1495)
    check(UUID, 1500)
    assert card.changes() == []
    card.behaves(nvmlDeviceGetHandleByUUID="NVMLError_NotFound")
    monkeypatch.setitem(sys.modules, "pynvml", loaded(card))
    with pytest.raises(ToolError, match="no such GPU"):
        check(UUID, 1500)


@pytest.mark.parametrize(
    "call", ["nvmlDeviceGetSupportedMemoryClocks", "nvmlDeviceGetSupportedGraphicsClocks"]
)
def test_a_card_that_does_not_tell_its_clocks_is_locked_all_the_same(card: Card, call: str) -> None:
    card.behaves(**{call: "NVMLError_NotSupported"})
    with locked(UUID, 1500):
        assert card.changes() == [SET]
    assert card.changes() == [SET, RESET]


def test_a_reset_that_fails_is_told_with_its_remedy(
    card: Card, capfd: pytest.CaptureFixture[str]
) -> None:
    card.behaves(nvmlDeviceResetGpuLockedClocks="NVMLError")
    with pytest.raises(ToolError, match=f"may still be locked .*{BY_HAND}"), locked(UUID, 1500):
        pass
    output = capfd.readouterr().err.splitlines()
    assert output == [
        f"{UUID}: its clock is still locked: refused by the fake (as root: {BY_HAND})"
    ]


def test_a_guardian_that_was_killed_is_told_with_the_remedy(card: Card) -> None:
    with pytest.raises(ToolError, match=f"may still be locked .*{BY_HAND}"), locked(UUID, 1500):
        os.kill(card.pid(), signal.SIGKILL)


def test_a_lock_that_comes_too_late_is_undone(card: Card) -> None:
    card.behaves(nvmlDeviceSetGpuLockedClocks="hang")
    with holder(card, deadline_s=2) as running:
        output, _ = running.communicate(timeout=30)
        assert card.changes() == []
        assert BY_HAND in output
        card.go()
        assert soon(lambda: card.changes() == [SET, RESET])
    assert not (card.folder / "cell").exists()


def test_a_reset_that_hangs_is_told_with_its_remedy(card: Card) -> None:
    card.behaves(nvmlDeviceResetGpuLockedClocks="hang")
    with holder(card, deadline_s=5, cell="exit 0") as running:
        output, _ = running.communicate(timeout=40)
        assert card.changes() == [SET]
        assert BY_HAND in output
        card.go()
        assert soon(lambda: card.changes() == [SET, RESET])


def test_a_guardian_that_cannot_start_is_a_tool_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no-such-program: cannot start"):
        process.guardian(["no-such-program"], cwd=tmp_path, env={})
