"""What commands were called before: a user who types an old name learns the new one."""

from collections.abc import Mapping

from harness.ground.errors import UsageError

NOW: Mapping[str, str] = {
    "calibrate": "harness doctor --calibrate",
    "captures": "harness contribute --push DEST, or harness contribute --fetch SRC",
    "clean": "harness doctor --clean",
    "explain-claim": "harness check PROBLEM --claim ID",
    "extract": "harness report PROBLEM --tables-only",
    "import": "harness contribute FILE --as PROBLEM/CASE/VARIANT",
    "join": "harness report --join RUN RUN",
    "matrix": "a loop of the shell around harness run: docs/clusters.md",
    "run --on kubernetes": "a manifest to copy: docs/clusters.md",
}
"""By what is no longer there, what does its work."""


def refuse(old: str) -> None:
    """Raise UsageError that says the new name if ``old`` was a command, or a command's option."""
    if old in NOW:
        raise UsageError("is no more", where=f"harness {old}", remedy=f"now: {NOW[old]}")
