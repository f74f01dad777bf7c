"""Every way by its name, as manifests say it."""

import sequence_ways
import tensor_ways
import training_ways
from expert_ways import experts
from torch.distributed.device_mesh import DeviceMesh
from training_ways import Build
from way import Way, same
from work import Work, trained
from world import World


def whole(work: Work, _: World, __: DeviceMesh) -> Way:
    """Return the model on one GPU, unsplit: each rank does all of the work."""
    stack, x = work.stack(), work.input()
    step = trained(stack, x, x.numel()) if work.trains else lambda: stack(x)
    return Way(step, same, 0.0, parts=[(stack, range(work.layers))])


WAYS: dict[str, Build] = {
    "whole": whole,
    "tensor": tensor_ways.tensor,
    "tensor-symmetric": tensor_ways.symmetric,
    "sequence": tensor_ways.sequence,
    "sequence-async": tensor_ways.overlapped,
    "ring": sequence_ways.ring,
    "ring-torch": sequence_ways.ring_of_torch,
    "ulysses": sequence_ways.ulysses,
    "experts": experts,
    "data": training_ways.data(25),
    "data-large": training_ways.data(400),
    "fsdp": training_ways.fsdp(),
    "fsdp-ahead": training_ways.fsdp(ahead=True),
    "fsdp-keep": training_ways.fsdp(keep=True),
    "naive": training_ways.pipeline("naive"),
    "gpipe": training_ways.pipeline("gpipe"),
    "1f1b": training_ways.pipeline("1f1b"),
    "interleaved": training_ways.pipeline("interleaved"),
    "zero": training_ways.pipeline("zero"),
}
NOT_CAPTURED = {"experts"}
"""Ways whose hosts have to know a size in the middle of a step: no CUDA graph can hold them."""
