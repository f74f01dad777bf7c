"""The kinds of capture there are; a new one is its file and a line here."""

from harness.captures import memory, ncu, nsys, torch_trace
from harness.captures.kind import Kind
from harness.problem import CaptureKind

KINDS: dict[CaptureKind, Kind] = {
    "timing": Kind(),
    "memory": memory.KIND,
    "torch": torch_trace.KIND,
    "nsys": nsys.KIND,
    "ncu": ncu.KIND,
}
