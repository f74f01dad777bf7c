"""The commands, one file each: they parse, call and print; they decide nothing."""

import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line; user errors are one line and exit code 2 (or the error's own)."""
    from typer.exceptions import TyperException

    from harness.cli.app import app
    from harness.errors import HarnessError

    signal.signal(signal.SIGTERM, _interrupt)
    try:
        raise SystemExit(app(standalone_mode=False))
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "harness"
        message = " ".join(error.format_message().split())
        print(f"harness: {message} ({command} --help)", file=sys.stderr)
        raise SystemExit(2) from None
    except HarnessError as error:
        print(f"harness: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print("harness: interrupted", file=sys.stderr)
        raise SystemExit(130) from None


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Let SIGTERM end a run as Ctrl-C does: children killed, what is finished kept."""
    raise KeyboardInterrupt
