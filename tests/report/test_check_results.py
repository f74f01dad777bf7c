"""A check as continuous integration reads it, by parsers that are not ours."""

from xml.etree import ElementTree

import pytest

from harness.report import check_results
from harness.report.check_results import Result

RESULTS = [
    Result("stack.slow", "time", "failed", 'worse: <b> & "quoted"\x07, 50 % more\nand: so'),
    Result("stack.fast", "time", "passed", "not told apart: 1 ms, was 1 ms"),
    Result("claims", "undecided", "skipped", "inconclusive"),
]


def test_junit_holds_every_result_and_counts_them() -> None:
    suite = ElementTree.fromstring(check_results.junit(RESULTS, "1-example"))[0]  # noqa: S314
    assert suite.attrib == {"name": "1-example", "tests": "3", "failures": "1", "skipped": "1"}
    cases = {(case.get("classname"), case.get("name")): case for case in suite}
    failure = cases["stack.slow", "time"].find("failure")
    assert failure is not None
    assert '<b> & "quoted"�, 50 % more' in failure.attrib["message"]
    assert cases["claims", "undecided"].find("skipped") is not None
    assert [case.find("failure") for case in suite][1:] == [None, None]


def test_an_annotation_is_one_line_for_each_failure() -> None:
    (line,) = check_results.annotations(RESULTS, "1-example")
    assert line.startswith("::error title=1-example%3A stack.slow time::worse: ")
    assert line.endswith("50 %25 more%0Aand: so")


@pytest.mark.parametrize("name", ["a:b", "a,b", "a\nb", "a%b"])
def test_no_name_ends_an_annotations_title(name: str) -> None:
    (line,) = check_results.annotations([Result(name, name, "failed", "why")], "")
    assert line.endswith("::why")
    title = line.removeprefix("::error title=").removesuffix("::why")
    assert not set(title) & set(":,\n")
