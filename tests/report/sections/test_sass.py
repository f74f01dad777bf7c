"""Listings of a kernel's instructions: the hottest in order, with what their warps wait for."""

import polars as pl
import pytest

from harness.captures import sniff
from harness.captures.ncu import read as ncu
from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.report.sections import sass
from tests.support.pages import page
from tests.support.paths import DATA
from tests.support.small_evidence import cell, tables

CELL = cell("fast", capture="ncu")


@pytest.fixture(scope="module")
def evidence() -> Tables:
    """A cell whose capture is the real report of a cast from float8 and of a sum."""
    with sniff.opened(DATA / "ncu" / "source.ncu-rep.zst") as plain:
        read = ncu.read(plain)
    return tables(cells=[CELL]) | {
        name: rows.insert_column(0, pl.lit(CELL["cell"]).alias("cell"))
        for name, rows in read.items()
    }


def test_the_hottest_instructions_stand_in_order(example: Problem, evidence: Tables) -> None:
    text = sass.sass(page(example, evidence), "fast", "small", "direct_copy", lines=3)
    fence, head, *lines, end = text.splitlines()
    assert (fence, end) == ("```text", "```")
    assert head.split() == ["samples", "warps", "wait", "for", "instruction"]
    hot = [line for line in lines if line.strip() != "…"]
    assert len(hot) == 3
    rows = evidence["instructions"].filter(pl.col("launch") == 0)
    top = rows.sort("samples", descending=True).head(3).sort("index")
    for line, (samples, text_of) in zip(hot, top.select("samples", "sass").rows(), strict=True):
        assert line.startswith(f"{100 * samples / rows['samples'].sum():>5.1f} %")
        assert line.endswith(" ".join(text_of.split()))


def test_a_run_of_instructions_is_what_was_executed_between_two(
    example: Problem, evidence: Tables
) -> None:
    rows = evidence["instructions"].filter(pl.col("launch") == 0, pl.col("executed") > 0)
    texts = [" ".join(text.split()) for text in rows["sass"]]
    load = next(at for at, text in enumerate(texts) if "LDG" in text)
    store = next(at for at in range(load, len(texts)) if "STG" in texts[at])
    shown = page(example, evidence)
    text = sass.sass(shown, "fast", "small", "direct_copy", between=("LDG", "STG"))
    lines = [line for line in text.splitlines()[2:-1] if line.strip() != "…"]
    assert [line[28:].strip() for line in lines] == texts[load : store + 1]
    hottest = sass.sass(shown, "fast", "small", "direct_copy")
    assert sass.sass(shown, "fast", "small", "direct_copy", between=("LDG", "none")) == hottest


def test_opcodes_are_counted_without_predicates_and_modifiers(
    example: Problem, evidence: Tables
) -> None:
    text = sass.opcodes(page(example, evidence), "fast", "small", "direct_copy", most=100)
    shown = {line.split("`")[1]: line for line in text.splitlines() if "`" in line}
    rows = evidence["instructions"].filter(pl.col("launch") == 0)
    branches = sum(
        executed
        for text_of, executed in rows.select("sass", "executed").rows()
        if "BRA" in text_of.replace(".", " ").split()
    )
    assert branches
    assert f"{100 * branches / rows['executed'].sum():.1f} %" in shown["BRA"]
    assert not any("." in opcode or opcode.startswith("@") for opcode in shown)


def test_a_kernel_that_was_not_profiled_has_no_listing(example: Problem, evidence: Tables) -> None:
    known = page(example, evidence)
    assert "Not measured" in sass.sass(known, "fast", "small", "no such kernel")
    assert "Not measured" in sass.opcodes(page(example, tables()), "fast", "small")
