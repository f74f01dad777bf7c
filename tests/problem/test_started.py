"""The claims that a run is started with, and whether a claim of today was tested by a run."""

from pathlib import Path

import pytest

from harness.evidence.provenance import Origin, StartedClaim
from harness.problem import history, manifest, started
from tests.support.manifests import GOOD, TAKE_FAST, written
from tests.support.origins import origin
from tests.support.repository import committed, git

MORE = f"""\
{TAKE_FAST}    at: [small, large]
    holds_for: all
    pays: [bytes]
    except: {{}}
"""
ADVISED = (
    GOOD.replace("  fast: {", "  other: {label: Other, environment: plain}\n  fast: {")
    .replace("small: {label: Small}", "small: {label: Small}\n  large: {label: Large}")
    .replace("claims:", "  bytes: {label: size, unit: B, capture: timing, fact: bytes}\nclaims:")
    + MORE
)
NEITHER = ""
BOUND = "the claim's bound was ≤ 1 when the run began"
DEFINITION = "what the claim compares has changed since the run began"
ABSENT = "the claim is newer than the run"
UNKNOWN = "the run did not record its claims"


def claims(text: str, folder: Path) -> dict[str, StartedClaim]:
    return started.started(manifest.load(written(folder, text)))


@pytest.mark.parametrize(
    ("old", "new", "of_bound", "of_advice"),
    [
        ("A title", "Another title", NEITHER, NEITHER),
        ("label: time", "label: wall time", NEITHER, NEITHER),
        ("label: Fast", "label: Faster", NEITHER, NEITHER),
        ("at: [small, large]", "at: [large, small]", NEITHER, NEITHER),
        ("holds_for: all", "holds_for: everything\n    costs: memory", NEITHER, NEITHER),
        ("Fast is faster.", ">\n      Fast is\n      faster.", NEITHER, NEITHER),
        ("bound: {below: 1}", "bound: {below: 1}\n    otherwise: It is slow.", NEITHER, NEITHER),
        ("bound: {below: 1}", "bound: {below: 1}\n    headline: true", NEITHER, NEITHER),
        ("below: 1", "below: 1.1", BOUND, NEITHER),
        ("below: 1", "above: 1", BOUND, NEITHER),
        ("below: 1", "between: [0.9, 1]", BOUND, NEITHER),
        ("sample: wall_time", "sample: latency", DEFINITION, DEFINITION),
        ("unit: ms, capture", "unit: ms, better: higher, capture", DEFINITION, DEFINITION),
        ("over: {variant: slow}", "over: {variant: other}", DEFINITION, NEITHER),
        ("of: {variant: fast, case: small}", "of: {variant: fast, case: large}", DEFINITION, ""),
        ("over: {variant: slow}", "over: {variant: slow}\n    needs: cuda", DEFINITION, NEITHER),
        ("instead_of: slow", "instead_of: other", NEITHER, DEFINITION),
        ("except: {}", "except: {other: not the same}", NEITHER, DEFINITION),
        ("at: [small, large]", "at: [small]", NEITHER, DEFINITION),
        ("pays: [bytes]", "pays: []", NEITHER, DEFINITION),
        ("fact: bytes", "fact: bytes, per: wall_time", NEITHER, DEFINITION),
        ("  other: {", "  new: {label: New, environment: plain}\n  other: {", "", DEFINITION),
        ("Fast is faster.", "Fast is twice as fast.", NEITHER, NEITHER),
        ("id: faster", "id: quicker", ABSENT, NEITHER),
    ],
)
def test_what_makes_a_claim_another(
    old: str, new: str, of_bound: str, of_advice: str, tmp_path: Path
) -> None:
    assert ADVISED.count(old) == 1
    run = origin(claims=claims(ADVISED, tmp_path))
    now = claims(ADVISED.replace(old, new), tmp_path)
    why = {name: started.changed(name, claim, [run]) for name, claim in now.items()}
    assert [*why.values()] == [of_bound, of_advice]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("above: 1.3", "≥ 1.3"),
        ("below: 120000", "≤ 120000"),
        ("between: [0.95, 1.05]", "0.95 to 1.05"),
    ],
)
def test_a_bound_is_told_as_pages_print_it(text: str, words: str, tmp_path: Path) -> None:
    run = origin(claims=claims(GOOD.replace("below: 1", text), tmp_path))
    now = claims(GOOD, tmp_path)["faster"]
    assert (
        started.changed("faster", now, [run]) == f"the claim's bound was {words} when the run began"
    )


