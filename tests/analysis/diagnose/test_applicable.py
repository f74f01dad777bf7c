"""Advice names no tool and no API that a program cannot have, whatever finding gives it."""

import itertools
import re

import pytest

from harness.analysis.diagnose import applicable, known_findings
from harness.analysis.program import AMD, NVIDIA, Program

FORBIDDEN = {
    "torch": r"torch|pin_memory|non_blocking|num_workers|\.item\(|py-spy|persistent_workers",
    "training": r"bucket|gradient|optimizer",
    "compiled": r"torch\.compile|compile the step",
    AMD: r"nsys|Nsight|\bncu\b|\bcuda[A-Z]|(?<![._])CUDA(?!_)",
}
MODULES = [
    module
    for family in (known_findings.SERVING, known_findings.TIMELINE, known_findings.MEMORY)
    for module in (*family.findings, family.healthy, family.abstain)
]
NEXT = tuple(
    value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, str) and name.strip("_").isupper() and " " in value
)
"""What the modules of findings ask to capture next, and other sentences of theirs."""
PROGRAMS = [
    Program(vendor, torch, compiled and torch, training and torch)
    for vendor, torch, compiled, training in itertools.product(
        (NVIDIA, AMD), (True, False), (True, False), (True, False)
    )
]


def forbidden(program: Program) -> re.Pattern[str]:
    words = [
        FORBIDDEN["torch"] * (program.torch is False),
        FORBIDDEN["training"] * (program.training is False),
        FORBIDDEN["compiled"] * (program.compiled is True),
        FORBIDDEN[AMD] * (program.vendor == AMD),
    ]
    return re.compile("|".join(filter(None, words)) or r"\bnothing\b(?!.)")


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_every_finding_is_told_what_its_program_has_and_keeps_a_remedy(program: Program) -> None:
    words = forbidden(program)
    for kind in known_findings.kinds().values():
        of_torch = kind.level == "memory"
        of_nvidia = kind.id in known_findings.KERNEL.kinds()
        if (of_torch and not program.torch) or (of_nvidia and program.vendor == AMD):
            continue
        said = applicable.told(kind.finding("the GPU", (), capture_next=NEXT), program)
        assert bool(said.fix) == bool(kind.fix), kind.id
        for text in (*said.fix, *said.next):
            assert not words.search(text), (kind.id, text)


def test_a_program_of_which_nothing_is_known_is_told_everything() -> None:
    for kind in known_findings.kinds().values():
        finding = kind.finding("the GPU", (), capture_next=NEXT)
        assert applicable.told(finding, Program()) == finding


@pytest.mark.parametrize(
    ("text", "program", "left"),
    [
        (
            "compile the step (torch.compile) or replay it as a CUDA graph",
            Program(AMD, torch=False),
            "replay the step as a HIP graph",
        ),
        (
            "allocate the host's buffers pinned (pin_memory=True, cudaMallocHost)",
            Program(NVIDIA, torch=False),
            "allocate the host's buffers pinned (cudaMallocHost)",
        ),
        (
            "fuse with its neighbours: torch.compile",
            Program(compiled=True),
            "fuse with its neighbours",
        ),
        ("do not call torch.cuda.empty_cache() in the loop", Program(torch=False), ""),
        ("do not call torch.cuda.empty_cache() in the loop", Program(AMD, torch=True), None),
        (
            "start collectives earlier (buckets, prefetch)",
            Program(training=False),
            "start collectives earlier (prefetch)",
        ),
    ],
)
def test_what_a_program_lacks_is_left_out_of_a_sentence(
    text: str, program: Program, left: str | None
) -> None:
    assert applicable.advice(text, program) == (text if left is None else left)
