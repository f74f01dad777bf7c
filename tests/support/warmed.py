"""Imports what commands import, in the process that they are forked from: tests/support/warm.py."""

# ruff: noqa: F401, E402
from harness.ground import allocator

allocator.keep_freed()  # before polars is imported, as a command does
import polars

import harness.analysis.audit.conclude
import harness.analysis.claims
import harness.analysis.diagnose.conclude
import harness.analysis.diff.compare
import harness.captures.memory.read
import harness.captures.nsys.read
import harness.captures.torch.read
import harness.cli.app
import harness.cli.streams
import harness.contribute.receive
import harness.extract.door
import harness.extract.run
import harness.report.difference
import harness.report.publish
import harness.view.document
