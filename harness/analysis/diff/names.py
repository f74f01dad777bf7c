"""When two kernels with different names do the same thing: names without tiles, numbers, hashes."""

import re
from difflib import SequenceMatcher

from harness.analysis.kernels import bare

# nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT, cutlass_80_tensorop_s161616gemm_16x16_128x2_tn
_TILES = re.compile(
    r"(?<![A-Za-z0-9])(?:tilesize|warpsize|tensor)?\d+(?:x\d+)+(?![A-Za-z0-9])"
    r"|(?<=_)stages?_?\d+(?:x\d+)*|(?<=align)\d+"
)
# triton_poi_fused_add_3 and whatever else is numbered in the order in which it was generated
_NUMBER = re.compile(r"_\d+$")
_HASH = re.compile(r"(?<![A-Za-z0-9])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}(?![A-Za-z0-9])")
_GRAPH = re.compile(r"\[CUDA graph \d+\]")  # a graph traced as one unit; each process numbers anew
_SPACE = re.compile(r"_{2,}")


def stem(name: str) -> str:
    """Return a kernel's name without the parts that tuning and compiling vary.

    Template arguments, parameters, tile shapes, running numbers and hashes go; the functor that
    distinguishes launches of a generic kernel stays.
    """
    if _GRAPH.fullmatch(name):
        return "[CUDA graph]"
    function, functor = bare(name)
    for vary in (_TILES, _HASH):
        function, functor = vary.sub("", function), vary.sub("", functor)
    functor = _SPACE.sub("_", functor)
    function = _NUMBER.sub("", _SPACE.sub("_", function).rstrip("_"))
    return f"{function}<{functor}>" if functor else function


def changed_words(before: str, after: str) -> tuple[str, str]:
    """Return the parts of two names that differ, each from the first different word to the last."""
    a, b = _words(before), _words(after)
    blocks = SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes()
    ends = [code for code in blocks if code[0] != "equal"]
    if not ends:
        return "", ""
    return (
        "".join(a[ends[0][1] : ends[-1][2]]).strip("_, "),
        "".join(b[ends[0][3] : ends[-1][4]]).strip("_, "),
    )


def _words(name: str) -> list[str]:
    return re.findall(r"[A-Za-z0-9]+|[^A-Za-z0-9]", name)