def test_every_call_has_to_begin_with_the_claim(tmp_path: Path) -> None:
    now = claims(GOOD, tmp_path)
    another = now["faster"].model_copy(update={"bound": {"below": 3.0}, "definition": "0"})
    reworded = now["faster"].model_copy(update={"statement": "?", "definition": "0"})

    def why(*calls: dict[str, StartedClaim] | None) -> str:
        return started.changed("faster", now["faster"], [origin(claims=each) for each in calls])

    assert why(now, now) == NEITHER
    assert why(now, {"faster": another}) == "the claim's bound was ≤ 3 when the run began"
    assert why({"faster": reworded}, now) == DEFINITION
    assert (
        why({"faster": reworded}, {"faster": another})
        == "the claim's bound was ≤ 3 when the run began"
    )
    assert why({"faster": another}, {}) == ABSENT
    assert why(now, {}, None) == UNKNOWN
    assert why() == UNKNOWN


def test_other_words_are_told_and_test_the_same_claim(tmp_path: Path) -> None:
    now = claims(GOOD, tmp_path)["faster"]
    before = now.model_copy(update={"statement": "Fast was faster."})
    calls = [origin(claims={"faster": each}) for each in (now, before)]
    assert started.changed("faster", now, calls) == NEITHER
    assert started.worded("faster", now, calls) == "Fast was faster."
    assert started.worded("faster", now, calls[:1]) == ""
    assert started.worded("slower", now, [*calls, origin(claims=None)]) == ""


def test_a_recorded_claim_is_read_again_as_it_was(tmp_path: Path) -> None:
    text = ADVISED.replace("below: 1", "between: [1, 2]")
    call = origin(claims=claims(text, tmp_path))
    again = Origin.model_validate(call.as_json())
    assert again == call
    for name, claim in claims(text, tmp_path).items():
        assert started.changed(name, claim, [again]) == NEITHER


def since(folder: Path) -> dict[str, str | None]:
    """Return the commit, without its day, of each claim of the problem in a repository."""
    now = started.started(manifest.load(folder / "9-example"))
    dated = started.since(now, history.versions(folder / "9-example"))
    return {name: claim.since and claim.since.split()[0] for name, claim in dated.items()}


def test_since_is_the_commit_that_gave_a_claim_its_present_form(tmp_path: Path) -> None:
    def commit(text: str) -> str:
        written(tmp_path, text)
        return committed(tmp_path, "A change")[:8]

    commit(ADVISED.replace("below: 1", "below: 2"))
    first = commit(ADVISED.replace("label: Fast", "label: Faster"))
    commit(ADVISED.replace("Fast is faster.", "Fast  is\n      faster."))
    assert since(tmp_path)["faster"] == first
    other = commit(ADVISED.replace("sample: wall_time", "sample: latency"))
    assert since(tmp_path) == {"faster": other, "take-fast": other}
    back = commit(ADVISED)
    assert since(tmp_path) == {"faster": back, "take-fast": back}
    written(tmp_path, ADVISED.replace("below: 1", "below: 3"))  # not committed
    assert since(tmp_path) == {"faster": None, "take-fast": back}


@pytest.mark.parametrize(
    ("earlier", "is_known"),
    [
        (GOOD.replace("timing: {}", "timing: {gone: 1}\n  odd: {}"), True),
        (GOOD.replace("label: Small", "label: Small, gone: 1"), True),
        (GOOD.replace("unit: ms, ", ""), False),
        ("a: [", False),
        ("- a", False),
        ("", False),
    ],
)
def test_an_earlier_manifest_need_not_be_one_of_today(
    earlier: str, is_known: bool, tmp_path: Path
) -> None:
    written(tmp_path, earlier)
    first = committed(tmp_path)[:8]
    written(tmp_path, GOOD)
    second = committed(tmp_path, "Today's")[:8]
    assert since(tmp_path) == {"faster": first if is_known else second}


def test_a_manifest_that_was_away_is_followed_to_where_it_came(tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    first = committed(tmp_path)[:8]
    git(tmp_path, "rm", "--quiet", "9-example/problem.yaml")
    git(tmp_path, "commit", "--quiet", "--message=Away")
    written(tmp_path, GOOD)
    committed(tmp_path, "Again")
    assert since(tmp_path) == {"faster": first}


def test_a_shallow_clone_does_not_know_since_when_a_claim_stands(tmp_path: Path) -> None:
    whole, shallow = tmp_path / "whole", tmp_path / "shallow"
    whole.mkdir()
    written(whole, GOOD)
    first = committed(whole)[:8]
    committed(written(whole, GOOD.replace("A title", "Another title")).parent, "A title")
    git(tmp_path, "clone", "--quiet", "--depth=1", whole.as_uri(), str(shallow))
    assert since(shallow) == {"faster": None}
    git(shallow, "fetch", "--quiet", "--unshallow")
    assert since(shallow) == {"faster": first}
