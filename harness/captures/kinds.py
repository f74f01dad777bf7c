"""The kinds of capture there are; a new one is its file and a line here."""

from harness.captures.kind import Kind
from harness.captures.memory import read as memory
from harness.captures.ncu import read as ncu
from harness.captures.nsys import read as nsys
from harness.captures.torch import read as torch_trace
from harness.problem.model import CaptureKind

KINDS: dict[CaptureKind, Kind] = {
    "timing": Kind(),
    "memory": memory.KIND,
    "torch": torch_trace.KIND,
    "nsys": nsys.KIND,
    "ncu": ncu.KIND,
}
