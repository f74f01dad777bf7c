"""Wrong manifests: each is told with file, line, key and remedy, all at once and each once.

wrong_manifests.txt holds one mistake a block: what is taken out of a whole manifest ("-"), what
is put there ("+"), and what has to be told ("="). ⟨A×201⟩ stands for 201 letters A.
"""

import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.ground.errors import HarnessError, ManifestError, UsageError
from harness.problem import manifest
from harness.problem.plan import Selected, plan
from tests.support.battery import WHOLE, Figures, rounds, seeded
from tests.support.paths import ROOT
from tests.support.wrong_manifests import BASE, example

SEED = seeded(20)
LINE = re.compile(r"line (\d+): .+ \(.+\)", re.DOTALL)


class Mistake(NamedTuple):
    """One replacement in BASE, and the lines that tell what is wrong then."""

    old: str
    new: str
    told: tuple[str, ...]

    def made(self, text: str) -> str:
        """Return a manifest with this mistake in it."""
        whole = f"{self.old}\n"
        is_line = not self.new and f"\n{whole}" in f"\n{text}"
        assert self.old in text
        return text.replace(whole if is_line else self.old, self.new, 1)


def mistakes() -> Iterator[Mistake]:
    """Yield each block of wrong_manifests.txt."""
    text = Path(__file__).with_name("wrong_manifests.txt").read_text(encoding="utf-8")
    whole = re.sub(r"⟨(.)×(\d+)⟩", lambda found: found[1] * int(found[2]), text)
    for block in whole.rstrip("\n").split("\n\n"):
        rows = block.split("\n")
        old, new, told = ([row[2:] for row in rows if row.startswith(f"{mark} ")] for mark in "-+=")
        yield Mistake("\n".join(old), "\n".join(new), tuple(told))


def refusal(folder: Path) -> str:
    """Return what ``load`` says of a folder's manifest, after the file's name."""
    with pytest.raises(ManifestError) as caught:
        manifest.load(folder)
    told = str(caught.value)
    assert "\n" not in told
    file = f"{folder / 'problem.yaml'}: "
    assert told.startswith(file)
    return told.removeprefix(file)


def test_each_mistake_is_told_in_full(tmp_path: Path, figures: Figures) -> None:
    assert manifest.load(example(tmp_path, BASE)).number == 9
    tried = list(mistakes())
    for mistake in tried:
        folder = example(tmp_path, mistake.made(BASE))
        assert refusal(folder).split("; line ") == [
            line.removeprefix("line ") if number else line
            for number, line in enumerate(mistake.told)
        ]
        assert all(LINE.fullmatch(line) for line in mistake.told)
    figures(tried=len(tried), told_in_full=len(tried))
    assert len(tried) >= 120


def test_mistakes_are_told_all_at_once_and_each_once(tmp_path: Path, figures: Figures) -> None:
    """Of mistakes in different entries, each is told as if it were alone."""
    chance = random.Random(SEED)
    alone = [
        mistake
        for mistake in mistakes()
        if len(mistake.told) == 1
        and mistake.new
        and mistake.old.count("\n") == mistake.new.count("\n")
        and _entry(mistake)
    ]
    tried = rounds(300)
    for _ in range(tried):
        text, made = BASE, dict[tuple[str, ...], Mistake]()
        for mistake in chance.sample(alone, 8):
            if _entry(mistake) not in made and mistake.old in text:
                text = mistake.made(text)
                made[_entry(mistake)] = mistake
        expected = sorted((line for each in made.values() for line in each.told), key=_number)
        told = re.split(r"; (?=line \d+: )", refusal(example(tmp_path, text)))
        assert sorted(told, key=lambda line: (_number(line), line)) == sorted(
            expected, key=lambda line: (_number(line), line)
        )
    figures(sets=tried, mistakes_to_choose_from=len(alone))


def _number(line: str) -> int:
    return int(line.split(":")[0].removeprefix("line "))


def _entry(mistake: Mistake) -> tuple[str, ...]:
    """Return the entry that a mistake is in; empty where others hang on it or it is no YAML."""
    key = mistake.told[0].split(": ")[1]
    parts = tuple(key.split("."))[:2]
    hidden = mistake.told[0].split(": ")[-1].startswith(("while", "found", "nested", "mapping"))
    leads_elsewhere = parts[0] in ("claims", "card", "captures") or "no " in mistake.told[0][:60]
    return () if hidden or leads_elsewhere or "duplicate" in mistake.told[0] else parts


def nothing(path: Path) -> None:
    """Leave no file."""


def fifo(path: Path) -> None:
    """Leave a FIFO, which nobody writes."""
    os.mkfifo(path)


def bomb(path: Path) -> None:
    """Leave aliases that expand to 10¹² values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    path.write_text("\n".join(lines))


def ladder(path: Path) -> None:
    """Leave aliases that nest, each in the next."""
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 300))]
    path.write_text("\n".join(lines))


def content(text: str | bytes) -> Callable[[Path], object]:
    """Return what leaves a file of this content."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return lambda path: path.write_bytes(data)


