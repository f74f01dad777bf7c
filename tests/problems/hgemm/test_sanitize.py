"""What compute-sanitizer says is taken as it is: nothing is clean that came to no end."""

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.cuda_driver import Driver, Launched
from tests.support.hgemm import FOLDER, Cell

MEMCHECK = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
RACECHECK = (
    "========= COMPUTE-SANITIZER\n"
    "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
)
INVALID = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at p3_ldmatrix+0x350 in p3_ldmatrix.cu:41
=========     by thread (96,0,0) in block (3,3,0)
=========     Address 0x7f2e1a04d000 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2e1a000000 of size 315,392 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: ffi_call [0x7f8a] in libffi.so.8
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" \
on CUDA API call to cuCtxSynchronize.
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
Traceback (most recent call last):
launch.LaunchError: cuCtxSynchronize: error 719, unspecified launch failure
"""
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at h6_multicast+0x1a0 in h06_multicast.cu:88
=========     and Read access at h6_multicast+0x2c0 in h06_multicast.cu:120 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
INTERNAL = """========= COMPUTE-SANITIZER
========= Internal Sanitizer Error: The Sanitizer encountered an error while launching \
p5_warp_tile and didn't track the launch. Errors might go undetected.
========= Error: process didn't terminate successfully
========= Target application returned an error
"""

FAKE = """#!/bin/sh
echo "$@" >> {folder}/asked
for given; do case $given in --steps=*) step=${{given#--steps=}} ;; esac; done
tool=${{1#--tool=}}
[ -f {folder}/$tool.$step ] || step=any
cat {folder}/$tool.$step
. {folder}/$tool.$step.then
"""
"""Says what was planned for a tool and a step, and then does what was planned."""


class Tools:
    """A compute-sanitizer on PATH that finds nothing, but where it is told to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        program = folder / "compute-sanitizer"
        program.write_text(FAKE.format(folder=folder))
        program.chmod(0o755)
        self.say("memcheck", "any", MEMCHECK)
        self.say("racecheck", "any", RACECHECK)

    def say(self, tool: str, step: str, output: str, then: str = "exit 0") -> None:
        """Plan what a tool prints of a step, and the end of its script."""
        (self._folder / f"{tool}.{step}").write_text(output)
        (self._folder / f"{tool}.{step}.then").write_text(then + "\n")

    def asked(self) -> list[list[str]]:
        """Return the arguments of every run so far."""
        path = self._folder / "asked"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def sanitize(
    module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ModuleType:
    """The problem's module, with every step built already."""
    loaded = module("sanitize")
    monkeypatch.setattr(loaded, "build_all", lambda *_: [])
    monkeypatch.setattr(loaded, "CACHE", tmp_path / "cubins")
    return loaded


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Tools(tmp_path)


@pytest.fixture
def cell() -> Cell:
    return Cell({"workload": "sanitize", "element": "bf16"})


# ---- one tool's output ----


@pytest.mark.parametrize(("tool", "output"), [("memcheck", MEMCHECK), ("racecheck", RACECHECK)])
def test_a_clean_summary_of_a_process_that_ended_well(
    sanitize: ModuleType, tool: str, output: str
) -> None:
    assert sanitize.read("p0", tool, output, 0) == sanitize.Finding("p0", tool, 0, "")


@pytest.mark.parametrize(
    ("tool", "output", "status", "count"),
    [
        ("memcheck", INVALID, 1, 2),
        ("memcheck", INVALID.replace("2 errors", "1 error"), 0, 1),
        ("racecheck", RACE, 0, 1),
        ("racecheck", RACE.replace("1 hazard ", "12 hazards "), 0, 12),
        ("racecheck", RACE, 1, 1),
    ],
)
def test_what_was_found_is_counted_however_the_process_ended(
    sanitize: ModuleType, tool: str, output: str, status: int, count: int
) -> None:
    finding = sanitize.read("h6", tool, output, status)
    assert (finding.step, finding.tool, finding.count) == ("h6", tool, count)
    assert finding.message and "\n" not in finding.message


def test_a_race_is_told_with_its_place(sanitize: ModuleType) -> None:
    message = sanitize.read("h6", "racecheck", RACE, 0).message
    assert message.startswith("Error: Race reported between Write access at h6_multicast+0x1a0")


@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
@pytest.mark.parametrize("status", [0, 1, -9])
@pytest.mark.parametrize("output", [INTERNAL, "Killed\n", ""])
def test_no_summary_is_no_end(sanitize: ModuleType, tool: str, status: int, output: str) -> None:
    finding = sanitize.read("p5", tool, output, status)
    assert finding.count is None
    assert finding.message and "\n" not in finding.message


def test_an_internal_error_is_told(sanitize: ModuleType) -> None:
    message = sanitize.read("p5", "racecheck", INTERNAL, 1).message
    assert message.startswith("Internal Sanitizer Error: The Sanitizer encountered an error")
    assert sanitize.read("p5", "racecheck", "", 3).message == "exit 3"


@pytest.mark.parametrize(("tool", "output"), [("memcheck", MEMCHECK), ("racecheck", RACECHECK)])
def test_a_clean_summary_of_a_process_that_failed_is_no_end(
    sanitize: ModuleType, tool: str, output: str
) -> None:
    finding = sanitize.read("p0", tool, output + "launch.LaunchError: cuInit: error 100\n", 1)
    assert finding.count is None
    assert finding.message and "\n" not in finding.message


def test_the_summary_of_another_tool_does_not_count(sanitize: ModuleType) -> None:
    assert sanitize.read("p0", "racecheck", MEMCHECK, 0).count is None
    assert sanitize.read("p0", "memcheck", RACECHECK, 0).count is None


# ---- the cell ----


def short_names(module: Callable[[str], ModuleType]) -> list[str]:
    return [*module("steps").RUNGS, "fallback"]


@pytest.mark.usefixtures("tools")
def test_a_cell_states_both_counts_of_every_step_and_their_totals(
    sanitize: ModuleType,
    module: Callable[[str], ModuleType],
    cell: Cell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = []

    def build_all(*_: object) -> list[object]:
        held.append(cell.alone)
        return []

    monkeypatch.setattr(sanitize, "build_all", build_all)
    sanitize.cell(cell)
    names = short_names(module)
    facts = ("memory_errors", "hazards")
    assert cell.facts == {f"{fact}.{name}": 0 for fact in facts for name in names} | {
        f"all_{fact}": 0 for fact in facts
    }
    assert held == [1] and cell.alone == 0  # nobody else is on the GPU meanwhile


def test_each_tool_runs_each_step_in_a_process_of_its_own(
    sanitize: ModuleType, module: Callable[[str], ModuleType], tools: Tools, cell: Cell
) -> None:
    sanitize.cell(cell)
    asked = tools.asked()
    script = str((FOLDER / "sanitize.py").resolve())
    assert all(argv[1:4] == [sys.executable, script, "--child"] for argv in asked)
    assert all({"--element=bf16", f"--cache={sanitize.CACHE}"} <= set(argv) for argv in asked)
    assert sorted((argv[0], argv[4]) for argv in asked) == sorted(
        (f"--tool={tool}", f"--steps={step}")
        for tool in ("memcheck", "racecheck")
        for step in module("steps").STEPS
    )


def test_what_the_tools_count_is_stated_of_the_step_and_added_up(
    sanitize: ModuleType, tools: Tools, cell: Cell
) -> None:
    tools.say("memcheck", "p3_ldmatrix", INVALID, "exit 1")
    tools.say("memcheck", "fallback", INVALID.replace("2 errors", "1 error"), "exit 1")
    tools.say("racecheck", "h6_multicast", RACE)
    sanitize.cell(cell)
    assert {name: value for name, value in cell.facts.items() if value} == {
        "memory_errors.p3": 2,
        "memory_errors.fallback": 1,
        "all_memory_errors": 3,
        "hazards.h6": 1,
        "all_hazards": 1,
    }


@pytest.mark.parametrize(
    ("output", "then", "told"),
    [
        (INTERNAL, "exit 1", "Internal Sanitizer Error: The Sanitizer encountered an error while"),
        (RACECHECK, "exit 1", ""),
        ("", "exit 9", "exit 9"),
        ("", "exec sleep 60", "no end after 1 s"),
    ],
)
def test_a_tool_that_comes_to_no_end_ends_the_cell_with_one_line(
    sanitize: ModuleType,
    tools: Tools,
    cell: Cell,
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    then: str,
    told: str,
) -> None:
    monkeypatch.setattr(sanitize, "LIMIT_S", 1.0)
    tools.say("racecheck", "p5_warp_tile", output, then)
    with pytest.raises(SystemExit) as caught:
        sanitize.cell(cell)
    message = str(caught.value.code)
    assert message.startswith(f"p5_warp_tile, racecheck: {told}")
    assert "\n" not in message
    assert "all_hazards" not in cell.facts
    assert cell.alone == 0


def test_without_the_tool_the_cell_ends_with_one_line(
    sanitize: ModuleType, cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as caught:
        sanitize.cell(cell)
    message = str(caught.value.code)
    assert message.startswith("compute-sanitizer is not on PATH")
    assert "\n" not in message
    assert cell.facts == {}


def test_a_step_that_is_not_built_is_an_error_before_any_tool_runs(
    sanitize: ModuleType, tools: Tools, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = sanitize.BuildError("p0_wmma (bf16): nvcc failed")
    monkeypatch.setattr(sanitize, "build_all", lambda *_: ["built", failed])
    with pytest.raises(sanitize.BuildError, match="p0_wmma"):
        sanitize.cell(cell)
    assert tools.asked() == []


def test_the_command_prints_a_line_for_each_step_and_tool(
    sanitize: ModuleType,
    tools: Tools,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["sanitize.py", "--steps", "p3_ldmatrix", "h6_multicast"]
    monkeypatch.setattr(sys, "argv", argv)
    assert sanitize.main() == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        [step, tool, "clean"] for step in argv[2:] for tool in ("memcheck", "racecheck")
    ]
    tools.say("racecheck", "h6_multicast", RACE)
    monkeypatch.setattr(sys, "argv", [*argv, "--tools", "racecheck", "--element", "fp16"])
    assert sanitize.main() == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["p3_ldmatrix", "racecheck", "clean"]
    assert second.startswith("h6_multicast") and "Race reported" in second
    assert "--element=fp16" in tools.asked()[-1]


# ---- the child ----


def size(launch: Launched, at: int) -> int:
    """Return one of the sizes that a kernel is launched with."""
    return int.from_bytes(launch.arguments[at][: ctypes.sizeof(ctypes.c_int)], "little")


def test_a_child_launches_its_step_once_on_a_ragged_product(
    sanitize: ModuleType,
    module: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cubin = tmp_path / "step.cubin"
    cubin.write_bytes(b"cubin")
    building = module("build")
    built = building.Built("step", "bf16", cubin, 168, 0, 0, 0, 1, ())
    monkeypatch.setattr(sanitize, "build", lambda *_: built)
    monkeypatch.setitem(sys.modules, "torch", None)  # it must not be loaded
    m, n, k = sanitize.SHAPE
    for step in module("steps").STEPS.values():
        gpu = Driver()
        monkeypatch.setattr(module("launch"), "driver", lambda gpu=gpu: gpu)
        sanitize.child(step, "bf16", tmp_path)
        (launch,) = gpu.launches
        assert [size(launch, at) for at in (3, 4, 5)] == [m, n, k]
        assert launch.grid == step.grid(m, n, sanitize.SMS)
        assert (launch.threads, launch.shared_bytes) == (step.threads, step.shared_bytes)
        assert (launch.stream, len(launch.attributes)) == (0, step.pdl)
        assert gpu.calls[-1][0] == "cuCtxSynchronize"
        assert [size.value for _, size in gpu.asked("cuMemAlloc_v2")] == [
            2 * m * k,
            2 * k * n,
            2 * m * n,
        ]
        filled = [(address.value, count.value) for address, _, count in gpu.asked("cuMemsetD16_v2")]
        assert [count for _, count in filled] == [m * k, k * n, m * n]
        assert len({address for address, _ in filled}) == 3


def test_the_product_is_ragged_for_every_step_and_persistent_ones_walk_several_tiles(
    sanitize: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    m, n, k = sanitize.SHAPE
    for step in module("steps").STEPS.values():
        tile_m, tile_n, tile_k = step.tile
        assert m % tile_m and n % tile_n and k % tile_k and step.takes(m, n, k), step.name
        blocks, _, _ = step.grid(m, n, sanitize.SMS)
        if step.persistent:
            assert -(-m // tile_m) * -(-n // tile_n) >= 2 * blocks, step.name
