"""Folders of captures: files of one kind stand beside each other."""

import pytest

from harness.analysis.diff import pairs
from harness.evidence.subject import CaptureFiles
from harness.ground.errors import UsageError
from tests.support.subjects import subject


def folder(label: str, *files: tuple[str, str]) -> CaptureFiles:
    """Make a folder of files, each a name and a kind."""
    subjects = [subject(f"{label}/{name}", {}, kind) for name, kind in files]
    return CaptureFiles(label, tuple(subjects))


def labels(known: pairs.Pairs) -> list[tuple[str, str]]:
    return [(first.label, second.label) for first, second in known.both]


def test_one_file_a_kind_is_one_subject_whatever_the_names() -> None:
    a = folder("a", ("x.json", "torch"), ("x.sqlite", "nsys"))
    b = folder("b", ("y.json", "torch"), ("y.sqlite", "nsys"))
    known = pairs.paired(a, b)
    assert labels(known) == [("a", "b")]
    assert [list(side.captures) for side in known.both[0]] == [["nsys", "torch"]] * 2
    assert (known.only_a, known.only_b) == ((), ())


def test_files_of_one_kind_are_paired_by_name_and_the_others_are_named() -> None:
    a = folder("a", ("rank0", "torch"), ("rank1", "torch"), ("m.pickle", "memory"))
    b = folder("b", ("rank1", "torch"), ("rank2", "torch"), ("n.pickle", "memory"), ("s", "nsys"))
    known = pairs.paired(a, b)
    assert labels(known) == [("a/m.pickle", "b/n.pickle"), ("a/rank1", "b/rank1")]
    assert (known.only_a, known.only_b) == (("a/rank0",), ("b/rank2", "b/s"))


def test_folders_with_nothing_to_pair_are_refused() -> None:
    a, b = folder("a", ("x", "torch"), ("z", "torch")), folder("b", ("y", "torch"))
    with pytest.raises(UsageError, match="kind and name"):
        pairs.paired(a, b)
