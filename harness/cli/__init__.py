"""The commands, one file each: they parse, call and print; they decide nothing."""

import gc
import signal
import sys
from collections.abc import Callable
from types import FrameType

from harness.ground import allocator, bounded, endings
from harness.ground.errors import HarnessError

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_EXTRAS = {
    "docker": "run",
    "pynvml": "run",
    "altair": "figures",
    "vl_convert": "figures",
    "submitit": "slurm",
    "mcp": "mcp",
}
"""The extra that a package is in, where it is not one that every installation has."""
_BOUNDED = frozenset(
    {"audit", "check", "contribute", "diagnose", "diff", "inspect", "report", "view"}
)
"""The commands that read what strangers made, and start nothing that outlives them."""
_UNBOUNDED = ("--push", "--fetch", "--test")
"""Options that copy captures unread, as a network may take its time and ask for a password, or that
run the user's own program."""


def main() -> None:
    """Run the command line; user errors are one line and exit code 2 (or the error's own)."""
    allocator.keep_freed()
    try:
        _on_ending(_interrupt)
        code = bounded.run(_guarded) if is_bounded(sys.argv[1:]) else _guarded()
    except HarnessError as error:
        print(f"harness: {error}", file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        code = _INTERRUPTED
    if code == _INTERRUPTED:  # typer returns it for KeyboardInterrupt
        print("harness: interrupted", file=sys.stderr)
    _on_ending(signal.SIG_DFL)  # what Python does as it ends has nothing that is to be kept
    gc.freeze()  # nothing is freed: as it ends, Python would look through all objects for cycles
    raise SystemExit(code)


def is_bounded(words: list[str]) -> bool:
    """Return whether a command line runs in a bounded copy of this process."""
    command = next((word for word in words if not word.startswith("-")), "")
    return command in _BOUNDED and not any(word.startswith(_UNBOUNDED) for word in words)


def _guarded() -> int:
    """Run the command with its streams guarded and return the exit code."""
    from harness.cli import streams
    from harness.ground.errors import OutputError

    try:
        with streams.guarded():
            return _command()
    except OutputError as error:
        if not isinstance(error.__cause__, BrokenPipeError):  # as `| head` leaves
            print(f"harness: {error}", file=sys.stderr)
        return error.exit_code


def _command() -> int:
    """Run the command that the arguments name and return the exit code."""
    from typer.exceptions import TyperException

    from harness.cli.app import app
    from harness.ground.errors import HarnessError, OutputError
    from harness.ground.plain import plain

    try:
        return app(standalone_mode=False) or 0
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "harness"
        message = " ".join(error.format_message().split())
        print(f"harness: {plain(message)} ({command} --help)", file=sys.stderr)
        return 2
    except OutputError:
        raise
    except HarnessError as error:
        print(f"harness: {error}", file=sys.stderr)
        return error.exit_code
    except ModuleNotFoundError as error:
        print(f"harness: {_not_installed(error)}", file=sys.stderr)
        return 1


def _not_installed(error: ModuleNotFoundError) -> str:
    """Return the line on a missing package; a missing module of the harness is a bug: raised."""
    package = (error.name or "").split(".")[0]
    if package in ("", "harness"):
        raise error
    extra = _EXTRAS.get(package)
    wanted = f"'.[{extra}]'" if extra else "."
    return f"{package} is not installed (in a checkout of the harness: pip install {wanted})"


def _on_ending(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """Handle the signals that end a program so."""
    for number in endings.heeded():
        signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Let a signal end a run as Ctrl-C does: programs are ended, finished cells are kept."""
    raise KeyboardInterrupt
