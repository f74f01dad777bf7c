"""The records of where evidence comes from: old ones are read, damaged ones are named."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from harness.evidence import provenance, shared
from harness.ground import files
from harness.ground.errors import CaptureError, EvidenceError, StoreError
from tests.support import reports
from tests.support.origins import origin
from tests.support.pages import cell_provenance

PUBLISHED = [report / "evidence" for report in reports.COMMITTED]
TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def fits(value: Any, schema: dict[str, Any], known: dict[str, Any]) -> bool:
    """Return whether ``value`` is what a JSON schema of pydantic's asks for."""
    if "$ref" in schema:
        return fits(value, known[schema["$ref"].rpartition("/")[2]], known)
    if "anyOf" in schema:
        return any(fits(value, option, known) for option in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kind = schema.get("type")
    if kind == "array":
        return isinstance(value, list) and all(fits(it, schema["items"], known) for it in value)
    if kind == "object":
        if not isinstance(value, dict) or not set(schema.get("required", ())) <= set(value):
            return False
        others = schema.get("additionalProperties", True)
        return all(
            fits(it, schema.get("properties", {}).get(key, others), known)
            for key, it in value.items()
            if key in schema.get("properties", {}) or isinstance(others, dict)
        )
    return kind is None or isinstance(value, TYPES[kind])


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.parts[-3])
def test_every_published_report_is_read_with_nothing_lost(folder: Path, tmp_path: Path) -> None:
    written = json.loads((folder / provenance.FILE).read_text())
    known = provenance.load(folder)
    assert known.gpus == {cell["cell"]: cell["gpu"] for cell in written["cells"]}
    assert [one.started for one in known.run.origins] == [
        written["run"]["started"],
        *(one["started"] for one in written["run"]["resumed"]),
    ]
    provenance.write(tmp_path, known)
    assert provenance.load(tmp_path) == known
    again = json.loads((tmp_path / provenance.FILE).read_text())
    for old, new in zip(written["cells"], again["cells"], strict=True):
        assert {key: new[key] for key in old if key != "seen"} == {
            key: value for key, value in old.items() if key != "seen"
        }
        assert {key: new["seen"][key] for key in old["seen"]} == old["seen"]


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.parts[-3])
def test_the_exported_schema_fits_every_published_report(folder: Path) -> None:
    schema = provenance.EvidenceProvenance.model_json_schema()
    written = json.loads((folder / provenance.FILE).read_text())
    written["cells"] = shared.restored(written["cells"], written["shared"])
    assert fits(written, schema, schema["$defs"])
    written["cells"][0]["wall_s"] = "long"
    assert not fits(written, schema, schema["$defs"])


def test_unknown_keys_survive_reading_and_writing(tmp_path: Path) -> None:
    written = json.loads((PUBLISHED[0] / provenance.FILE).read_text())
    written["run"]["weather"] = {"sky": "clear"}
    files.write_json(tmp_path / provenance.FILE, written)
    known = provenance.load(tmp_path)
    provenance.save(tmp_path, known.run, list(known.cells), known.tables)
    again = json.loads((tmp_path / provenance.FILE).read_text())
    assert again["run"]["weather"] == {"sky": "clear"}


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        (("run", "target", "gpu", "driver"), 580, "run.target.gpu.driver"),
        (("cells", 3, "wall_s"), "12", "cells.3.wall_s"),
        (("cells", 3, "seen", "samples"), None, "cells.3.seen.samples"),
        (("cells",), {}, "cells"),
        (("cells", 3, "params"), 10_000, "cells.3.params"),
        (("cells", 3, "packages"), -1, "cells.3.packages"),
        (("cells", 3, "command", 0), True, "cells.3.command.0"),
        (("shared",), {}, "cells.0.params"),
    ],
)
def test_a_wrong_type_is_one_line_with_file_and_key(
    tmp_path: Path, keys: tuple[str | int, ...], value: object, named: str
) -> None:
    written = json.loads((PUBLISHED[0] / provenance.FILE).read_text())
    holder = written
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = value
    files.write_json(tmp_path / provenance.FILE, written)
    with pytest.raises(EvidenceError) as error:
        provenance.load(tmp_path)
    assert error.value.exit_code == 2
    assert str(error.value).startswith(f"{tmp_path / provenance.FILE}: {named}: ")
    assert "\n" not in str(error.value)


def test_version_1_in_which_nothing_is_shared_is_read(tmp_path: Path) -> None:
    known = provenance.load(PUBLISHED[0])
    files.write_json(tmp_path / provenance.FILE, known.as_json() | {"version": 1})
    assert provenance.load(tmp_path) == known.model_copy(update={"version": 1})


