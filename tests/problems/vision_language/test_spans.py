"""A stage timed three ways on a simulated GPU: its launches, with its gaps, and ahead of it."""

import pytest

from tests.support.torch_cpu import needs_torch, run

SIMULATED = """
import sys
sys.path.insert(0, sys.argv[1])
import torch, spans

ms = 1_000_000
class Gpu:  # one stream; all times in ns
    host = free = 0
gpu = Gpu()

class Event:
    def __init__(self, enable_timing): pass
    def record(self): self.at = max(gpu.host, gpu.free)
    def elapsed_time(self, end): return (end.at - self.at) / ms
    def synchronize(self): wait()

def wait(): gpu.host = max(gpu.host, gpu.free)
def kernel(length): gpu.free = max(gpu.host, gpu.free) + length
spans.time.perf_counter_ns = lambda: gpu.host
torch.cuda.Event, torch.cuda.synchronize = Event, wait
torch.cuda._sleep = lambda cycles: kernel(cycles * ms // 2_000_000)  # 2 GHz
torch.cuda.nvtx.range_push = torch.cuda.nvtx.range_pop = lambda *_: None

def stage(count, launch, work, waits=False):
    for _ in range(count):
        gpu.host += launch
        kernel(work)
        if waits: wait()
    return count

for given, wanted in (
    ((100, ms // 5, ms // 20), (20, 20, 5)),  # its host holds it up
    ((100, ms // 20, ms // 5), (5, 20, 20)),  # its GPU does: the first launch is its only gap
    ((100, ms, ms // 10, True), (110, 110, None)),  # waits in its midst, and is not tried
):
    clock = spans.Clock("cuda", alone=True)
    clock.start()
    assert clock.launched("encode", 3, lambda: stage(*given)) == 100
    clock.stop()
    found = [clock.ms("encode", where).get(3) for where in (0, spans.GPU, spans.AHEAD)]
    for one, known in zip(found, wanted):
        assert (one is None) == (known is None), (given, found)
        assert one is None or abs(one - known) <= 0.25, (given, found)
    assert not clock.ms("prefill")

clock = spans.Clock("cuda")  # of a burst: nothing runs twice
clock.start()
calls = []
clock.launched("encode", 0, lambda: calls.append(stage(10, ms, ms)))
clock.stop()
assert len(calls) == 1 and not clock.ms("encode", spans.AHEAD)
"""


@pytest.mark.slow
@needs_torch
def test_the_gpus_own_time_is_without_the_gaps_that_its_host_makes() -> None:
    run(SIMULATED, "11-vision-language")
