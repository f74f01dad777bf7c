"""The kind ``torch``: a trace of torch.profiler, recorded by the probe."""

import re

from harness.evidence.kind import Format, Kept, Kind, Lazy

_TRACE = "trace.json.gz"

KIND = Kind(
    name="torch",
    title="a torch.profiler trace (.json)",
    cost=2,
    # Any JSON object or array: a trace's keys may come in any order.
    formats=(
        Format(
            re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[{\]])'),
            vague=True,
            unpacks_itself=True,
        ),
    ),
    hook="harness.probe.hooks.torch_profiler:TorchProfiler",
    leaves=(_TRACE,),
    artifact=_TRACE,
    read=Lazy("harness.captures.torch.read:read"),
    fills=(
        "gpu_ops",
        "devices",
        "api_calls",
        "ranges",
        "operators",
        "origins",
        "autograd_threads",
        "conditions",
    ),
    check=Lazy("harness.captures.checks:declared_ranges"),
    conditions=Lazy("harness.captures.torch.conditions:conditions"),
    measures={
        "kernels_per_step": Lazy("harness.analysis.derived:kernels_per_step"),
        "gpu_busy_per_step": Lazy("harness.analysis.derived:gpu_busy_per_step"),
    },
    compared_by="gpu_ops",
    summarise=Lazy("harness.analysis.summary:torch_trace"),
    show=Lazy("harness.cli.shown.timeline:show"),
    kept=(
        Kept(
            _TRACE,
            rank=1,
            opens=(("Perfetto", "xdg-open https://ui.perfetto.dev  # drop {file} on the page"),),
        ),
    ),
)
