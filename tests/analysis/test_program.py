"""What captures say of a program, by names as profilers write them."""

from collections.abc import Sequence

import pytest

from harness.analysis import program
from harness.analysis.program import AMD, NVIDIA, Program
from harness.captures.torch.read import read
from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, empty, frame
from tests.support.paths import DATA

PLAIN = [f"void step_{number}(float*)" for number in range(12)]
EAGER = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)"


def capture(kind: str, kernels: Sequence[str], ranges: Sequence[str] = ()) -> Capture:
    """Return a capture of kernels and ranges alone."""
    tables = {name: empty(name) for name in SCHEMAS}
    tables["gpu_ops"] = frame("gpu_ops", {"kind": ["kernel"] * len(kernels), "name": kernels})
    tables["ranges"] = frame("ranges", {"name": ranges})
    return Capture("made.sqlite", tables, {}, kind)


@pytest.mark.parametrize(
    ("kernels", "ranges", "expected"),
    [
        (PLAIN, (), Program(NVIDIA, torch=False)),
        (PLAIN[:3], (), Program(NVIDIA)),  # too few to tell
        (PLAIN, ("step:forward",), Program(NVIDIA)),  # the probe's, which torch programs import
        ([*PLAIN, EAGER], (), Program(NVIDIA, torch=True)),
        (["triton_poi_fused_add_0"], (), Program(NVIDIA, torch=True, compiled=True)),
        ([EAGER, "multi_tensor_apply_kernel"], (), Program(NVIDIA, torch=True, training=True)),
    ],
)
def test_a_timeline_of_nsys_tells_a_program_by_its_names(
    kernels: Sequence[str], ranges: Sequence[str], expected: Program
) -> None:
    assert program.of_captures([capture("nsys", kernels, ranges)]) == expected


def test_a_trace_of_torch_tells_all() -> None:
    path = DATA / "torch" / "mi300x_step.json.gz"
    tables = {name: empty(name) for name in SCHEMAS} | read(path)
    made = Capture(path.name, tables, {}, "torch")
    assert program.of_captures([made]) == Program(AMD, torch=True, compiled=False, training=True)


def test_hip_calls_tell_the_vendor_where_no_device_does() -> None:
    tables = {name: empty(name) for name in SCHEMAS}
    tables["api_calls"] = frame("api_calls", {"name": ["hipLaunchKernel"]})
    assert program.of_captures([Capture("made.json", tables, {}, "torch")]).vendor == AMD
    assert program.of_captures([]) == Program()
