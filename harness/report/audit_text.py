"""The audit of a step as text of 80 columns."""

import textwrap
from collections.abc import Iterator

from harness.analysis.audit.batches import Batches
from harness.analysis.audit.conclude import Audit
from harness.analysis.audit.layers import Layers
from harness.analysis.audit.limits import LATENCY, NEITHER
from harness.analysis.audit.rows import Row
from harness.analysis.floors import Floor
from harness.analysis.kernels import short_name
from harness.analysis.units import counted, size
from harness.ground.plain import plain
from harness.report.numbers import number

_WIDTH = 80
_ROWS = 20
_INDENT = " " * 4
_HEAD = "       ms      n   DRAM  tensor   70 %    85 %  ceiling  limit"
_BY_SHAPES = "    floor  reached"
_SHARED = {"step": "the step", "work": "the GPU's work"}
_NOT_MEASURED = "-"
_LEAST_MS = 0.01
"""Overlap, or time above the floor, that is worth a word."""
_NAMED, _WORTH = 3, 0.01
"""Operators without a floor that are named at most, and what part of the time is worth a word."""
_MANY_US = 1000
_SLOWER = 1.02
"""How much longer the trace's kernels may take than the unprofiled step without a word."""


def lines(audit: Audit) -> Iterator[str]:
    """Yield the lines that print an audit, none wider than 80 columns but a label."""
    yield audit.label
    yield ""
    for batches in audit.batches:
        yield from _wrapped(batches_sentence(batches))
    if audit.step:
        yield from _wrapped(audit.step.text)
    for sentence in sentences(audit):
        yield from _wrapped(sentence)
    if audit.layers:
        yield ""
        yield from layers_lines(audit.layers)
    yield ""
    yield from _table(audit)
    if audit.unsaid:
        yield ""
        yield "What these captures cannot say:"
        for sentence in audit.unsaid:
            yield from _wrapped(sentence, "- ", "  ")


def sentences(audit: Audit) -> Iterator[str]:
    """Yield what an audit says of the whole step, as far as it was measured."""
    yield _step(audit)
    yield _phases(audit)
    if audit.captured_by and audit.replays:
        graphs = counted(audit.replays, "replay")
        yield f"CUDA graphs: {graphs}, attributed by the launches of the capture."
    if audit.dram_read_bytes is not None and audit.dram_write_bytes is not None:
        yield _moved(audit, audit.dram_read_bytes, audit.dram_write_bytes)
    if audit.flop:
        rate = audit.flop / audit.whole_ms / 1e9
        peak = audit.limits.bf16_tflop_s
        share = f", {100 * rate / peak:.1f} % of the datasheet's bf16 peak" if peak else ""
        yield f"Operations: {audit.flop / 1e12:.2f} TFLOP of the model, {rate:.0f} TFLOP/s{share}."
    if audit.floor_ms is not None:
        yield _worth(audit)
        yield (
            f"Floor: {audit.floor_ms:.2f} ms, the same kernels at their ceilings and nothing idle;"
            f" {_times(audit, audit.floor_ms)}."
        )
    if audit.sustained_floor_ms is not None:
        yield (
            f"With products at the rate that this GPU keeps up without rests the floor is"
            f" {audit.sustained_floor_ms:.2f} ms; {_times(audit, audit.sustained_floor_ms)}."
        )
    if audit.floor_ms is not None:
        yield from _above(audit)
    if audit.shapes is not None:
        yield _shaped(audit.shapes, audit.steps)


def _times(audit: Audit, floor_ms: float) -> str:
    """Return how many times as long as a floor the step takes, or what the GPU worked in it."""
    return f"{_SHARED[share_of(audit)]} takes {audit.shared_ms / floor_ms:.2f} times as long"


def _shaped(least: Floor, steps: int) -> str:
    """Return a sentence on the floor that the operators' inputs give."""
    ms = 1e-6 / steps
    parts = ", ".join(
        f"{part.family} {part.floor_ns * ms:.2f} of {part.time_ns * ms:.2f} ms"
        for part in least.parts
        if part.time_ns * ms >= _LEAST_MS
    )
    said = (
        f"By shapes, at the datasheet's rates: {least.floor_ns * ms:.2f} of"
        f" {(least.work_ns + least.exchange_ns) * ms:.2f} ms; {parts}. A floor is known for"
        f" {100 * (1 - least.unknown):.1f} % of the kernels' time, the rest counts as it is."
    )
    said += "".join(_without_floor(least, ms))
    if least.faster_ns * ms >= _LEAST_MS:
        said += f" {100 * least.faster:.1f} % was faster than device memory allows: from a cache."
    return said


