"""What only this study's pages show: the exam of the diagnosis, and the field guide of findings."""

from .exam_table import exam, exam_without
from .field_guide import finding, findings, fixes, planted
from .signature import signature
from .twin_counters import twins

__all__ = ["exam", "exam_without", "finding", "findings", "fixes", "planted", "signature", "twins"]
