"""The errors that a user can cause or meet; each says what happened, where, and what to do.

Any other exception is a bug, and shows its traceback.
"""

from harness.ground.plain import plain


class HarnessError(Exception):
    """A failure that one line reports: ``where: what (remedy)``.

    ``exit_code`` is the process's: 2 for input that cannot be used, 1 for work that failed.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: object = None, remedy: str = "") -> None:
        self.what = what
        self.where = "" if where is None else str(where)
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        if self.remedy:
            line = f"{line} ({self.remedy})"
        return plain(" ".join(line.split()))


class UsageError(HarnessError):
    """The command line names something that does not exist or cannot be combined."""


class NothingToRunError(UsageError):
    """What was asked for has no cell that the machine can run."""


class ManifestError(HarnessError):
    """A ``problem.yaml`` that does not say what a manifest has to say."""


class CaptureError(HarnessError):
    """A capture file that is damaged, incomplete, hostile, or of another kind than it claims."""


class EvidenceError(HarnessError):
    """Evidence that lacks what a report or a claim needs, or is of another schema."""


class UnattributedError(EvidenceError):
    """An audit that does not know what launched too much of the GPU's work."""

    exit_code = 1


class StoreError(HarnessError):
    """A run folder that cannot be written, or no longer holds what was recorded."""


class DiskFullError(StoreError):
    """A file that is not written, as there is no room for it."""


class OutputError(HarnessError):
    """Standard output that takes no more: the disk is full, or its reader has left."""

    exit_code = 1


class ToolError(HarnessError):
    """A program or package that the work needs is absent, too old, or refused to work."""

    exit_code = 1


class BusyError(ToolError):
    """Another run holds the GPU: the work may go on when that has ended."""