def _without_floor(least: Floor, ms: float) -> Iterator[str]:
    """Yield sentences on what has no floor and why; ``ms``: of a step, for a ns of all steps."""
    worth = _WORTH * least.work_ns
    silent = [each for each in least.unknowns if each.recorded and each.time_ns >= worth]
    if silent:
        named = ", ".join(f"{each.operator} {each.time_ns * ms:.2f} ms" for each in silent[:_NAMED])
        yield f" The inputs of these do not say what they read: {named}."
    unseen = sum(each.time_ns for each in least.unknowns if not each.recorded)
    if unseen >= worth:
        yield (
            f" {unseen * ms:.2f} ms has no recorded inputs: record_shapes=True, of a graph in the"
            " trace of its capture."
        )


def batches_sentence(batches: Batches) -> str:
    """Return what an engine's steps of one mode computed, and how long they took."""
    of = f"{batches.steps:,} steps of " if batches.steps > 1 else ""
    tokens = ""
    if batches.tokens and batches.tokens != batches.requests:
        tokens = f", {_span(batches.tokens)} tokens"
    time = ""
    if batches.token_us is not None and batches.busy_us is not None:
        each, busy = _short(batches.token_us), _short(batches.busy_us)
        time = f", {each} a token, of which the GPU works {busy}"
    return (
        f"{batches.mode}, {of}{_span(batches.requests)} requests{tokens}: {batches.ms:.2f} ms a"
        f" step{time}."
    )


def _span(ends: tuple[int, int]) -> str:
    least, most = ends
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _short(us: float) -> str:
    return f"{us / 1e3:.3g} ms" if us >= _MANY_US else f"{us:.3g} µs"


def layers_lines(layers: Layers) -> Iterator[str]:
    """Yield in lines of 80 columns how long the layers take, and the parts of one of them."""
    what = layers.name or f"layer, from {layers.begins} to the next"
    yield from _wrapped(
        f"{layers.count} × {what}: {layers.ms:.2f} ms, {100 * layers.share:.1f} % of the busy"
        f" time, {1e3 * layers.each_ms:.0f} µs each. One of them, by place and operator:"
    )
    known = any(part.floor_ms is not None for part in layers.parts)
    yield f"  layer       µs      n{_BY_SHAPES if known else ''}"
    for part in layers.parts[:_ROWS]:
        share = 100 * part.ms / layers.each_ms
        text = f"{share:5.1f} % {1e3 * part.ms:8.1f} {number(part.launches):>6}"
        if part.floor_ms is not None and part.reached is not None:
            text += f" {1e3 * part.floor_ms:8.1f} {100 * part.reached:6.0f} %"
        yield text
        named = ": ".join(filter(None, (part.place, part.operator)))
        yield from _wrapped(named or "no operator", _INDENT)
    rest = layers.parts[_ROWS:]
    if rest:
        yield f"{len(rest)} more parts, {1e3 * sum(part.ms for part in rest):.1f} µs"


def _above(audit: Audit) -> Iterator[str]:
    """Yield a sentence on what keeps the step above its floor, unless nothing does."""
    rest = "a lower clock or idle time" if audit.slower_clock else "idle time"
    causes = audit.above_ms | {rest: audit.rest_ms}
    parts = [f"{cause} {ms:.2f} ms" for cause, ms in causes.items() if ms >= _LEAST_MS]
    if parts:
        yield f"Above that floor: {', '.join(parts)}."


def _step(audit: Audit) -> str:
    """Return the step's length, and the time that the GPU worked and was idle in it."""
    steps = "1 step" if audit.steps == 1 else f"mean of {audit.steps} steps"
    unprofiled = f"{audit.step_ms:.2f} ms unprofiled, " if audit.step_ms else ""
    idle = f", idle for {audit.rest_ms:.2f} ms"
    said = ""
    if audit.slower_clock:
        idle = ""
        said = (
            f" The unprofiled step ran at {audit.step_mhz:.0f} MHz, the trace at"
            f" {audit.traced_mhz:.0f} MHz: its kernels took longer, and how long it was idle is not"
            " known."
        )
    elif audit.step_ms and audit.busy_ms > _SLOWER * audit.step_ms:
        said = " The kernels alone take longer in the trace than the unprofiled step."
    overlap = ""
    if audit.overlap_ms >= _LEAST_MS:
        overlap = f", on two streams or more for {audit.overlap_ms:.2f} ms"
    return (
        f"Step: {unprofiled}{audit.traced_ms:.2f} ms in the trace ({steps}), the GPU busy for"
        f" {audit.busy_ms:.2f} ms{idle}{overlap}.{said}"
    )


def _phases(audit: Audit) -> str:
    parts = [
        f"{phase} {ms:.2f} ms ({100 * ms / audit.busy_ms:.1f} %)"
        for phase, ms in audit.phases.items()
    ]
    unattributed = "" if audit.unattributed else ", unattributed 0"
    return f"Phases: {', '.join(parts)}{unattributed}."


