"""Each rule of a review: what it remarks, on which line, and what it leaves alone."""

import re
from pathlib import Path

import pytest

from harness import lint
from harness.evidence import provenance
from harness.lint import template
from harness.lint.sentences import concluding
from harness.lint.study import Remark, Study
from harness.problem import manifest, started
from tests.support.manifests import GOOD, TAKE_FAST, written
from tests.support.paths import ROOT
from tests.support.reports import COMMITTED, KEPT, copied, kept_study

ADVICE = f"""\
{TAKE_FAST}    at: [small]
    holds_for: small
"""
THREE = GOOD.replace(
    "cases:", "  third: {label: Third, environment: plain, options: {x: 1}}\ncases:"
)


def remarks(
    folder: Path, rule: str, reports: tuple[Path, ...] = (), glossary: str = ""
) -> list[Remark]:
    study = Study.read(manifest.load(folder), reports, glossary)
    return [remark for remark in lint.review(study) if remark.rule == rule]


def of_manifest(tmp_path: Path, text: str, rule: str) -> list[str]:
    """Return the line of a manifest that each remark of a rule points to."""
    found = remarks(written(tmp_path, text), rule)
    return [text.splitlines()[remark.line - 1].strip() for remark in found]


def of_template(tmp_path: Path, text: str, rule: str, glossary: str = "") -> list[tuple[int, str]]:
    """Return line and words of each remark of a rule on a template."""
    folder = written(tmp_path, GOOD)
    (folder / "worklog.md.j2").write_text(text, encoding="utf-8")
    found = remarks(folder, rule, glossary=glossary)
    assert {remark.path.name for remark in found} <= {"worklog.md.j2"}
    return [(remark.line, remark.what) for remark in found]


@pytest.mark.parametrize("rule", lint.RULES)
def test_every_rule_is_a_function_that_says_what_it_remarks(rule: str) -> None:
    function = lint.RULES[rule]
    assert function.__name__ == rule.replace("-", "_")
    assert function.__doc__ and function.__doc__.startswith("Yield a remark on ")


def test_a_sound_study_has_no_remark(tmp_path: Path) -> None:
    assert lint.review(Study.read(manifest.load(written(tmp_path, THREE)))) == []


def test_a_study_without_claims_is_told(tmp_path: Path) -> None:
    text = GOOD.partition("claims:")[0] + "claims: []\n"
    assert of_manifest(tmp_path, text, "no-claims") == ["claims: []"]


def test_a_metric_that_nothing_reads_is_told_where_there_is_a_template(tmp_path: Path) -> None:
    more = "  rest: {label: rest, unit: ms, capture: timing, sample: wall_time}\n"
    folder = written(tmp_path, GOOD.replace("claims:", f"{more}claims:"))
    assert remarks(folder, "unread-metric") == []  # the default worklog shows it
    (folder / "worklog.md.j2").write_text("{{ w.m('time', 'slow', 'small') }}")
    (told,) = remarks(folder, "unread-metric")
    assert "'rest'" in told.what
    (folder / "worklog.md.j2").write_text("{{ w.m('rest@big', 'slow', 'small') }}")
    assert remarks(folder, "unread-metric") == []
    (folder / "worklog.md.j2").write_text("{% include 'part.j2' %}")
    for name, text in (("part.j2", "{{ w.m('rest') }}"), ("sections.py", "METRIC = 'rest'\n")):
        assert len(remarks(folder, "unread-metric")) == 1
        (folder / name).write_text(text)
        assert remarks(folder, "unread-metric") == []
        (folder / name).unlink()


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("{above: 0}", True),
        ("{between: [0, 1.0e+15]}", True),
        ("{above: 0.1}", False),
        ("{below: 0}", False),
        ("{between: [0, 2]}", False),
    ],
)
def test_a_bound_that_every_value_meets_is_told(tmp_path: Path, bound: str, told: bool) -> None:
    text = GOOD.replace("{below: 1}", bound).replace("    over: {variant: slow}\n", "")
    assert of_manifest(tmp_path, text, "cannot-fail") == [f"bound: {bound}"] * told


