"""What instructions a launch executed, and at which its warps waited, by SASS opcode.

Opcodes: "Instruction Set Reference" of NVIDIA's CUDA Binary Utilities.
"""

from harness.analysis.diagnose.launch.counted import Counted

FP32 = frozenset(
    {"FFMA", "FFMA2", "FADD", "FADD2", "FMUL", "FMUL2", "FFMA32I", "FADD32I", "FMUL32I"}
)
FP64 = frozenset({"DFMA", "DADD", "DMUL", "DSETP", "DMNMX"})
SPECIAL = frozenset({"MUFU", "I2F", "F2I", "F2F", "FRND", "POPC", "FLO", "BREV"})
MULTIPLY = frozenset({"IMAD", "IMUL", "XMAD", "IDP", "IDP4A"})
LOGIC = frozenset(
    {"IADD", "IADD3", "IADD32I", "VIADD", "LEA", "ISCADD", "LOP", "LOP3", "LOP32I", "PLOP3"}
    | {"SHF", "SHL", "SHR", "BFE", "BFI", "BMSK", "SGXT", "PRMT"}
    | {"ISETP", "IMNMX", "VIMNMX", "IABS", "SEL"}
)
INTEGER = MULTIPLY | LOGIC
TENSOR = frozenset({"HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA"})
ATOMIC = frozenset({"ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDAS", "UTMAREDG"})
LOCAL = frozenset({"LDL", "STL"})
LOAD = frozenset({"LDG", "LDS", "LD", "LDSM", "LDGSTS"})
_PIPES = {
    "fma": FP32 | MULTIPLY,
    "alu": LOGIC | {"FSETP", "FMNMX", "FSEL", "FCHK"},
    "xu": SPECIAL,
    "fp64": FP64,
}


def share(view: Counted, opcodes: frozenset[str]) -> float | None:
    """Return the executed warp instructions of these opcodes as a fraction of all."""
    whole = sum(each.executed for each in view.instructions)
    return (executed(view, opcodes) or 0) / whole if whole else None


def executed(view: Counted, opcodes: frozenset[str]) -> int | None:
    """Return how often warps executed these opcodes; None without instructions."""
    if not view.instructions:
        return None
    return sum(each.executed for each in view.instructions if each.opcode in opcodes)


def executed_in(view: Counted, pipe: str) -> int | None:
    """Return how often warps executed instructions of a pipe: fma, alu, xu or fp64.

    IMAD.MOV and its like move registers and run wherever there is room: they are left out.
    """
    if not view.instructions:
        return None
    rows = [each for each in view.instructions if each.opcode in _PIPES[pipe]]
    return sum(each.executed for each in rows if "IMAD.MOV" not in each.sass)


def accumulating_share(view: Counted) -> float | None:
    """Return the part of executed FFMAs that add a product of two registers to their own result.

    So is a product of matrices or a convolution computed; a polynomial's FFMA has a constant, or
    adds to another register.
    """
    rows = [each for each in view.instructions if each.opcode in ("FFMA", "FFMA2")]
    whole = sum(each.executed for each in rows)
    if not whole:
        return None
    return sum(each.executed for each in rows if _accumulates(each.sass)) / whole


def _accumulates(sass: str) -> bool:
    operands = [word.strip(" ;").removesuffix(".reuse") for word in sass.split(",")]
    if len(operands) != 4:
        return False
    target = operands[0].split()[-1]
    factors = operands[1:3]
    return target == operands[3] and all(
        each.lstrip("-").startswith("R") and each.lstrip("-") not in ("RZ", target)
        for each in factors
    )
