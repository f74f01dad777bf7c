"""What instructions a launch executed, and at which its warps waited, by SASS opcode.

Opcodes: "Instruction Set Reference" of NVIDIA's CUDA Binary Utilities.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from harness.analysis.diagnose.launch.counted import Counted, Instruction

FP32 = frozenset(
    {"FFMA", "FFMA2", "FADD", "FADD2", "FMUL", "FMUL2", "FFMA32I", "FADD32I", "FMUL32I"}
)
FP64 = frozenset({"DFMA", "DADD", "DMUL", "DSETP", "DMNMX"})
FP16 = frozenset({"HFMA2", "HADD2", "HMUL2"})
SPECIAL = frozenset({"MUFU", "I2F", "F2I", "F2F", "FRND", "POPC", "FLO", "BREV"})
CONVERSION = frozenset({"F2F"})
"""Of floating types into each other."""
MULTIPLY = frozenset({"IMAD", "IMUL", "XMAD", "IDP", "IDP4A"})
LOGIC = frozenset(
    {"IADD", "IADD3", "IADD32I", "VIADD", "LEA", "ISCADD", "LOP", "LOP3", "LOP32I", "PLOP3"}
    | {"SHF", "SHL", "SHR", "BFE", "BFI", "BMSK", "SGXT", "PRMT"}
    | {"ISETP", "IMNMX", "VIMNMX", "IABS", "SEL"}
)
INTEGER = MULTIPLY | LOGIC
TENSOR = frozenset({"HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA"})
ATOMIC = frozenset({"ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDAS", "UTMAREDG"})
GLOBAL = frozenset({"LDG", "LD", "LDGSTS", "STG", "ST", "ATOM", "ATOMG", "RED", "REDG"})
"""Accesses of memory that go through L1's queue for global memory."""
LOCAL = frozenset({"LDL", "STL"})
CONSTANT = frozenset({"LDC"})
"""Loads of constant memory, for each thread's own address."""
SHARED = frozenset({"LDS", "LDSM", "STS", "STSM"})
GENERIC = frozenset({"LD"})
"""Loads of an address that may lie in global, in shared, or in a neighbour's shared memory."""
ASYNCHRONOUS = frozenset({"LDGSTS", "UTMALDG", "UBLKCP"})
LOAD = frozenset({"LDG", "LDS", "LD", "LDSM", "LDGSTS"})
BARRIER = frozenset({"BAR"})
CONTROL = BARRIER | {"BRA", "BRX", "BSSY", "BSYNC", "BREAK", "WARPSYNC"}
"""Branches, where they meet again, and barriers."""
SERVED = FP32 | FP64 | FP16 | SPECIAL | TENSOR | GLOBAL | SHARED | LOCAL | ATOMIC
"""What integers are computed for: accesses, and other arithmetic and conversions."""
_REGISTER = re.compile(r"\bR(\d{1,3})\b")
_ALONE = re.compile(r"-?R(\d{1,3})(?:\.reuse)?")
_WIDE = (".WIDE", ".64", "F2F.F64", "I2F.F64")
"""In the name of an instruction whose result takes two registers."""
_MATRICES = re.compile(r"LDSM\.\S*88\.([24])\b")
"""Matrices of 8 by 8 halves, a word per thread."""
_NARROW = re.compile(r"\.[SU](8|16)\b")
_MOVES = "IMAD.MOV"
"""In the name of a multiplication that moves a register or a constant."""
_ONE_BIT = re.compile(r"LOP3\.LUT .*\b0x([0-9a-f]+), RZ, 0xc0\b")
_FUSED = frozenset({"FFMA", "FFMA2"})
_PIPES = {
    "fma": FP32 | MULTIPLY,
    "alu": LOGIC | {"FSETP", "FMNMX", "FSEL", "FCHK"},
    "xu": SPECIAL,
    "fp64": FP64,
}


def share(view: Counted, opcodes: frozenset[str]) -> float | None:
    """Return the executed warp instructions of these opcodes as a fraction of all."""
    return _executed(view, opcodes) / view.executed if view.executed else None


def executed(view: Counted, opcodes: frozenset[str], *, predicated: bool = False) -> int | None:
    """Return how often warps executed these opcodes; None without instructions.

    ``predicated``: only those that a predicate turns off for some threads, or for all of a warp.
    """
    if not view.instructions:
        return None
    if not predicated:
        return _executed(view, opcodes)
    rows = [each for each in view.instructions if each.opcode in opcodes]
    return sum(each.executed for each in rows if "@" in each.sass)


def _executed(view: Counted, opcodes: frozenset[str]) -> int:
    return sum(view.by_opcode[opcode] for opcode in opcodes)


def narrow(view: Counted) -> float | None:
    """Return of the executed accesses of global memory the part of 1 or 2 bytes per thread."""
    whole = executed(view, GLOBAL)
    rows = [each for each in view.instructions if each.opcode in GLOBAL]
    moved = sum(each.executed for each in rows if _NARROW.search(each.sass))
    return moved / whole if whole else None


def indexed_constants(view: Counted) -> int:
    """Return the executed loads of constant memory whose address a register holds."""
    loads = (each for each in view.instructions if each.opcode in CONSTANT and "[R" in each.sass)
    return sum(each.executed for each in loads)