def test_a_parameter_that_the_script_states_again_is_told(tmp_path: Path) -> None:
    text = (
        GOOD.replace("sample: wall_time", "fact: rows")
        .replace("{label: Small}", "{label: Small, params: {rows: 3}}")
        .replace("    over: {variant: slow}\n", "")
    )
    assert of_manifest(tmp_path, text, "cannot-fail") == ["- id: faster"]
    measured = text.replace("params: {rows: 3}", "params: {columns: 3}")
    assert of_manifest(tmp_path, measured, "cannot-fail") == []


def test_an_advice_has_to_have_an_alternative(tmp_path: Path) -> None:
    two = GOOD + ADVICE
    assert of_manifest(tmp_path, two, "no-rival") == ["variants:"]
    assert of_manifest(tmp_path, THREE + ADVICE, "no-rival") == []
    excepted = THREE + ADVICE + "    except: {third: it needs a network}\n"
    assert of_manifest(tmp_path, excepted, "no-rival") == ["- id: take-fast"]
    (told,) = remarks(tmp_path / "9-example", "no-rival")
    assert "'except' leaves out all" in told.what and "'third'" in told.remedy
    unmeasured = (THREE + ADVICE).replace("timing: {}", "timing: {cells: {small: [slow, fast]}}")
    (told,) = remarks(written(tmp_path, unmeasured), "no-rival")
    assert "its cases measure nothing else" in told.what


def test_a_comment_above_the_line_answers_a_remark(tmp_path: Path) -> None:
    text = GOOD + ADVICE
    for comment, told in (
        ("# no-rival: twins", []),
        ("# no-rival: twins, of which\n# one is sick", []),
        ("# no-rival:", ["no-rival"]),
        ("# no-range: twins", ["no-rival"]),
    ):
        folder = written(tmp_path, text.replace("variants:", f"{comment}\nvariants:", 1))
        found = lint.review(Study.read(manifest.load(folder)))
        assert [remark.rule for remark in found if remark.rule != "no-range"] == told


def test_an_advice_has_to_be_measured_at_both_ends(tmp_path: Path) -> None:
    assert of_manifest(tmp_path, THREE + ADVICE, "no-range") == ["at: [small]"]
    both = (THREE + ADVICE).replace("at: [small]", "at: [small, big]")
    both = both.replace("{label: Small}", "{label: Small}\n  big: {label: Big}")
    assert of_manifest(tmp_path, both, "no-range") == []


@pytest.mark.parametrize(
    ("holds_for", "told"),
    [("M = 1, 4096²", False), ("8B decoder, batch 1", False), ("M = 1 to 16", True),
     ("at least 2 GPUs", True), ("kernels that wait for memory", True)],
)  # fmt: skip
def test_an_advice_for_one_point_needs_one_case(tmp_path: Path, holds_for: str, told: bool) -> None:
    text = (THREE + ADVICE).replace("holds_for: small", f"holds_for: {holds_for!r}")
    assert of_manifest(tmp_path, text, "no-range") == ["at: [small]"] * told


def test_a_variant_has_to_be_one_change_away_from_another(tmp_path: Path) -> None:
    text = GOOD.replace("plain: {}", "plain: {}\n  other: {}")
    far = "  far: {label: Far, environment: other, options: {x: 1}}\ncases:"
    told = of_manifest(tmp_path, text.replace("cases:", far), "several-differences")
    assert told == ["far: {label: Far, environment: other, options: {x: 1}}"]
    near = f"  near: {{label: Near, environment: plain, options: {{x: 1}}}}\n{far}"
    assert of_manifest(tmp_path, text.replace("cases:", near), "several-differences") == []


