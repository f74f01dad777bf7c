"""Manifests: every mistake told at once with its line; what is right is read."""

from pathlib import Path

import pytest

from harness.ground.errors import ManifestError, UsageError
from harness.problem import manifest
from harness.problem.model import Advice, Bound, BoundClaim
from tests.support.manifests import GOOD, TAKE_FAST, written
from tests.support.paths import ROOT

PROBLEMS = ROOT / "problems"


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ManifestError) as caught:
        manifest.load(written(tmp_path, text))
    told = str(caught.value)
    assert "\n" not in told
    assert "problem.yaml" in told
    return told


def test_a_good_manifest_is_read(tmp_path: Path) -> None:
    found = manifest.load(written(tmp_path, GOOD))
    assert (found.number, found.title, list(found.variants)) == (9, "A title", ["slow", "fast"])
    assert found.covers("timing", "fast", "small", "cpu")
    assert not found.covers("nsys", "fast", "small", "cuda")


@pytest.mark.parametrize(
    "path", sorted(PROBLEMS.glob("*/problem.yaml")), ids=lambda path: path.parent.name
)
def test_every_committed_manifest_is_read(path: Path) -> None:
    problem = manifest.load(path.parent)
    assert problem.metrics
    assert problem.claims or problem.number == 0  # the calibration measures and claims nothing


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("baseline: slow", "baseline: none", "line 5: baseline: no variant 'none'"),
        ("environment: plain}\n  fast", "environment: bare}\n  fast", "no environment 'bare'"),
        ("plain}\n  fast", "plain, caches_of: quick}\n  fast", "no variant 'quick'"),
        (
            "plain}\n  fast",
            "plain, variables: {PYTHONPATH: /x}}\n  fast",
            "variants.slow.variables.PYTHONPATH: the harness sets it itself",
        ),
        ("plain}\n  fast", "plain, variables: {A-B: x}}\n  fast", "variants.slow.variables.A-B"),
        ("plain}\n  fast", "plain, variables: {A: 1}}\n  fast", "variants.slow.variables.A: "),
        ("plain}\n  fast", "plain, caches_of: slow}\n  fast", "'slow' has no caches of its own"),
        (
            "plain}\n  fast: {",
            "plain, caches_of: fast}\n  fast: {tunes: true, ",
            "it or 'fast' tunes",
        ),
        (
            "label: Small",
            "label: Small, script: other.py",
            "cases.small.script: no file 'other.py'",
        ),
        ("label: Small", "label: Small, script: ../other.py", "cases.small.script: "),
        ("timing: {}", "timing: {setings: {}}", "line 12: captures.timing.setings: no such key"),
        ("timing: {}", "timing: {cells: {big: all}}", "no case 'big'"),
        ("timing: {}", "timing: {cells: {small: [quick]}}", "no variant 'quick'"),
        ("timing: {}", "trace: {}", "captures.trace"),
        ("unit: ms", "unit: 3", "line 14: metrics.time.unit"),
        (
            "sample: wall_time",
            "sample: a, fact: b",
            "exactly one of sample, fact, measure and counter",
        ),
        (
            "sample: wall_time",
            "counter: sm__cycles_active.avg",
            "metrics.time.counter: the capture timing has no counters",
        ),
        ("sample: wall_time", "measure: speed", "timing has no measure 'speed'"),
        ("metric: time", "metric: speed", "line 18: claims.0.metric: no metric 'speed'"),
        ("below: 1", "below: 1, above: 2", "exactly one of above, below and between"),
        (
            "below: 1",
            "between: [2, 1]",
            "claims.0.bound: between has its upper end first",
        ),
        ("  fast: {", "  slow: {", "line 8: variants.slow: duplicate name, first on line 7"),
        ("  plain: {}", "  plain: {lock: gone.lock}", "no file 'gone.lock'"),
        (
            "baseline: slow",
            "workloads: [a.py]\nbaseline: slow",
            "line 5: workloads.0: no file 'a.py'",
        ),
        ("title: A title", "title: [", "line"),
        ("of: {variant: fast, case: small}", "of: {variant: fast}", "is missing"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert told in refusal(tmp_path, GOOD.replace(old, new, 1))


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("baseline: slow", "baseline: none").replace("metric: time", "metric: mass")
    told = refusal(tmp_path, text)
    assert "no variant 'none'" in told
    assert "no metric 'mass'" in told


def test_what_cannot_be_read_hides_no_other_mistake(tmp_path: Path) -> None:
    """A wrong value, a key that is unknown and a name that leads nowhere are told together."""
    text = GOOD.replace("unit: ms", "unit: 3").replace("timing: {}", "timing: {setings: {}}")
    told = refusal(
        tmp_path, text.replace("environment: plain}\n  fast", "environment: bare}\n  fast")
    )
    assert told.split("problem.yaml: ")[1].split("; ") == [
        "line 7: variants.slow.environment: no environment 'bare' (there are: plain)",
        "line 12: captures.timing.setings: no such key (did you mean 'settings'?)",
        "line 14: metrics.time.unit: is the number 3 (write text in quotes)",
    ]


def test_what_an_alias_repeats_is_told_once(tmp_path: Path) -> None:
    cells = "timing: {cells: {small: &all [slow, quick], big: *all}}"
    text = GOOD.replace("timing: {}", cells).replace(
        "{label: Small}", "{label: Small}\n  big: {label: Big}"
    )
    assert refusal(tmp_path, text).count("quick") == 1


@pytest.mark.parametrize("mistake", ["seconds: ten", "stpes: 3", "steps: 0", "samples: .inf"])
def test_a_setting_that_the_probe_cannot_take(tmp_path: Path, mistake: str) -> None:
    text = GOOD.replace("timing: {}", f"timing: {{settings: {{{mistake}}}}}")
    assert f"line 12: captures.timing.settings.{mistake.split(':')[0]}: " in refusal(tmp_path, text)


def test_a_setting_that_a_script_reads_is_handed_on(tmp_path: Path) -> None:
    text = GOOD.replace("timing: {}", "timing: {settings: {generations: 2, steps: 4}}")
    script = 'cell.settings["generations"]'
    settings = manifest.load(written(tmp_path, text, script)).captures["timing"].settings
    assert settings.given() == {"warmup": 3, "steps": 4, "generations": 2}
    (tmp_path / "9-example" / "repro.py").write_text("cell.finish()")
    assert "generations: neither the probe nor" in refusal(tmp_path, text)


def test_a_claim_that_no_capture_can_settle(tmp_path: Path) -> None:
    text = GOOD.replace("timing: {}", "timing: {cells: {small: [slow]}}")
    assert "no capture makes 'time' of 'fast' in 'small'" in refusal(tmp_path, text)


@pytest.mark.parametrize("text", ["", "- a", "a: b", "{" * 200, "a: &a [*a]", "\x00", "é: \udcff"])
def test_what_is_no_manifest_at_all(tmp_path: Path, text: str) -> None:
    folder = written(tmp_path, "")
    (folder / "problem.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ManifestError):
        manifest.load(folder)


def test_a_manifest_that_is_a_link_shows_nothing_of_what_it_leads_to(tmp_path: Path) -> None:
    folder = written(tmp_path, "")
    (tmp_path / "secret").write_text("token: hunter2: [\n")
    (folder / "problem.yaml").unlink()
    (folder / "problem.yaml").symlink_to(tmp_path / "secret")
    with pytest.raises(ManifestError) as error:
        manifest.load(folder)
    assert str(error.value) == (
        f"{folder / 'problem.yaml'}: a link, not a regular file (write the manifest there)"
    )


def test_an_unknown_problem_lists_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no problem .77.*1-torchao-float8"):
        manifest.find(PROBLEMS, "77")
    assert manifest.find(PROBLEMS, "1").folder.name == "1-torchao-float8"


ADVICE = f"""\
{TAKE_FAST}    at: [small]
    holds_for: small ones
    pays: [time]
    except: {{other: slower to build}}
"""
WITH_ADVICE = (
    GOOD.replace("variants:\n", "variants:\n  other: {label: Other, environment: plain}\n") + ADVICE
)


def test_an_advice_is_read(tmp_path: Path) -> None:
    bound, advice = manifest.load(written(tmp_path, WITH_ADVICE)).claims
    assert isinstance(bound, BoundClaim)
    assert isinstance(advice, Advice)
    assert (advice.take, advice.instead_of, advice.at) == ("fast", "slow", ["small"])
    assert advice.but == {"other": "slower to build"}
    assert advice.bound == Bound(above=1)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "kind: advice",
            "kind: hint",
            "line 24: claims.1.kind: no such kind of claim",
        ),
        ("kind: advice", "kind: advice\n    of: {}", "line 25: claims.1.of: no such key"),
        ("    take: fast", "    take: quick", "line 27: claims.1.take: no variant 'quick'"),
        ("instead_of: slow", "instead_of: fast", "'fast' is what it advises to take"),
        ("at: [small]", "at: [small, big]", "line 29: claims.1.at.1: no case 'big'"),
        ("at: [small]", "at: []", "line 29: claims.1.at"),
        ("pays: [time]", "pays: [mass]", "line 31: claims.1.pays.0: no metric 'mass'"),
        ("except: {other:", "except: {third:", "claims.1.except.third: no variant 'third'"),
        ("except: {other:", "except: {fast:", "'fast' is a side of the comparison"),
        (
            "    pays:",
            "    bound: {below: 2}\n    pays:",
            "line 31: claims.1.bound: an advice promises a gain",
        ),
        (
            "    pays:",
            "    bound: {above: 0.9}\n    pays:",
            "line 31: claims.1.bound: an advice promises a gain",
        ),
        ("    holds_for: small ones\n", "", "line 23: claims.1.holds_for"),
        ("timing: {}", "timing: {cells: {small: [slow]}}", "line 29: claims.1.at.0: no capture"),
    ],
)
def test_a_mistake_in_an_advice_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert told in refusal(tmp_path, WITH_ADVICE.replace(old, new, 1))
