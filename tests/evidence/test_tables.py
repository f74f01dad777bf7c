"""Tables are made of whatever readers give."""

from harness.evidence.tables import frame


def test_a_lone_surrogate_becomes_another_character() -> None:
    table = frame("ranges", {"name": ["a\ud800b", None, "é"], "thread": [1, 2, 3]})
    assert table["name"].to_list() == ["a?b", None, "é"]
    assert table["thread"].to_list() == [1, 2, 3]