def test_each_package_of_a_lock_is_pinned_and_hashed(tmp_path: Path) -> None:
    folder = written(tmp_path, GOOD.replace("plain: {}", "plain: {lock: packages.lock}"))
    digest = f"--hash=sha256:{'0' * 64}"
    (folder / "packages.lock").write_text(
        f"# made by uv\nfirst==1.0 \\\n    {digest}\nsecond>=2 \\\n    {digest}\n"
        f"third==3.0\n--index-url https://example.org\nfourth[x]==4 {digest}  # via first\n"
    )
    told = remarks(folder, "unpinned")
    assert [(remark.path.name, remark.line, remark.what) for remark in told] == [
        ("packages.lock", 4, "second has no exact version"),
        ("packages.lock", 6, "third has no hash"),
    ]


def test_a_number_of_a_claim_may_be_repeated(tmp_path: Path) -> None:
    statement = next(line for line in GOOD.splitlines() if "statement:" in line)
    folder = written(tmp_path, GOOD.replace(statement, f"{statement.rstrip('.')} by 3 %."))
    (folder / "worklog.md.j2").write_text("It gains 3 %, not 4 %.")
    assert [remark.what for remark in remarks(folder, "literal-number")] == [
        "'4 %' is written by hand"
    ]


def test_numbers_written_by_hand_are_told_and_sizes_are_not(tmp_path: Path) -> None:
    text = (
        "It takes 3.5 ms, 12 % or 4× as long as 64 × 64 tiles of 16 bytes at 4096².\n\n"
        "`sleep 3 ms` takes {{ w.m('time', 'slow', 'small') }}.\n"
        "{# quoted: the datasheet #}Its limit is 700 W. It draws 650 W.\n"
        "```\n9 ms\n```\n"
    )
    told = of_template(tmp_path, text, "literal-number")
    assert [(line, what.split(" is ")[0]) for line, what in told] == [
        (1, "'3.5 ms'"),
        (1, "'12 %'"),
        (1, "'4×'"),
        (4, "'650 W'"),
    ]


def test_a_line_of_code_that_a_section_looks_for_is_no_caption(tmp_path: Path) -> None:
    code = '{{ w.source("a.cu", between=("k / 16 % 2", "rank / SPLIT of a b c d e")) }}\n'
    caption = '{{ w.bars("a", "time", "c", "These are of 16 % as we see it.") }}'
    told = of_template(tmp_path, code + caption, "literal-number")
    assert [line for line, _ in told] == [2]
    assert of_template(tmp_path, code, "unknown-word") == []


def test_what_counts_by_each_says_per_and_an_article_stays(tmp_path: Path) -> None:
    text = "A file a step.\n\nIt takes 3 ms a token.\n\nIt adds a row. A step is a call.\n"
    told = of_template(tmp_path, text, "a-for-per")
    assert told == [
        (1, "'A file a step' says 'a' for 'per'"),
        (3, "'3 ms a token' says 'a' for 'per'"),
    ]


CONCLUDING = """\
# {{ problem.title }}

It was measured. {% call w.concludes("a") %}It is faster.{% endcall %} Float8 is
slower, by {{ w.m("time", "a", "b") }}.

{% if w.holds("a") %}It wins.{% else %}It was measured.{% endif %}
{# no conclusion: a definition #}A GPU is host-bound because it waits. It beats all.
{{ w.bars("a", "time", "c", "Bars, p8 is the best of all.") }}

```python
x = fast  # better
```
The option `best` is set.
| this | costs nothing | that |
"""


def test_sentences_outside_of_blocks_are_found_by_their_line(tmp_path: Path) -> None:
    found = [
        (3, "Float8 is slower, by •."),
        (7, "It beats all."),
        (8, "Bars, p8 is the best of all."),
        (14, "costs nothing"),
    ]
    assert list(concluding(CONCLUDING)) == found
    told = of_template(tmp_path, CONCLUDING, "unconditional")
    assert [line for line, _ in told] == [line for line, _ in found]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{% if w.holds("a") %}It wins.{% else %}It is worse.{% endif %}', ["It is worse."]),
        ('{% if not w.holds("a") %}It is worse.{% else %}It wins.{% endif %}', ["It is worse."]),
        ('{% if w.holds("a") and not w.has("b") %}It wins.{% endif %}', []),
        ('{% if w.holds("a") %}{% if x %}a{% else %}It wins.{% endif %}{% endif %}', []),
    ],
)
def test_where_a_claim_does_not_hold_its_opposite_need_not(text: str, told: list[str]) -> None:
    assert [sentence for _, sentence in concluding(text)] == told


