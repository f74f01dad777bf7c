"""Tables on narrow terminals: numbers and words stay whole as long as they can."""

import pytest

from harness.cli import output
from harness.cli.layout import Column, middle, widths

NAME = "vectorized_elementwise_kernel"


def columns(*texts: tuple[str, list[str]]) -> list[Column]:
    return [Column(head, cells, all(cell[:1].isdigit() for cell in cells)) for head, cells in texts]


def test_what_fits_keeps_its_width() -> None:
    shown = columns(("kernel", [NAME]), ("total ms", ["1.5"]))
    assert widths(shown, 60) == [len(NAME), len("total ms")]


def test_text_gives_way_between_words_before_a_word_is_shortened() -> None:
    shown = columns(("why", ["the interval is not inside the bound"]), ("name", [NAME]))
    assert widths(shown, len(NAME) + 20) == [20, len(NAME)]
    why, name = widths(shown, len(NAME) + 4)
    assert why == 8 and name == len(NAME) - 4


def test_numbers_with_units_stay_whole_where_their_heads_do_not() -> None:
    shown = columns(("reserved bytes", ["75.50 MB"]), ("awaiting", ["0 B"]), ("pool", [NAME]))
    assert widths(shown, 19) == [8, 3, 8]
    assert sum(widths(shown, 5)) == 8 + 3 + 8  # narrower than numbers: nothing more gives way


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        (NAME, 11, "vecto…ernel"),
        ("as it is", 4, "as it is"),
        (f"a {NAME} b", 5, "a ve…el b"),
        ("two\nlinesaretoolong", 6, "two\nlin…ng"),
    ],
)
def test_a_long_word_loses_its_middle(text: str, width: int, shown: str) -> None:
    assert middle(text, width) == shown


@pytest.mark.parametrize("width", [44, 60, 80, 200])
def test_a_printed_table_is_as_wide_as_the_terminal_and_no_name_is_cut_into_letters(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [(NAME, "1,024.50", "12.58 MB", "the host launches"), (NAME[::-1], "7", "1 B", "")]
    output.table(("kernel", "median µs", "size", "why"), rows)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    (first,) = (line for line in lines if "1,024.50" in line)
    assert "12.58 MB" in first
    assert first.split()[0] in (NAME, *(middle(NAME, size) for size in range(8, len(NAME))))


def test_whole_names_go_on_in_the_next_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    output.table(("kernel", "n"), [(NAME, "1")], whole=True)
    text = capsys.readouterr().out
    assert "…" not in text
    assert NAME in "".join(line.split(" 1 ")[0].strip() for line in text.splitlines()[-3:])
