"""What is told to a program names no tool and no API that it cannot have, whatever says it."""

import itertools
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from harness.analysis import diagnose, flaws
from harness.analysis.audit import rows
from harness.analysis.diagnose import conclude, known_findings
from harness.analysis.hint import for_eager, for_nvidia, for_torch, said
from harness.analysis.program import AMD, NVIDIA, Program

WORDS = {
    Program(torch=False): r"\btorch\b|TORCH_|pin_memory|non_blocking|num_workers|prefetch_factor"
    r"|py-spy|persistent_workers|\.item\(\)|\.cpu\(\)|foreach|allow_tf32|autocast|set_to_none",
    Program(training=False): r"\bbuckets?\b|gradient|optimi[sz]er|\bbackward\b|\bepochs?\b",
    Program(compiled=True): r"torch\.compile|compile the step",
    Program(AMD): r"\b(nsys|ncu|TMA|CUPTI)\b|Nsight|expandable_segments|wgmma|tcgen05|\bcuda[A-Z]"
    r"|(?<![._])CUDA(?!_)",
}
"""What advice must not name, by the program that lacks it."""
HAVE = {"memory": (Program(torch=False), Program(training=False)), "kernel": (Program(AMD),)}
"""What programs do not lack, by the family of a finding on them: snapshots are torch's, counters
NVIDIA's, and of gradients and optimizers a snapshot tells only where it holds them."""


def advice(value: object) -> Iterator[str]:
    """Yield the advice in a constant; titles, which end as sentences do, are none."""
    if isinstance(value, str) and " " in value and not value.endswith("."):
        yield value
    elif isinstance(value, dict | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from advice(each)
    elif hasattr(value, "fix"):
        yield from advice(value.fix)


def constants() -> Iterator[tuple[str, str]]:
    """Yield all advice that modules have as constants, each with the family of its module."""
    found = pkgutil.walk_packages(diagnose.__path__, f"{diagnose.__name__}.")
    for module in (flaws, rows, *(import_module(each.name) for each in found)):
        for name, value in vars(module).items():
            if name.strip("_").isupper():
                yield from ((module.__name__.split(".")[-2], text) for text in advice(value))


@pytest.mark.parametrize("program", WORDS, ids=str)
def test_advice_declares_what_it_needs(program: Program) -> None:
    named = re.compile(WORDS[program])
    texts = [text for family, text in constants() if program not in HAVE.get(family, ())]
    assert [text for text in texts if named.search(text)]
    assert not [text for text in texts if named.search(said(text, program))]


def test_every_finding_keeps_a_remedy() -> None:
    lacks = (True, False)
    for vendor, torch, *others in itertools.product((NVIDIA, AMD), lacks, lacks, lacks):
        program = Program(vendor, torch, *(torch and each for each in others))
        for kind in known_findings.kinds().values():
            (told,) = conclude.told((kind.finding("the GPU", ()),), program)
            assert bool(told.fix) == bool(kind.fix), kind.id


def test_a_program_of_which_nothing_is_known_is_told_everything() -> None:
    assert all(said(text, Program()) == text for _, text in constants())


@pytest.mark.parametrize(
    ("text", "program", "left"),
    [
        (
            for_eager("compile or replay", otherwise="replay") + " it as a CUDA graph",
            Program(AMD, torch=False),
            "replay it as a HIP graph",
        ),
        (
            "pinned buffers (" + for_torch("pin_memory=True, ") + "cudaMallocHost)",
            Program(AMD, torch=False),
            "pinned buffers (hipHostMalloc)",
        ),
        (
            "fuse" + for_torch(" (" + for_eager("torch.compile, ") + "foreach)"),
            Program(compiled=True),
            "fuse (foreach)",
        ),
        (for_nvidia("nsys", otherwise=for_torch("torch.profiler")), Program(AMD, torch=False), ""),
        (for_torch("torch.cuda.empty_cache()"), Program(AMD), "torch.cuda.empty_cache()"),
    ],
)
def test_a_hint_is_told_as_a_program_can_follow_it(text: str, program: Program, left: str) -> None:
    assert said(text, program) == left
