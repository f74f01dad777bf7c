"""What one field of a manifest cannot say alone: that the names it uses are made somewhere."""

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path, PurePosixPath

from harness.evidence.kinds import KINDS, filling
from harness.problem.claim_checks import claims
from harness.problem.fields import DEVICES, MOST_ROUNDS, SCRIPT
from harness.problem.located_yaml import Mistake, Place, shown
from harness.problem.model import Metric, Problem, Variant
from harness.problem.names import SECTIONS, Names, twice
from harness.problem.needed import FOLDER
from harness.problem.scripts import Scripts, is_file
from harness.problem.settings import Settings

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,59}")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/:-]{0,199}@sha256:[0-9a-f]{64}")
_COUNTER = re.compile(r"[a-z0-9_]+__[A-Za-z0-9_.]+")
_OWN_VARIABLES = {
    "CUDA_VISIBLE_DEVICES",
    "PATH",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "TMPDIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCHINDUCTOR_COMPILE_THREADS",
    "TRITON_CACHE_DIR",
}
"""Environment variables that engines set, besides those that begin with HARNESS_."""
_LARGEST_LOCK = 4 * 1024 * 1024
_MOST_CELLS = 20_000


def mistakes_in(problem: Problem, names: Names) -> Iterator[Mistake]:
    """Yield every reference that leads nowhere, in the order of the manifest's sections.

    ``problem`` may lack entries that ``names`` has, because they have mistakes of their own.
    """
    scripts = Scripts([*problem.scripts, *problem.used.values()])
    yield from _folder(problem)
    yield from _names(problem)
    yield from _files(problem)
    yield from _variants(problem, names)
    yield from _captures(problem, names, scripts)
    yield from _metrics(problem, names, scripts)
    yield from claims(problem, names, scripts)
    yield from _references(problem)


def _folder(problem: Problem) -> Iterator[Mistake]:
    if not FOLDER.fullmatch(problem.folder.name):
        what = f"the folder is named {shown(problem.folder.name)}"
        yield (), f"{what} (name it NUMBER-NAME, in lower-case letters, digits and '-')"
    elif not (problem.folder / SCRIPT).is_file():
        yield (), f"no {SCRIPT} beside it (write what its cells run: see CONTRIBUTING.md)"
    for name, case in problem.cases.items():
        if case.script != SCRIPT:
            where: Place = ("cases", name, "script")
            yield from _file(where, problem.folder, case.script, "beside the manifest")


def _names(problem: Problem) -> Iterator[Mistake]:
    remedy = "up to 64 lower-case letters, digits, '.', '_' and '-', the first a letter or digit"
    for section in SECTIONS:
        for name in getattr(problem, section):
            if not _NAME.fullmatch(name):
                yield (section, name), f"no name ({remedy})"
    for index, claim in enumerate(problem.claims):
        if not _NAME.fullmatch(claim.id):
            yield ("claims", index, "id"), f"{shown(claim.id)} is no name ({remedy})"


def _files(problem: Problem) -> Iterator[Mistake]:
    for name, environment in problem.environments.items():
        if environment.image is not None:
            yield from _image(("environments", name), environment.image, environment.lock)
        if environment.lock is not None:
            where: Place = ("environments", name, "lock")
            beside = "beside the manifest"
            wrong = list(_file(where, problem.folder, environment.lock, beside))
            if not wrong and not _is_text(problem.folder / environment.lock):
                wrong = [(where, f"{shown(environment.lock)} is no text (write it with uv or pip)")]
            yield from wrong
    for index, workload in enumerate(problem.workloads):
        beside = f"in {problem.shared.name}/"
        yield from _file(("workloads", index), problem.shared, workload, beside)
    for index, what in problem.needed.mistakes:
        yield ("needs_problems", index), what
    for index, kept in enumerate(problem.keep):
        if not _FILE.fullmatch(kept):
            what = f"{shown(kept)} is no file of a cell"
            yield ("keep", index), f"{what} (a name of up to 60 letters, digits and '._+-')"
    for key in ("workloads", "needs_problems", "keep"):
        yield from twice((key,), getattr(problem, key))


def _image(where: Place, image: str, lock: str | None) -> Iterator[Mistake]:
    if lock is not None:
        yield where, "has a lock and an image (an image brings its own packages: drop one)"
    if not _IMAGE.fullmatch(image):
        what = f"{shown(image)} is no image by digest (write NAME@sha256: and 64 digits)"
        yield (*where, "image"), what


def _file(where: Place, folder: Path, name: str, beside: str) -> Iterator[Mistake]:
    if not _is_inside(name):
        what = f"{shown(name)} leads out of the folder"
        yield where, f"{what} (give a relative path to a file {beside})"
    elif not is_file(folder / name):
        yield where, f"no file {shown(name)} {beside} (add it, or correct its name)"


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _is_text(path: Path) -> bool:
    """Return whether a file of at most so many bytes can be read as text."""
    try:
        if path.stat().st_size > _LARGEST_LOCK:
            return False
        path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return True


def _variants(problem: Problem, names: Names) -> Iterator[Mistake]:
    for section in ("environments", "variants", "cases", "captures"):
        if names.by_section.get(section) == []:
            yield (section,), "is empty (give one at least)"
    for name, variant in problem.variants.items():
        for what in names.unknown("environments", variant.environment):
            yield ("variants", name, "environment"), what
        yield from _caches(problem, names, name, variant)
        for each in variant.variables:
            if each in _OWN_VARIABLES or each.startswith("HARNESS_"):
                what = "the harness sets it itself (leave it out)"
                yield ("variants", name, "variables", each), what
    for what in names.unknown("variants", problem.baseline):
        yield ("baseline",), what
    first: dict[str, str] = {}
    for case, named in product(problem.cases, problem.variants):
        cell = f"{case}.{named}"
        if cell in first:
            what = f"with {named!r} it has the same cells as {first[cell]}"
            yield ("cases", case), f"{what} (rename one of the four)"
        first[cell] = f"{case!r} with {named!r}"