def single_bits(view: Counted) -> float:
    """Return the executed instructions that mask one bit of a word, of all instructions."""
    masks = ((each, _ONE_BIT.search(each.sass)) for each in view.instructions)
    found = [each for each, mask in masks if mask and int(mask[1], 16).bit_count() == 1]
    return _of_all(view, found) or 0.0


def conversions_of_double(view: Counted) -> float | None:
    """Return the executed conversions between FP64 and another floating type, of all instructions.

    F2F.F64.F32 and its like: they go with double arithmetic on values that are not double.
    """
    rows = [each for each in view.instructions if each.opcode in CONVERSION and ".F64" in each.sass]
    return _of_all(view, rows)


def moves(view: Counted) -> float:
    """Return the executed moves of registers and constants, of all instructions.

    A constant of FP64 takes two, where one of FP32 is part of the instruction that uses it.
    """
    rows = [e for e in view.instructions if e.opcode in ("MOV", "UMOV") or _MOVES in e.sass]
    return _of_all(view, rows) or 0.0


def _of_all(view: Counted, rows: Sequence[Instruction]) -> float | None:
    """Return how often warps executed some instructions, of all; None without instructions."""
    whole = view.executed
    return sum(each.executed for each in rows) / whole if whole else None


def executed_in(view: Counted, pipe: str) -> int | None:
    """Return how often warps executed instructions of a pipe: fma, alu, xu or fp64.

    IMAD.MOV and its like move registers and run wherever there is room: they are left out.
    """
    if not view.instructions:
        return None
    rows = [each for each in view.instructions if each.opcode in _PIPES[pipe]]
    return sum(each.executed for each in rows if _MOVES not in each.sass)


def product_share(view: Counted) -> float | None:
    """Return the part of executed FFMAs that multiply two registers which loads have filled.

    So is a product of matrices or a convolution computed; the factors of other formulas are
    constants, or results of arithmetic. In a loop, a register may be filled further down.
    """
    whole = _executed(view, _FUSED)
    if not whole:
        return None
    made = [dict.fromkeys(_made(each), each.opcode) for each in view.instructions]
    makers = {register: opcode for each in made for register, opcode in each.items()}
    products = 0
    for each, written_there in zip(view.instructions, made, strict=True):
        if each.opcode in _FUSED and _multiplies_loaded(each.sass, makers):
            products += each.executed
        makers.update(written_there)
    return products / whole


def written(instruction: Instruction) -> set[int]:
    """Return the registers that a load or atomic writes: those named before its address."""
    named = registers(instruction.sass.partition("[")[0])
    return {number + word for number in named for word in range(words(instruction))}


@lru_cache(maxsize=1 << 14)
def registers(sass: str) -> tuple[int, ...]:
    """Return the registers that a text of instructions names; kernels share most of their text."""
    return tuple(map(int, _REGISTER.findall(sass)))


def words_of_operands(view: Counted) -> float | None:
    """Return the 32-bit words that a thread reads from shared memory by each tensor instruction.

    None without such instructions, and where they read shared memory themselves (wgmma).
    """
    tensor = [each for each in view.instructions if each.opcode in TENSOR]
    whole = sum(each.executed for each in tensor)
    if not whole or any("GMMA" in each.opcode for each in tensor):
        return None
    reads = [each for each in view.instructions if each.opcode in ("LDS", "LDSM")]
    done = (each for each in reads if "@!PT" not in each.sass)  # a place that nothing executes
    return sum(each.executed * _words_read(each) for each in done) / whole


def _words_read(read: Instruction) -> int:
    """Return the words that a load of shared memory gives to a thread."""
    matrices = _MATRICES.search(read.sass)
    return int(matrices[1]) if matrices else words(read)


def results(instruction: Instruction) -> set[int]:
    """Return the registers that an instruction writes: two of a wide result, four of a vector."""
    if instruction.opcode in LOAD | ATOMIC | LOCAL | {"LDC"}:
        return written(instruction)
    if instruction.opcode.startswith(("ST", "RED")):
        return set()
    first = registers(instruction.sass.partition(",")[0])
    wide = any(word in instruction.sass for word in _WIDE) or instruction.opcode in FP64
    return {number + word for number in first[-1:] for word in range(1 + wide)}


def words(instruction: Instruction) -> int:
    """Return the 32-bit registers that a thread's load or store moves, at least one."""
    opcode = next((word for word in instruction.sass.split() if word[0] != "@"), "")
    return 4 if ".128" in opcode else 2 if ".64" in opcode else 1


def _made(instruction: Instruction) -> Iterable[int]:
    """Return the registers that an instruction writes, of vectors the first but for loads."""
    if instruction.opcode in LOAD:
        return written(instruction)
    return registers(instruction.sass.partition(",")[0])[-1:]


def _multiplies_loaded(sass: str, makers: Mapping[int, str]) -> bool:
    """Return whether a fused multiply-add multiplies loaded values and keeps both."""
    operands = [_ALONE.fullmatch("".join(word.split()[-1:])) for word in sass.split(",")[:3]]
    named = [int(match[1]) for match in operands if match]
    if len(set(named)) != 3:
        return False
    return all(makers.get(register) in LOAD for register in named[1:])
