"""Subjects of one capture, made of its tables."""

from harness.evidence.capture import Capture
from harness.evidence.subject import Subject
from harness.evidence.tables import Tables


def subject(label: str, tables: Tables, kind: str = "nsys") -> Subject:
    """Return a subject of one capture without conditions."""
    return Subject(label, {kind: Capture(label, tables, {}, kind)})
