"""A manifest means the same whether PyYAML has libyaml or not."""

from pathlib import Path

import pytest
import yaml

from harness.ground.errors import ManifestError
from harness.problem import located_yaml
from tests.support.manifests import GOOD

_MORE = GOOD + 'more: &a {x: [1, "t\\u00e9"], y: 0.5}\nagain: *a\ntext: |\n  one\n   two\n'


def _said(path: Path) -> object:
    try:
        said = located_yaml.read(path)
        return said.data, said.marks, said.mistakes.by_place
    except ManifestError as error:
        return str(error)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize(
    "text",
    [
        _MORE,
        _MORE.replace("title:", "title:\t", 1),
        _MORE.replace("[1,", "[a?b, {c::d}, 1,"),
        _MORE.replace("[1,", "[a::b c, {c::}, ::d, 1,"),
        _MORE.replace("text: |", "label: a::b, c::d\ntext: |"),
        _MORE.replace("text: |", "text: |#"),
        _MORE.replace("more: &a", "more: !map &a"),
        _MORE.replace("again: *a", "again: *b"),
        _MORE.replace("summary", "\ufeffsummary", 1),
        _MORE.replace("text: |\n", "text: |\r\n"),
    ],
)
def test_libyaml_changes_nothing(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "problem.yaml"
    path.write_bytes(text.encode())
    first = _said(path)
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert _said(path) == first