def _moved(audit: Audit, read: float, written: float) -> str:
    """Return the bytes that the step's kernels moved, against what they had to."""
    times = ""
    if audit.compulsory_bytes:
        ratio = (read + written) / audit.compulsory_bytes
        times = f", {ratio:.2f} times the compulsory {size(round(audit.compulsory_bytes))}"
    if audit.flushed_bytes is not None:
        times += f" (with flushed caches {size(round(audit.flushed_bytes))})"
    again = sum(row.reread_bytes or 0.0 for row in audit.rows)
    return (
        f"DRAM: {size(round(read))} read, {size(round(written))} written{times};"
        f" {size(round(again))} were read right after the kernel before wrote them, which is what"
        " fusion saves of the reads at most."
    )


def _worth(audit: Audit) -> str:
    """Return a sentence on the gain at each target: times add, gains do not."""
    count = max((len(row.savings) for row in audit.rows), default=0)
    worth = []
    for place, target in enumerate(("70 %", "85 %", "the measured ceiling")[:count]):
        saved = audit.saved_ms(place)
        times = audit.shared_ms / (audit.shared_ms - saved)
        worth.append(f"{saved:.2f} ms at {target} ({times:.2f}×)")
    return f"Of {_SHARED[share_of(audit)]} all kernels together would save {', '.join(worth)}."


def _table(audit: Audit) -> Iterator[str]:
    """Yield the rows that would save most, or without counters those that take longest."""
    rows = ranked(audit)
    by = "what 85 % of peak would save" if audit.floor_ms else "time"
    yield from _wrapped(f"Rows by {by}, as percent of {_SHARED[share_of(audit)]}.")
    shaped = _BY_SHAPES if audit.shapes else ""
    head = f"{share_of(audit):>7}{_HEAD}"
    yield head if audit.floor_ms else f"{head[:23]}{shaped}"
    for row in rows[:_ROWS]:
        yield from _row(row, audit)
    rest = rows[_ROWS:]
    if rest:
        yield f"{len(rest)} more rows, {sum(row.ms for row in rest):.2f} ms: harness audit --json"


def share_of(audit: Audit) -> str:
    """Return the head of a column of shares: "step", or "work" of the GPU."""
    return "step" if audit.step_ms else "work"


def ranked(audit: Audit) -> list[Row]:
    """Return the rows that would save most first; without counters, those that take longest."""
    if audit.floor_ms is None:
        return list(audit.rows)
    return sorted(audit.rows, key=_saved, reverse=True)


def place(row: Row) -> str:
    """Return where in the model a row is, and the operator."""
    return ", ".join(part for part in dict.fromkeys((row.path, row.operator)) if part)


def kernel(row: Row) -> str:
    """Return a row's kernel without template arguments."""
    return short_name(row.kernel, _WIDTH - len(_INDENT))


def _saved(row: Row) -> tuple[float, float]:
    return (row.savings[1].ms if row.savings else 0.0, row.ms)


def _row(row: Row, audit: Audit) -> Iterator[str]:
    whole = audit.shared_ms
    text = f"{100 * row.ms / whole:5.1f} % {row.ms:8.3f} {number(row.launches):>6}"
    if audit.floor_ms:
        saved = [f"{100 * saving.ms / whole:5.1f} %" for saving in row.savings]
        saved += [_NOT_MEASURED.rjust(7)] * (3 - len(saved))
        used = f"{_used(row.dram_used)}{_used(row.tensor_used):>8}"
        text += f"{used}{''.join(f'{each:>8}' for each in saved)}  {row.limit or _NOT_MEASURED}"
    elif audit.shapes and row.floor_ms is not None:
        text += f" {row.floor_ms:8.3f} {100 * row.floor_ms / row.ms:6.0f} %"
    yield text
    yield from _wrapped(f"{row.phase}: {place(row)}", _INDENT, _INDENT + "  ")
    yield from _wrapped(kernel(row), _INDENT)
    if row.fix and (audit.floor_ms is None or row.limit in (LATENCY, NEITHER) or _saved(row)[0]):
        interval = ""
        if row.savings and row.half_width_ms is not None:
            at_85 = row.savings[1].ms
            width = 100 * row.half_width_ms * at_85 / row.ms / whole
            interval = f"at 85 % saves {100 * at_85 / whole:.2f} % ± {width:.2f} %: "
        yield from _wrapped(f"{interval}{row.fix}", _INDENT)


def _used(fraction: float | None) -> str:
    return f"{_NOT_MEASURED:>7}" if fraction is None else f"{100 * fraction:5.0f} %"


def _wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        plain(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
    )
