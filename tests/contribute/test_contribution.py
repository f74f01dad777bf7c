"""A report for a pull request names no machine, and nothing of a stranger's is trusted."""

import gzip
import io
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard

from harness.contribute import pack, receive
from harness.contribute.private import Private
from harness.evidence import capture_list, provenance
from harness.evidence import tables as evidence
from harness.ground import files
from harness.ground.errors import UsageError
from harness.report import publish
from tests.support.reports import COMMITTED, KEPT, copied, kept_study

PROBLEMS = KEPT.parent.parent
UUID = re.compile(rb"GPU-[0-9a-f]{8}-[0-9a-f-]{27}")
SENTENCE = "/home/alice/study on alices-box"
TELLING = "telling"


def note(report: Path, name: str, text: str) -> capture_list.KeptCapture:
    """Write a capture of this text into a report and describe it."""
    path = report / "captures" / f"{name}.zst"
    path.write_bytes(zstandard.compress(text.encode()))
    known = {"sha256": files.sha256(path), "bytes": path.stat().st_size}
    of_artifact = {"artifact_sha256": known["sha256"], "artifact_bytes": known["bytes"]}
    return capture_list.KeptCapture.model_validate(
        {"name": path.name, "in_git": True, "cell": "a", "artifact": name, **known, **of_artifact}
    )


