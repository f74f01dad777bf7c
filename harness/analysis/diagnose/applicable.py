"""The advice of findings, told to one program: no tool and no API that it cannot have.

Findings state their remedies for every program. Here the words that need torch, training, code that
is not compiled yet, or NVIDIA's tools are left out where a program is known to lack these; AMD's
programs are told the names that HIP, ROCm and its profilers have for the same
(rocm.docs.amd.com: HIP API, "CUDA to HIP"; rocprofv3; ROCm Compute Profiler).
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.diagnose.finding import Finding
from harness.analysis.program import AMD, NVIDIA, Program

_TORCH, _TRAINING, _EAGER = "torch", "training", "eager"

_NEEDS = (
    (
        _TORCH,
        re.compile(
            r"\btorch\b|TORCH_|pin_memory|non_blocking|num_workers|prefetch_factor|py-spy"
            r"|persistent_workers|\.item\(\)|\.cpu\(\)|foreach operators|allow_tf32|autocast"
        ),
    ),
    (_TRAINING, re.compile(r"\bbuckets?\b|gradient|optimi[sz]er|\bbackward\b|\bepochs?\b")),
    (_EAGER, re.compile(r"torch\.compile|compile the step")),
    (
        NVIDIA,
        re.compile(r"\bnsys\b|\bncu\b|Nsight|expandable_segments|wgmma|tcgen05|\bTMA\b|\bCUPTI\b"),
    ),
)
"""What a program needs to follow advice that has such words."""

_COMPILE = re.compile(r"compile the step \(torch\.compile\) or replay it")
_INSTEAD = {_TORCH: (_COMPILE, "replay the step"), _EAGER: (_COMPILE, "replay the step")}
"""By need: words of which a part has it, and the words that stand without that part."""

_OF_AMD = (
    (r"harness diagnose on an Nsight Compute report of", "profile with rocprof-compute"),
    (r"nsys profile --cuda-graph-trace=node", "rocprofv3 --kernel-trace"),
    (r"nsys profile(?: --[\w=,-]+)*", "rocprofv3 --sys-trace"),
    (r"nsys --trace=[\w,]+", "rocprofv3 --sys-trace"),
    (r"nsys --sample=cpu", "perf record -g"),
    (r"\bwith nsys, (torch\.profiler \(ProfilerActivity\.CUDA\)) or ncu", r"with \1"),
    (r"\bwith nsys\b", "with rocprofv3 --sys-trace"),
    (r"\bcudaMallocHost\b", "hipHostMalloc"),
    (r"\bcuda([A-Z]\w+)", r"hip\1"),
    (r"(?<![.\w])CUDA\b", "HIP"),
)
_PARENTHESES = re.compile(r" \(([^()]+)\)")


def told(finding: Finding, program: Program) -> Finding:
    """Return a finding whose words a program can follow."""
    lacking = _lacking(program)
    amd = program.vendor == AMD
    said = replace(finding, fix=_left(finding.fix, lacking, amd=amd))
    said = replace(said, next=_left(finding.next, lacking, amd=amd))
    if not amd:
        return said
    evidence = tuple(replace(each, metric=_renamed(each.metric)) for each in said.evidence)
    return replace(said, title=_renamed(said.title), evidence=evidence)


def advice(text: str, program: Program) -> str:
    """Return a text that a program can follow, "" where nothing of it is left."""
    return "".join(_left((text,), _lacking(program), amd=program.vendor == AMD))


def _lacking(program: Program) -> frozenset[str]:
    """Return what a program is known to lack."""
    lacks = {
        _TORCH: program.torch is False,
        _TRAINING: program.training is False,
        _EAGER: program.compiled is True or program.torch is False,
        NVIDIA: program.vendor not in (NVIDIA, ""),
    }
    return frozenset(fact for fact, lacked in lacks.items() if lacked)


def _left(texts: Sequence[str], lacking: frozenset[str], *, amd: bool) -> tuple[str, ...]:
    """Return the texts that can be followed, each without the parts that cannot."""
    named = (_renamed(text) if amd else text for text in texts)
    kept = (_followed(text, lacking) for text in named)
    return tuple(text for text in kept if text)


def _followed(text: str, lacking: frozenset[str]) -> str:
    """Return a text without what needs something that lacks, "" where nothing is left of it."""
    for fact in lacking & _INSTEAD.keys():
        pattern, instead = _INSTEAD[fact]
        text = pattern.sub(instead, text)

    def inside(match: re.Match[str]) -> str:
        items = [each for each in match[1].split(", ") if _can(each, lacking)]
        return f" ({', '.join(items)})" if items else ""

    rest = _PARENTHESES.sub(inside, text)
    head, colon, end = rest.rpartition(": ")
    if colon and _can(head, lacking) and not _can(end, lacking):
        return head
    return rest if _can(_PARENTHESES.sub("", rest), lacking) else ""


def _can(text: str, lacking: frozenset[str]) -> bool:
    return not any(fact in lacking and needs.search(text) for fact, needs in _NEEDS)


def _renamed(text: str) -> str:
    for pattern, name in _OF_AMD:
        text = re.sub(pattern, name, text)
    return text
