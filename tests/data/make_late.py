"""Makes memory/late.pickle.zst, a snapshot whose recording begins after the model is made.

    python -m tests.data.make_late

A transformer of 12 layers trains for 3 steps on an allocator in miniature, with AdamW whose states
are made in its first step, before the recording. Its structure is torch's: events, segments with
blocks, and frames that stacks share.
"""

import pickle
from typing import Any

import zstandard

from tests.support.caching_allocator import MIB, Device
from tests.support.paths import DATA

STEPS, LAYERS = 3, 12
_LINES = {
    "attention": ("model.py", 97, "attention"),
    "softmax": ("model.py", 99, "attention"),
    "gelu": ("model.py", 61, "forward"),
    "loss": ("train.py", 40, "step"),
    "backward": ("train.py", 42, "step"),
    "adamw": ("train.py", 44, "step"),
}
_FRAMES = {
    site: [
        {"filename": f"/home/student/gpt/{file}", "line": line, "name": name},
        {"filename": "/home/student/gpt/train.py", "line": 58, "name": "main"},
    ]
    for site, (file, line, name) in _LINES.items()
}


def step(device: Device) -> None:
    """Run a forward pass, a backward pass that frees what it left, and the optimizer."""
    kept = []
    for _ in range(LAYERS):
        scores = device.new(96 * MIB, "attention")
        kept += [device.new(96 * MIB, "softmax"), device.new(64 * MIB, "gelu")]
        device.drop(scores)
    logits = [device.new(100 * MIB, "loss") for _ in range(2)]
    gradients = []
    device.drop(*logits)
    while kept:
        gradients.append(device.new(28 * MIB, "backward"))
        device.drop(kept.pop(), kept.pop())
    changed = [device.new(28 * MIB, "adamw") for _ in gradients]
    device.drop(*changed, *gradients)


def snapshot() -> dict[str, Any]:
    """Return the snapshot."""
    device = Device()
    for _ in range(3 * LAYERS):  # weights, and the optimizer's two states
        device.new(28 * MIB)
    step(device)
    recorded = len(device.history)
    for _ in range(STEPS):
        step(device)
    made = device.snapshot(recorded)
    for event in made["device_traces"][0]:
        site = event["frames"][0]["filename"].removeprefix("/w/") if event["frames"] else ""
        event["frames"] = _FRAMES.get(site, [])
    return made


if __name__ == "__main__":
    packed = zstandard.ZstdCompressor(19).compress(pickle.dumps(snapshot()))
    (DATA / "memory" / "late.pickle.zst").write_bytes(packed)
