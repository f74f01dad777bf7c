"""First finding of memory snapshots that students publish, beside a replay of each file's events.

    python benchmarks/foreign_snapshots.py FOLDER >>docs/foreign-captures.md

FOLDER holds clones of the projects as FOLDER/OWNER/NAME. The replay shares no code with the reader
that it is held to.
"""

import argparse
import pickle
import sys
from pathlib import Path

from foreign_captures import first_finding

_MEDIUM = "Wedsonlin/assignment2-systems"
_XL = "Athrun0109/CS336_assignment2"
_LLAMA = "kkaitlyn111/cs336-a2-systems"
SNAPSHOTS = (
    (_XL, "memory_snapshot_False_ctx128.pickle", "Training steps; before them AdamW's states."),
    (_XL, "memory_snapshot_True_ctx128.pickle", "Forward passes of the same model."),
    (_XL, "memory_snapshot_True_ctx512.pickle", "The same at four times the length."),
    (_XL, "memory_snapshot_bf16_False_ctx128.pickle", "Under autocast, which keeps casts."),
    (
        _MEDIUM,
        "results/medium_1024_inference_memory_snapshot.pickle",
        "Without gradients, four matrices of attention scores of one layer make the peak.",
    ),
    (
        _MEDIUM,
        "results/medium_512_inference_memory_snapshot.pickle",
        "The same with a quarter of the scores.",
    ),
    (
        _MEDIUM,
        "results/medium_128_inference_memory_snapshot.pickle",
        "The weights are all but 2% of the peak.",
    ),
    (
        _MEDIUM,
        "results/medium_1024_training_memory_snapshot.pickle",
        "Activations of 24 layers, kept for the backward pass.",
    ),
    (
        _MEDIUM,
        "results/medium_512_training_memory_snapshot.pickle",
        "The same at half the length.",
    ),
    (
        _MEDIUM,
        "results/medium_128_training_memory_snapshot.pickle",
        "Short sequences: gradients and the optimizer make the peak.",
    ),
    ("cranberrii/ftcourse", "memory_snapshot.pickle", "Fine-tuning of a Llama."),
    (
        _LLAMA,
        "cs336_systems/memory_logs/memory_ctx128_forward.pickle",
        "One forward pass of compiled code, recorded to its end.",
    ),
    (
        _LLAMA,
        "memory_files/memory_ctx512_forward_mixed.pickle",
        "One forward pass, which ends in a head: its layers leave alike and are no leak.",
    ),
    (
        _LLAMA,
        "memory_files/memory_ctx512_fullstep_.pickle",
        "Whole steps; what earlier lengths left cached is 11% of what is reserved.",
    ),
)
"""Memory snapshots, and what is in each: project, file, contents."""

PAGE = """
## Memory snapshots

Students publish these snapshots of torch's allocator; all begin after the model was made. Beside
the first finding stands the peak of allocated bytes, and what of it was allocated before the
recording, by a replay of the file's events that shares no code with the reader.

| snapshot | first finding | peak | of it from before | what it is |
| --- | --- | ---: | ---: | --- |
"""


def replayed(path: Path) -> tuple[int, int]:
    """Return the last peak of allocated bytes, and those of it that no event allocated.

    A block counts as it stands in the file's segments, else as asked for, in units of 512 bytes.
    """
    with path.open("rb") as file:
        content = pickle.load(file)  # noqa: S301 - of projects that were looked at
    events = [
        (event["action"], event["addr"], max(1, -(-event["size"] // 512)) * 512)
        for event in max(content["device_traces"], key=len)
        if event["action"] in ("alloc", "free_completed")
    ]
    standing: dict[int, int] = {}
    for segment in content["segments"]:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                standing[address] = block["size"]
            address += block["size"]
    live = dict(standing)
    for action, address, size in reversed(events):
        if action == "alloc":
            live.pop(address)
        else:
            live[address] = size
    last = {address: at for at, (_, address, _) in enumerate(events)}
    before = dict(live)
    level, rest = sum(live.values()), sum(live.values())
    most = (level, rest)
    for at, (action, address, size) in enumerate(events):
        if action == "alloc":
            live[address] = standing[address] if last[address] == at else size
            level += live[address]
        else:
            level -= live.pop(address)
            rest -= before.pop(address, 0)
        most = max(most, (level, rest), key=lambda pair: pair[0])
    return most


def row(root: Path, project: str, name: str, why: str) -> str:
    """Return a snapshot's row."""
    path = root / project / name
    finding, share = first_finding(path)
    named = f"`{finding}`" + (f" {share:.1%}" if share else "")
    peak, before = (f"{size / 1e9:.2f} GB" for size in replayed(path))
    link = f"[{project}](https://github.com/{project}) `{name}`"
    return "| " + " | ".join((link, named, peak, before, why)).replace("%", " %") + " |\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of clones, OWNER/NAME each")
    root = parser.parse_args().folder
    sys.stdout.write(PAGE)
    for project, name, why in SNAPSHOTS:
        sys.stdout.write(row(root, project, name, why))