@pytest.fixture(scope="module")
def telling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kept report, with a user's and a host's name in its evidence and in a capture."""
    report = copied(KEPT, tmp_path_factory.mktemp("report"))
    folder = report / "evidence"
    tables = {name: table for name, table in evidence.load(folder).items() if table.height}
    reason = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(SENTENCE)).otherwise(pl.col("reason"))
    tables["cells"] = tables["cells"].with_columns(reason.alias("reason"))
    known = provenance.load(folder)
    tool = provenance.ToolRecord(path="/home/alice/bin/nsys", version="1")
    target = known.run.target.model_copy(update={"tools": {"nsys": tool}})
    job = provenance.Job(system="slurm", id="7", node="alices-box")
    run = known.run.model_copy(update={"target": target, "job": job})
    provenance.save(folder, run, list(known.cells), evidence.save(folder, tables))
    notes = (note(report, "plain", "nothing"), note(report, TELLING, SENTENCE))
    capture_list.write(folder, capture_list.CaptureList(captures=notes))
    publish.render(kept_study(), report)
    return report


@pytest.fixture(scope="module")
def archive(telling: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "report.tar.gz"
    packed = pack.pack(kept_study(), telling, path, Private(("alices-box",)))
    assert packed.left_out == (f"{TELLING}.zst",)
    return path


def test_an_archive_replaces_an_archive_of_its_kind_and_nothing_else(
    telling: Path, archive: Path, tmp_path: Path
) -> None:
    here = Path(shutil.copy(archive, tmp_path))
    pack.pack(kept_study(), telling, here, Private())
    trace, text = tmp_path / "trace.json.gz", tmp_path / "notes.txt"
    trace.write_bytes(gzip.compress(b"{}"))
    text.write_text("mine")
    for taken in (trace, text):
        with pytest.raises(UsageError, match="is not an archive of harness contribute"):
            pack.pack(kept_study(), telling, taken, Private())


@pytest.fixture
def unpacked(archive: Path, tmp_path: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.glob("reports/*/*")
    return folder


def contents(folder: Path) -> bytes:
    """Return the content of every file, unpacked, and every text of the evidence."""
    found = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in sorted((folder / "captures").glob("*.zst")):
        found.append(zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read())
    for table in evidence.load(folder / "evidence").values():
        found.append(table.write_csv().encode())
    return b"\n".join(found)


def test_nothing_of_it_names_the_machine_and_gpus_are_told_apart(
    telling: Path, unpacked: Path
) -> None:
    before, after = contents(telling), contents(unpacked)
    assert b"alice" in before
    assert b"alice" not in after
    uuids = {*UUID.findall(before)}, {*UUID.findall(after)}
    assert uuids[0] and not uuids[0] & uuids[1]
    assert len({*provenance.load(unpacked / "evidence").gpus.values()}) == len(
        {*provenance.load(telling / "evidence").gpus.values()}
    )
    known = provenance.load(unpacked / "evidence")
    assert known.run.job is None
    assert not any(cell.command for cell in known.cells)
    assert str(pl.DataFrame(evidence.load(unpacked / "evidence")["samples"])) == str(
        evidence.load(telling / "evidence")["samples"]
    )


def test_what_was_packed_is_accepted_and_judged(archive: Path, unpacked: Path) -> None:
    for source in (archive, unpacked):
        received = receive.check(source, PROBLEMS)
        assert received.faults == ()
        assert received.verdicts == "1 of 1 tested claims reproduced"


def test_packing_again_gives_the_same_bytes(telling: Path, archive: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar.gz"
    pack.pack(kept_study(), telling, again, Private(("alices-box",)))
    assert again.read_bytes() == archive.read_bytes()


def test_the_report_that_still_names_a_machine_is_not_accepted(telling: Path) -> None:
    faults = "\n".join(receive.check(telling, PROBLEMS).faults)
    assert "provenance.json names '/home/alice'" in faults
    assert "provenance.json names the job of a batch system" in faults
    assert "cells.parquet, reason, names '/home/alice'" in faults


def change_page(report: Path) -> None:
    (report / "README.md").write_text((report / "README.md").read_text() + "It is 9× faster.\n")


def change_figure(report: Path) -> None:
    (report / "figures").mkdir(exist_ok=True)
    (report / "figures" / "mine.svg").write_text("<svg><script/></svg>")


def change_table(report: Path) -> None:
    path = report / "evidence" / "samples.parquet"
    path.write_bytes(path.read_bytes()[:-9] + bytes(9))


def change_capture(report: Path) -> None:
    first = min((report / "captures").glob("*"))
    first.write_bytes(first.read_bytes() + b"x")


def unlisted_capture(report: Path) -> None:
    (report / "captures" / "mine.bin").write_bytes(b"x")


def other_file(report: Path) -> None:
    (report / "worklog.md.j2").write_text("{{ w }}")


def link(report: Path) -> None:
    (report / "figures").mkdir(exist_ok=True)
    (report / "figures" / "a.svg").symlink_to("/etc/passwd")


def linked_folder(report: Path) -> None:
    shutil.rmtree(report / "captures")
    (report / "captures").symlink_to("/etc")


def other_target(report: Path) -> None:
    report.rename(report.with_name("other"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (change_page, "README.md is not what its evidence renders to"),
        (change_figure, "figures/mine.svg is not what its evidence renders to"),
        (change_table, "samples.parquet"),
        (change_capture, "captures/.*: is not the capture that was published"),
        (unlisted_capture, "captures/mine.bin: the report's captures.json lists no such capture"),
        (other_file, "'worklog.md.j2': no file of a report"),
        (link, "'figures/a.svg': a symbolic link|'figures/a.svg': a link"),
        (linked_folder, "'captures': a symbolic link|'captures': a link"),
        (other_target, "its evidence was made on 'nvidia-h200'"),
    ],
)
def test_what_a_stranger_changed_is_told(
    change: Callable[[Path], None], told: str, unpacked: Path
) -> None:
    change(unpacked)
    (folder,) = unpacked.parent.iterdir()
    faults = receive.check(folder, PROBLEMS).faults
    assert any(re.search(told, fault) for fault in faults), faults


def tar(path: Path, *members: tuple[str, bytes, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(content), "/etc/passwd"
            packed.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../../x", tarfile.REGTYPE),
        ("/etc/x", tarfile.REGTYPE),
        ("reports/a/b/../../../README.md", tarfile.REGTYPE),
        ("reports/../../README.md", tarfile.REGTYPE),
        ("reports/../b/README.md", tarfile.REGTYPE),
        ("reports/a/./README.md", tarfile.REGTYPE),
        ("reports/a/b/captures/..", tarfile.REGTYPE),
        ("reports/a//README.md", tarfile.REGTYPE),
        ("reports/a/b/README.md/", tarfile.REGTYPE),
        ("reports/a/b/README.md", tarfile.CHRTYPE),
        ("reports/a/b/README.md", tarfile.BLKTYPE),
        ("reports/a/b/README.md", tarfile.DIRTYPE),
        ("reports/a/b/README.md", tarfile.CONTTYPE),
        ("reports/a/b/README.md", tarfile.GNUTYPE_SPARSE),
        ("reports/a/b/README.md", tarfile.GNUTYPE_LONGLINK),
        ("reports/a/b/README.md", tarfile.XHDTYPE),
        ("reports/a/b/README.md", tarfile.XGLTYPE),
        ("reports/a/b/problem.yaml", tarfile.REGTYPE),
        ("reports/a/b/README.md", tarfile.SYMTYPE),
        ("reports/a/b/README.md", tarfile.LNKTYPE),
        ("reports/a/b/README.md", tarfile.FIFOTYPE),
        ("reports/a/b/README.md\n", tarfile.REGTYPE),
    ],
)
def test_an_archive_of_anything_else_is_refused(
    name: str, kind: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    made = tar(tmp_path / "inner" / "x.tar.gz", (name, kind, b""))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "inner"))
    with pytest.raises(UsageError, match="no file of a report"):
        receive.check(made, PROBLEMS)
    assert [path.name for path in tmp_path.rglob("*")] == ["inner", "x.tar.gz"]


def test_an_archive_holds_one_report(tmp_path: Path) -> None:
    pages = [(f"reports/a/{target}/README.md", tarfile.REGTYPE, b"x") for target in "bc"]
    with pytest.raises(UsageError, match="holds 2 reports"):
        receive.check(tar(tmp_path / "x.tar.gz", *pages), PROBLEMS)
    (tmp_path / "y.tar.gz").write_bytes(b"no archive")
    with pytest.raises(UsageError, match="no contribution"):
        receive.check(tmp_path / "y.tar.gz", PROBLEMS)


def header(name: str, kind: bytes, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def test_a_file_of_an_archive_stands_there_once(tmp_path: Path) -> None:
    page = ("reports/a/b/README.md", tarfile.REGTYPE, b"x")
    with pytest.raises(UsageError, match=r"holds reports/a/b/README\.md twice"):
        receive.check(tar(tmp_path / "x.tar.gz", page, page), PROBLEMS)


LONG = "reports/a/b/captures/" + 120 * "x"


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ([header("", tarfile.GNUTYPE_LONGNAME, 6 << 30)], "no file of a report"),
        ([header("", tarfile.GNUTYPE_LONGNAME, 0)] * 3000, "no file of a report"),
        ([header("", tarfile.XHDTYPE, 1 << 40)], "no file of a report"),
        ([header("reports/a/b/README.md", tarfile.REGTYPE, 6 << 30)], "more than 2000 files"),
        ([header("reports/a/b/README.md", tarfile.REGTYPE, -512)], "no file of a report"),
        ([header("reports/a/b/README.md", tarfile.REGTYPE, 9)], "no contribution: "),
        ([header(LONG, tarfile.REGTYPE, 0)], "a/b"),
        ([b"\xff" * tarfile.BLOCKSIZE], "no contribution: "),
    ],
)
def test_a_header_is_believed_nothing(headers: list[bytes], told: str, tmp_path: Path) -> None:
    made = tmp_path / "x.tar.gz"
    made.write_bytes(gzip.compress(b"".join(headers)))
    if told == "a/b":  # a long name is a name
        assert receive.check(made, PROBLEMS).folder == told
        return
    with pytest.raises(UsageError, match=told):
        receive.check(made, PROBLEMS)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive, "_MOST_BYTES", 1 << 20)
    bomb = tar(tmp_path / "x.tar.gz", ("reports/a/b/README.md", tarfile.REGTYPE, bytes(2 << 20)))
    with pytest.raises(UsageError, match="1 MiB"):
        receive.check(bomb, PROBLEMS)


def test_a_report_that_is_not_committed_is_not_packed(telling: Path, tmp_path: Path) -> None:
    partial = tmp_path / "nvidia-h200.partial"
    shutil.copytree(telling, partial)
    with pytest.raises(UsageError, match="a partial report"):
        pack.pack(kept_study(), partial, tmp_path / "x.tar.gz", Private())
    known = provenance.load(telling / "evidence")
    target = known.run.target.model_copy(update={"device": "cpu"})
    run = known.run.model_copy(update={"target": target})
    provenance.save(partial / "evidence", run, list(known.cells), known.tables)
    whole = partial.rename(tmp_path / "cpu")
    with pytest.raises(UsageError, match="of a CPU"):
        pack.pack(kept_study(), whole, tmp_path / "x.tar.gz", Private())
    assert not (tmp_path / "x.tar.gz").exists()


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("/home/bob/x.py:3", "~/x.py:3"),
        ("in /root/.cache and /Users/bob", "in ~/.cache and ~"),
        ("/opt/env/lib/python3.12/site-packages/torch/a.py", "site-packages/torch/a.py"),
        ("$CHECKOUT/root/x", "$CHECKOUT/root/x"),
        ("the roots of bobs", "the roots of bobs"),
        ("bob@box", "(left out)@(left out)"),
    ],
)
def test_names_go_and_the_rest_stays(text: str, cleaned: str) -> None:
    private = Private(("bob", "box"))
    assert private.cleaned(text) == cleaned
    assert list(private.found(cleaned)) == []


def test_this_machine_s_names_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "h200-7.lab.example.org")
    monkeypatch.setattr("getpass.getuser", lambda: "carol")
    assert Private.here().words == ("h200-7.lab.example.org", "h200-7", "carol")
    assert Private.here(public=("nvidia carol",)).words[-1] == "h200-7"
    monkeypatch.setattr("getpass.getuser", lambda: "root")
    assert "root" not in Private.here().words


@pytest.mark.slow
@pytest.mark.parametrize("report", COMMITTED, ids=lambda report: report.parent.name)
def test_every_committed_report_could_be_contributed(report: Path) -> None:
    from tests.support.paths import ROOT

    # A study may show what it has of a run that is to be finished; its page and its card say so.
    faults = receive.check(report, ROOT / "problems").faults
    assert [fault for fault in faults if not fault.startswith("unfinished: ")] == []