def test_what_cells_share_stands_once(tmp_path: Path) -> None:
    known = provenance.load(PUBLISHED[0])
    provenance.save(tmp_path, known.run, list(known.cells), known.tables)
    text = (tmp_path / provenance.FILE).read_text()
    shared = [json.dumps(value) for value in json.loads(text)["shared"]]
    assert len(shared) == len(set(shared))
    left = {json.dumps(cell["artifacts"]) for cell in known.as_json()["cells"]}  # seldom alike
    alone = [
        json.dumps(cell[name])
        for cell in known.as_json()["cells"]
        for name in ("params", "settings", "packages", "command")
    ]
    assert 2 * sum(len(each) for each in shared if each not in left) < sum(map(len, alone))
    for argument in {argument for cell in known.cells for argument in cell.command}:
        assert text.count(f",\n{json.dumps(argument)}") <= 1
    assert len(text.splitlines()) > len(known.cells)  # a difference shows the cells that changed


def test_small_cells_do_not_grow_to_more_than_memory_bears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "_MOST_LETTERS", 1000)
    written = json.loads((PUBLISHED[0] / provenance.FILE).read_text())
    files.write_json(tmp_path / provenance.FILE, written)
    with pytest.raises(EvidenceError, match=r"cells\.\d+\.\w+.*: Input should be"):
        provenance.load(tmp_path)


def test_a_key_that_is_missing_is_named(tmp_path: Path) -> None:
    files.write_json(tmp_path / provenance.FILE, {"run": {"version": 1, "id": "1"}, "cells": []})
    with pytest.raises(EvidenceError, match=r"provenance\.json: run\.problem: Field required"):
        provenance.load(tmp_path)


def test_no_json_and_no_file_and_a_later_version_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no evidence here"):
        provenance.load(tmp_path)
    (tmp_path / provenance.FILE).write_text("{")
    with pytest.raises(StoreError, match="not readable as JSON"):
        provenance.load(tmp_path)
    written = json.loads((PUBLISHED[0] / provenance.FILE).read_text())
    files.write_json(tmp_path / provenance.FILE, written | {"version": 99})
    with pytest.raises(EvidenceError, match="version 99, this harness reads 2"):
        provenance.load(tmp_path)


@pytest.mark.parametrize(
    ("calls", "is_short", "unfinished"),
    [
        ([("short", "a")], True, None),
        ([("short", "ab")], True, (1, 2)),
        ([("short", "a"), ("short", "ac")], True, (1, 2)),
        ([("short", "ad"), ("full", "abc")], False, (1, 3)),
        ([("full", "abc"), ("selected", "d")], False, (1, 4)),
        ([("full", "abc"), ("full", "a")], False, None),  # the manifest now asks for less
        ([("full", "a"), ("rounds", "ab")], False, None),  # further rounds, stopped early
        ([("full", "ac"), ("rounds", "abc")], False, (1, 2)),
        ([("rounds", "ab")], False, (1, 2)),
        ([("unknown", "")], False, None),  # of an earlier harness, which recorded no plan
    ],
)
def test_a_run_was_to_have_what_its_calls_planned_since_the_last_full_one(
    calls: list[tuple[str, str]], is_short: bool, unfinished: tuple[int, int] | None
) -> None:
    first, *rest = (
        origin(
            arguments={
                "short": asked == "short",
                "full": asked == "full",
                "rounds": 5 if asked == "rounds" else None,
                "planned": list(planned),
            }
        )
        for asked, planned in calls
    )
    run = provenance.Provenance.model_validate(
        {**dict(first), "version": 1, "id": "now", "resumed": rest}
    )
    assert run.is_short == is_short
    ran = provenance.EvidenceProvenance(run=run, cells=(cell_provenance("a", None),))
    assert ran.unfinished == unfinished


def test_a_run_of_jobs_has_the_claims_that_it_submitted_and_the_state_that_ran() -> None:
    def call(bound: float, script: str) -> provenance.Origin:
        claim = {"statement": "?", "bound": {"below": bound}, "definition": "01"}
        return origin(claims={"faster": claim}, state={"repro.py": script})

    submitted, first, second = call(1, "01"), call(2, "02"), call(3, "03")
    run = provenance.Provenance.model_validate({**dict(submitted), "version": 1, "id": "now"})
    whole = run.with_jobs([first, second])
    assert [each.claims for each in whole.origins] == [submitted.claims, second.claims]
    assert [each.state for each in whole.origins] == [first.state, second.state]


def test_a_record_cannot_be_changed() -> None:
    known = provenance.load(PUBLISHED[0])
    with pytest.raises(ValidationError, match="frozen"):
        known.run.id = "another"