def test_a_conclusion_is_found_by_words_alone() -> None:
    assert list(concluding("The `faster` mode is on. It takes as long.")) == []
    assert [text for _, text in concluding("It is Slower.")] == ["It is Slower."]


def test_an_abbreviation_is_explained_once(tmp_path: Path) -> None:
    text = (
        "A GPU has many of what we call a CTA and an SM on it. The same CTA again in this place.\n"
        "A launch may use PDL for its work too. Programmatic dependent launch (PDL) came late.\n"
        "The `XYZ` mode and [a link of ours](ABC.md) are code for us.\n"
    )
    told = of_template(tmp_path, text, "unknown-word", glossary="| SM | a multiprocessor |")
    assert [(line, what.split()[-1]) for line, what in told] == [(1, "CTA")]


def test_a_bound_that_reports_are_far_from_is_told() -> None:
    problem = kept_study()
    (claim,) = problem.claims
    for above, expected in ((1.0, ["far-bound"]), (5.0, [])):
        moved = claim.model_copy(update={"bound": claim.bound.model_copy(update={"above": above})})
        changed = problem.model_copy(update={"claims": [moved]})
        changed.lie_in(problem.folder)
        study = Study.read(changed, (KEPT,))
        found = [remark for remark in lint.review(study) if remark.rule == "far-bound"]
        assert [remark.rule for remark in found] == expected
    assert remarks(problem.folder, "far-bound") == []  # nothing is published
    assert "13 times" in remarks(problem.folder, "far-bound", (KEPT,))[0].what


@pytest.mark.parametrize(
    ("then", "told"),
    [({"above": 100.0}, True), ({"above": 2.0}, False), ({"below": 2.0}, True), (None, False)],
)
def test_a_bound_that_was_moved_to_what_a_run_found_is_told(
    tmp_path: Path, then: dict[str, float] | None, told: bool
) -> None:
    report = copied(KEPT, tmp_path)
    known = provenance.load(report / "evidence")
    (name, claim), *_ = started.started(kept_study()).items()
    began = {name: claim.model_copy(update={"bound": then})} if then else None
    run = known.run.model_copy(update={"claims": began})
    provenance.save(report / "evidence", run, list(known.cells), known.tables)
    found = remarks(KEPT.parent, "moved-bound", (report,))
    assert [remark.rule for remark in found] == ["moved-bound"] * told


def test_remarks_come_in_the_order_of_their_lines(tmp_path: Path) -> None:
    folder = written(tmp_path, GOOD + ADVICE)
    told = lint.review(Study.read(manifest.load(folder)))
    assert [remark.rule for remark in told] == ["no-rival", "no-range"]
    assert str(told[0]).startswith(f"{folder / 'problem.yaml'}:6: no-rival: ")


def test_what_a_template_prints_is_found_in_its_place() -> None:
    text = "{% set x = 1 %}\nOne.\n{% if x %}Two.{% endif %} Three.\n"
    assert list(template.printed(text, allowed="no:")) == [(2, "One."), (3, "Two."), (3, "Three.")]


@pytest.mark.parametrize("among", ["manifests", pytest.param("reports", marks=pytest.mark.slow)])
def test_the_committed_studies_have_no_remarks(among: str) -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    for problem in manifest.load_all(ROOT / "problems")[0]:
        name = problem.folder.name
        reports = [each for each in COMMITTED if each.parent.name == name and among == "reports"]
        study = Study.read(problem, tuple(reports), glossary)
        assert list(map(str, lint.review(study))) == []


def test_each_rule_is_in_the_table_of_rules() -> None:
    page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    table = page.partition("| rule |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == list(lint.RULES)
