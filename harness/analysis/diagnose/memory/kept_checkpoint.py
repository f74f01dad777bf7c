"""A checkpoint that was read onto the GPU stays there, beside the weights it was copied into.

``torch.load(..., map_location="cuda")`` makes each tensor of the file on the GPU, and
``load_state_dict`` copies them into a model that has its own. The file's tensors live as long as
the dictionary does. A block of them is a duplicate if another block of its size is kept that is
part of a module, or that stood before the file was read.

A line that dropped some of what it read has dropped its dictionary: blocks that remain are in use,
such as an optimizer's states, which are taken over, not copied. So are weights that became the
model (assign=True), beside which no others of their sizes are.

Where to look: In torch's viewer (memory_viz) bands of the parameters' sizes stand twice, from
before the first step to the end. One set's stacks go through torch/serialization.py or safetensors.

Neighbours: kept-copies was made by deepcopy. transient-spike is a checkpoint that is freed after it
was copied. leak grows in each step.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView
from harness.evidence.roles import CHECKPOINT, WEIGHTS

KIND = FindingKind(
    "kept-checkpoint",
    "memory",
    "A checkpoint that was loaded onto the GPU is kept beside the weights copied from it.",
    fix=(
        "load it to the CPU: torch.load(..., map_location='cpu', mmap=True); load_state_dict"
        " copies from there",
        "delete the dictionary once it is copied, and keep only what is read later (such as the"
        " step's number)",
        "or let its tensors be the model: load_state_dict(..., assign=True)",
    ),
)


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield each line that read duplicates of weights and dropped nothing that it read."""
    begun = pl.col("index") <= (view.first + view.last) // 2
    kept = view.blocks.filter(begun, pl.col("freed").is_null())
    for (site,), read in view.blocks.filter(begun, pl.col("role") == CHECKPOINT).group_by("site"):
        here = read.filter(pl.col("freed").is_null())
        size = int(here["bytes"].sum())
        dropped = int(read["bytes"].sum()) - size
        if dropped >= thresholds.MATTERS * (size + dropped):
            continue
        stood = pl.col("index") < read["index"].min()
        weights = kept.filter(stood | (pl.col("role") == WEIGHTS), pl.col("role") != CHECKPOINT)
        twice = duplicates(here, weights)
        evidence = (
            view.size("read by this line and kept to the end", size),
            view.size("of it in blocks for which a module has its own of the same size", twice),
            view.size("read by this line and freed", dropped),
        )
        share = view.part(twice)
        yield KIND.finding(str(site), evidence, share=share, gain=share, confidence=0.8)


def duplicates(blocks: pl.DataFrame, others: pl.DataFrame) -> int:
    """Return the bytes of blocks beside which another of the same size, of its own, is."""
    counts = [rows.group_by("bytes").len("count") for rows in (blocks, others)]
    pairs = counts[0].join(counts[1], on="bytes", suffix="_of_others")
    both = pl.min_horizontal("count", "count_of_others").cast(pl.Int64)
    return int(pairs.select((both * pl.col("bytes")).sum()).item() or 0)