@pytest.mark.parametrize(
    ("leave", "told"),
    [
        (nothing, "no such file (write the manifest there)"),
        (fifo, "a FIFO, not a regular file (write the manifest there)"),
        (Path.mkdir, "a folder, not a regular file (write the manifest there)"),
        (lambda path: path.symlink_to("/dev/zero"), "a link, not a regular file (write the"),
        (lambda path: path.symlink_to(path.name), "a link, not a regular file (write the"),
        (content(""), "line 1: empty (CONTRIBUTING.md says what a manifest holds)"),
        (content("# only this\n"), "line 1: empty (CONTRIBUTING.md says"),
        (
            content("- a\n- b\n"),
            "line 1: manifest: is the list ['a', 'b'] (a manifest is a",
        ),
        (content("words"), "line 1: manifest: is the text 'words' (a manifest is a mapping"),
        (content("7"), "line 1: manifest: is the number 7 (a manifest is a mapping"),
        (content("2026-01-01"), "line 1: manifest: '2026-01-01' reads as a date (put it in"),
        (content("{}"), "line 1: baseline: is missing (write it"),
        (content("a: b\nc: \xff".encode("latin-1")), "line 2: the byte 0xff is no UTF-8 (save the"),
        (content("a: b\n\x00"), "line 2: the character 0x0 (remove it)"),
        (content("a: \ud800"), "line 1: the byte 0xed is no UTF-8 (save the file as UTF-8)"),
        (content("title: a\nx: &a [*a]"), "line 2: x: an alias to what it is a part of (write out"),
        (content("x: &a {<<: *a}"), "line 1: x: an alias to what it is a part of (write out"),
        (content("<<: [1]\ntitle: a"), "line 1: <<: merges what is no mapping (name a mapping's"),
        (bomb, "line 5: a4: too many values (at most 50000, those that aliases repeat"),
        (ladder, "line 1: a0: nested too deeply (at most 20 levels)"),
        (content("- " * 5000), "line 1: nested too deeply (at most 20 levels)"),
        (content("[" * 200_000), "line 1: nested too deeply (at most 20 levels)"),
        (content("{a: " * 5000), "line 1: nested too deeply (at most 20 levels)"),
        (content("".join(f"{' ' * n}a:\n" for n in range(600))), "line 20: a: nested too deeply"),
        (content(f"title: {'A' * 20_000_000}"), "line 1: title: the file has 20000007 bytes (at"),
        (content("a: b\n" * 60_000), "line 1: a: the file has 300000 bytes (at most 262144;"),
        (content("? " + "x" * 2000 + "\n: b"), "(choose a short name)"),
    ],
)
def test_what_is_no_manifest(tmp_path: Path, leave: Callable[[Path], object], told: str) -> None:
    folder = example(tmp_path, BASE)
    (folder / "problem.yaml").unlink()
    leave(folder / "problem.yaml")
    assert told in refusal(folder)


def crowd(section: str, entry: str) -> str:
    """Return BASE with as many more entries in a section as a manifest has room for."""
    more = "".join(
        entry.replace("N", str(number)) for number in range(min(8000, 200_000 // len(entry)))
    )
    return BASE.replace(f"\n{section}:\n", f"\n{section}:\n{more}", 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (crowd("variants", "  vN: {label: V, environment: plian}\n"), "values (at most 500)"),
        (crowd("variants", "  vN: {}\n"), "line 35: variants.v24.label: is missing"),
        (crowd("metrics", "  mN: {lable: M, uint: s}\n"), "line 37"),
        (crowd("claims", "  - {id: cN}\n"), "line 41: claims: has 8003 values (at most 500)"),
        (crowd("cases", "  N: 1\n"), "and more of that kind"),
        (BASE.replace("at: [small", "at: [small" + ", smal" * 30_000), "(at most 100)"),
        (BASE.replace("&both [slow", "&both [slow" + ", slwo" * 20_000), "and more of that kind"),
        (BASE.replace("{m: 16}", "{" + ", ".join(f"m{n}: [1]" for n in range(9_000)) + "}"), ""),
        (BASE.replace("{m: 16}", "{m: '" + "'' " * 60_000 + "'}"), "letters (at most 10000;"),
        (BASE + "#" * 250_000 + "\n" + "x: 1", "line 81: x: no such key"),
    ],
    ids=lambda value: value[:20] if len(value) < 100 else "",
)
def test_a_crowded_manifest_holds_nothing_up(tmp_path: Path, text: str, told: str) -> None:
    folder = example(tmp_path, text)
    if told:
        assert told in refusal(folder)
    else:
        assert manifest.load(folder).cases["large"].params["m7"] == [1]


@pytest.mark.parametrize(
    "name", ["draft", "9", "9-", "-9", "09-a", "9_a", "9-A", "9-a b", "9-é", "1234567-a", "٩-a"]
)
def test_a_folder_that_is_no_problem_s(tmp_path: Path, name: str) -> None:
    told = refusal(example(tmp_path, BASE, name))
    assert told == (
        f"line 1: manifest: the folder is named {name!r}"
        " (name it NUMBER-NAME, in lower-case letters, digits and '-')"
    )


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("repro.py", "line 1: manifest: no repro.py beside it (write what its cells run:"),
        ("env/packed.lock", "no file 'env/packed.lock' beside the manifest (add it, or"),
        (
            "../workloads/shared.py",
            "line 4: workloads.0: no file 'shared.py' in workloads/ (add",
        ),
    ],
)
def test_a_file_that_is_missing_or_no_file(tmp_path: Path, broken: str, told: str) -> None:
    file = example(tmp_path, BASE) / broken
    file.unlink()
    assert told in refusal(tmp_path / "9-example")
    os.mkfifo(file)
    assert told in refusal(tmp_path / "9-example")


