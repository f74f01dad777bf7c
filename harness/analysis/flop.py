"""Floating-point operations of profiled launches, counted from the SASS that their warps executed.

Opcodes and shapes: "Instruction Set Reference" of NVIDIA's CUDA Binary Utilities, and the PTX ISA's
mma and wgmma, which they implement. A multiplication and the addition of its product are two
operations. All 32 threads of a warp count, also those that a branch has left: of kernels that
diverge the count is the most that they did.
"""

import re

import polars as pl

from harness.analysis.diagnose.launch import mix

_WARP = 32
_PER_THREAD = {"FFMA": 2, "FADD": 1, "FMUL": 1, "FFMA2": 4, "FADD2": 2, "FMUL2": 2} | {
    f"{name}32I": count for name, count in (("FFMA", 2), ("FADD", 1), ("FMUL", 1))
}
"""FP32 operations of one thread's instruction; those of two numbers at a time end in 2."""
_MATRIX = re.compile(
    r"(?P<unit>HMMA|QMMA|HGMMA|QGMMA)\.(?P<shape>\d{1,5}(?:x\d{1,5}x\d{1,5})?)(?P<types>\S*)"
)
_SHAPES = {"1684": (16, 8, 4), "1688": (16, 8, 8), "16816": (16, 8, 16), "16832": (16, 8, 32)}
"""Rows, columns and depth of the product that one warp computes, as its opcode writes them."""
_GROUP = {"HGMMA": 4, "QGMMA": 4}
"""Warps that compute one product together, each of which executes the instruction."""
_WORD = r"^\s*(?:@!?U?P\w+\s+)?(\S+)"


def per_launch(instructions: pl.DataFrame) -> dict[int, dict[str, float]]:
    """Return the operations of each launch by kind.

    Kinds: bf16, fp16, tf32 and fp8 of the tensor cores, and fp32. A launch is absent if the tensor
    cores did what is not understood here (integers, FP64, sparse matrices), or if how often its
    instructions were executed is not known.
    """
    words = instructions.with_columns(word=pl.col("sass").cast(pl.String).str.extract(_WORD))
    rows = words.group_by("launch", "word", maintain_order=True).agg(
        pl.col("executed").sum(), unknown=pl.col("executed").null_count()
    )
    by_launch: dict[int, dict[str, float]] = {}
    refused: set[int] = set()
    for launch, word, executed, unknown in rows.iter_rows():
        kinds = by_launch.setdefault(launch, {})
        work = of_instruction(word or "")
        if unknown or work is None:
            refused.add(launch)
        elif work[1]:
            kinds[work[0]] = kinds.get(work[0], 0.0) + work[1] * executed
    return {launch: kinds for launch, kinds in by_launch.items() if launch not in refused}


def of_instruction(word: str) -> tuple[str, float] | None:
    """Return the kind and the operations of one warp's execution of an opcode with its modifiers.

    ("", 0.0) of what computes no floating-point number that counts; None of what does, or may, and
    is not understood.
    """
    opcode = word.partition(".")[0]
    if opcode in _PER_THREAD:
        return "fp32", float(_PER_THREAD[opcode] * _WARP)
    if opcode not in mix.TENSOR:
        return "", 0.0
    match = _MATRIX.fullmatch(word)
    shape = match and (_SHAPES.get(match["shape"]) or _sides(match["shape"]))
    if not match or not shape:
        return None
    rows, columns, depth = shape
    return _kind(match["unit"], match["types"]), 2.0 * rows * columns * depth / _GROUP.get(
        match["unit"], 1
    )


def _sides(shape: str) -> tuple[int, int, int] | None:
    """Return the sides of a shape such as 64x128x16."""
    sides = [int(side) for side in shape.split("x")]
    return (sides[0], sides[1], sides[2]) if len(sides) == 3 else None


def _kind(unit: str, types: str) -> str:
    if unit.startswith("Q"):
        return "fp8"
    return next((name for name in ("bf16", "tf32") if f".{name.upper()}" in types), "fp16")