def _caches(problem: Problem, names: Names, name: str, variant: Variant) -> Iterator[Mistake]:
    if variant.caches_of is None:
        return
    where = ("variants", name, "caches_of")
    for what in names.unknown("variants", variant.caches_of):
        yield where, what
    maker = problem.variants.get(variant.caches_of)
    if maker and (maker.caches_of or maker is variant):
        yield where, f"{variant.caches_of!r} has no caches of its own (name one that has)"
    elif maker and (maker.tunes or variant.tunes):
        yield where, f"it or {variant.caches_of!r} tunes (leave it out)"


def _captures(problem: Problem, names: Names, scripts: Scripts) -> Iterator[Mistake]:
    for kind, capture in problem.captures.items():
        where = ("captures", kind)
        yield from _cells((*where, "cells"), problem, kind, names)
        for key in capture.settings.own():
            if not scripts.name(key):
                near = difflib.get_close_matches(key, Settings.model_fields, n=1)
                remedy = f"did you mean {near[0]!r}?" if near else "correct its name, or read it"
                what = "neither the probe nor a script of the problem reads it"
                yield (*where, "settings", key), f"{what} ({remedy})"
        if capture.flags and not KINDS[kind].tool:
            what = f"no profiler program records {kind}, so none takes flags (drop them)"
            yield (*where, "flags"), what
        for index, flag in enumerate(capture.flags):
            if not flag.startswith("-"):
                yield (*where, "flags", index), f"{shown(flag)} is no flag (write --name=value)"
        yield from _amount(problem, kind)


def _cells(where: Place, problem: Problem, kind: str, names: Names) -> Iterator[Mistake]:
    for case, variants in problem.captures[kind].cells.items():
        for what in names.unknown("cases", case):
            yield (*where, case), what
        listed = [] if variants == "all" else variants
        for index, name in enumerate(listed):
            for what in names.unknown("variants", name):
                yield (*where, case, index), what
            is_known = case in problem.cases and name in problem.variants
            if is_known and not any(problem.covers(kind, name, case, each) for each in DEVICES):
                what = f"{shown(name)}, its case and the capture need different devices"
                yield (*where, case, index), f"{what} (drop this cell, or a 'needs')"
        yield from twice((*where, case), listed)


def _amount(problem: Problem, kind: str) -> Iterator[Mistake]:
    """Yield that a capture has more cells than a run can hold."""
    capture = problem.captures[kind]
    spots = Counter(
        {
            case: len(problem.variants) if variants == "all" else len(variants)
            for case, variants in capture.cells.items()
        }
        or dict.fromkeys(problem.cases, len(problem.variants))
    )
    rounds = {name: case.rounds or capture.rounds for name, case in problem.cases.items()}
    cells = sum(number * rounds.get(case, 1) for case, number in spots.items())
    if KINDS[kind].unprofiled and cells > _MOST_CELLS:
        remedy = f"at most {_MOST_CELLS}: fewer rounds, of {MOST_ROUNDS} at most, or fewer cells"
        yield ("captures", kind), f"{cells} cells ({remedy})"


def _metrics(problem: Problem, names: Names, scripts: Scripts) -> Iterator[Mistake]:
    for name, metric in problem.metrics.items():
        for what in names.unknown("captures", metric.capture):
            yield ("metrics", name, "capture"), what
        for key, what in _source(metric, scripts):
            yield ("metrics", name, key), what


def _source(metric: Metric, scripts: Scripts) -> Iterator[tuple[str, str]]:
    """Yield each key of a metric that names a thing nobody makes, and the mistake."""
    kind = KINDS[metric.capture]
    if metric.measure is not None and metric.measure not in kind.measures:
        listed = ", ".join(kind.measures) or "none"
        yield "measure", f"{kind.name} has no measure {metric.measure!r} (there are: {listed})"
    counted = filling("counters")
    if metric.counter is not None and kind.name not in counted:
        what = f"the capture {kind.name} has no counters"
        yield "counter", f"{what} (a counter is of the capture {' or '.join(counted)})"
    elif metric.counter is not None and not _COUNTER.fullmatch(metric.counter):
        remedy = "ncu --query-metrics lists them, such as sm__cycles_active.avg"
        yield "counter", f"{shown(metric.counter)} is no name of a counter ({remedy})"
    sample = metric.sample
    if sample is not None and sample not in kind.samples and not scripts.name(sample):
        what = f"no script of the problem samples {shown(sample)}"
        own = ", ".join(kind.samples)
        yield "sample", f"{what} (under {kind.name} the probe itself samples: {own})"
    for key in ("fact", "per", "members"):
        fact = getattr(metric, key)
        if fact is not None and not scripts.name(fact):
            what = f"no script of the problem states the fact {shown(fact)}"
            yield key, f"{what} (correct the name, or state it with cell.fact)"
    if metric.members is not None and sample is None:
        yield "members", "is of a metric that is no sample (only samples are taken by region)"
    if metric.region is not None and not scripts.region(metric.region):
        what = f"no script of the problem has a region {shown(metric.region)}"
        yield "region", f"{what} (correct the name, or measure it)"


def _references(problem: Problem) -> Iterator[Mistake]:
    for name, reference in problem.references.items():
        if not reference.columns:
            yield ("references", name, "columns"), "is empty (name the columns of the rows)"
            continue
        for index, row in enumerate(reference.rows):
            if len(row) != len(reference.columns):
                what = f"{len(row)} values for {len(reference.columns)} columns"
                yield ("references", name, "rows", index), f"{what} (give one a column)"