def test_a_lock_that_is_no_text(tmp_path: Path) -> None:
    folder = example(tmp_path, BASE)
    (folder / "env" / "packed.lock").write_bytes(b"\xff\xfe")
    assert refusal(folder) == (
        "line 8: environments.packed.lock: 'env/packed.lock' is no text (write it with uv or pip)"
    )


ODD = [
    *("", "~", "[]", "{}", "[[]]", "{a: b}", "true", "no", "0", "-1", "10e400", "1.5", ".nan"),
    *("-.inf", "9" * 30, "0x10", "1:30", "2026-01-01", "!!set {a}", "!!binary aGk=", "&a b", "*a"),
    *("'", '"', "|", ">", "<<", "? a", "- a", "#", "@", "`", "%", '"\\ud800"', '"\\0"', "é", "\t"),
    *("all", "cuda", "cpu", "slow", "fast", "bound", "advice", "time@", "/", "..", "a" * 3000),
]


def mutated(text: str, chance: random.Random) -> str:
    """Return a manifest after one to three changes of lines, values or characters."""
    for _ in range(chance.randint(1, 3)):
        lines = text.split("\n")
        at = chance.randrange(len(lines))
        match chance.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, chance.choice(lines))
            case 2:
                lines[at] = chance.choice("  \t-") + lines[at]
            case 3:
                lines[at] = lines[at][2:]
            case 4:
                key, colon, _ = lines[at].partition(":")
                lines[at] = f"{key}{colon} {chance.choice(ODD)}"
            case 5:
                words = re.split(r"(\w+)", lines[at])
                words[chance.randrange(len(words))] = chance.choice(ODD)
                lines[at] = "".join(words)
            case 6:
                place = chance.randrange(len(lines[at]) + 1)
                lines[at] = (
                    lines[at][:place]
                    + chance.choice("{}[],:&*#?|>'\"%@`!-\x07é")
                    + lines[at][place:]
                )
            case _:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
        text = "\n".join(lines)
    return text


@pytest.mark.parametrize("of", ["example", "committed"])
def test_a_mutated_manifest_is_read_or_refused_in_one_line(
    tmp_path: Path, of: str, figures: Figures
) -> None:
    """What is read is planned as well: no value of it stops a plan but for want of cells."""
    chance = random.Random(SEED)
    texts = [(example(tmp_path, BASE), BASE)]
    if of == "committed":
        texts = [(path.parent, path.read_text()) for path in (ROOT / "problems").glob("*/*.yaml")]
    tried, refused = rounds(1200 if of == "example" else 120), 0
    for _ in range(tried):
        folder, text = chance.choice(texts)
        beside = _mirrored(tmp_path, folder) if of == "committed" else folder
        (beside / "problem.yaml").write_text(mutated(text, chance), encoding="utf-8")
        try:
            problem = manifest.load(beside)
        except ManifestError as error:
            refused += 1
            told = str(error).removeprefix(f"{beside / 'problem.yaml'}: ")
            assert "\n" not in told
            assert all(
                LINE.fullmatch(line) for line in re.split(r"; (?=line \d+: |and )", told)[:50]
            )
            continue
        for device in ("cuda", "cpu"):
            try:
                assert plan(problem, Selected(), device)
            except UsageError as error:
                assert "nothing to run" in str(error)
    figures(tried=tried, refused=refused)
    assert refused > tried / 2 or not WHOLE


def _mirrored(tmp_path: Path, folder: Path) -> Path:
    """Return a folder with all of a problem's but its manifest, and the others beside, by links."""
    beside = tmp_path / folder.name / folder.name
    if not beside.exists():
        beside.mkdir(parents=True)
        for path in folder.iterdir():
            if path.name != "problem.yaml":
                (beside / path.name).symlink_to(path)
        for path in folder.parent.iterdir():
            if path.name != folder.name:
                (beside.parent / path.name).symlink_to(path)
    return beside


def test_two_problems_of_one_number(tmp_path: Path) -> None:
    example(tmp_path, BASE)
    example(tmp_path, "title: [", "9-another")
    with pytest.raises(UsageError, match="problem '9' is both 9-another and 9-example"):
        manifest.find(tmp_path, "9")
    assert manifest.find(tmp_path, "9-example").title == "A title"
    for wanted in ("0", "99", "9-", "", " ", "9 ", "\x00", "a" * 5000, "../9-gone", "*"):
        with pytest.raises(HarnessError, match="no problem"):
            manifest.find(tmp_path, wanted)
