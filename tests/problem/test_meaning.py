"""The digests of scripts: equal where only readers see a difference, else not."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.problem import meaning
from tests.support.paths import ROOT

STUDIES = ROOT / "problems"
PYTHON = """\
\"\"\"What it does.\"\"\"
SIZE = 8  # bytes


def f(x: int, *, scale: float = 1.0) -> str:
    \"\"\"Return it.\"\"\"
    return f"{x * scale:.3f} of {SIZE}"


class Nothing(Exception):
    pass
"""
CUDA = """\
#define WIDE 64 // columns
#define SUM(a, b) ((a) + (b))
__global__ void add(float* out, const float* a, int n) {
  int i = blockIdx.x * WIDE + threadIdx.x; /* one
  each */
  if (i < n) out[i] = SUM(a[i], 1.0f);
  asm volatile("mov.u32 %0, 7; // PTX" : "=r"(n));
}
"""


def digest(suffix: str, text: str, folder: Path) -> str:
    path = folder / f"script{suffix}"
    path.write_text(text, encoding="utf-8")
    return meaning.of_script(path)


@pytest.mark.parametrize(
    ("suffix", "text", "old", "new"),
    [
        (".py", PYTHON, "What it does.", "What else it does."),
        (".py", PYTHON, '    """Return it."""\n', ""),
        (".py", PYTHON, "    pass\n", '    """No more."""\n'),
        (".py", PYTHON, "# bytes", "# and more"),
        (".py", PYTHON, "(x: int, *, scale", "(\n    x: int,\n    *,\n    scale"),
        (".py", PYTHON, "SIZE = 8", "SIZE = (8)"),
        (".cu", CUDA, " // columns", ""),
        (".cu", CUDA, "/* one\n  each */", ""),
        (".cu", CUDA, "void add(float* out,", "void\n    add(\n  float *out,"),
        (".cuh", CUDA, "#define WIDE 64", "#define WIDE   \\\n  64"),
        (".cuh", CUDA, "((a) + (b))\n", "((a)+(b))\n\n"),
        (".cpp", CUDA, " // columns", ""),
        (".json", '{"a": 1, "b": [2]}', '"a": 1, "b": [2]', '"b": [\n2], "a": 1'),
    ],
)
def test_words_and_layout_mean_nothing(
    suffix: str, text: str, old: str, new: str, tmp_path: Path
) -> None:
    assert text.count(old) == 1
    before = digest(suffix, text, tmp_path)
    assert digest(suffix, text.replace(old, new), tmp_path) == before


@pytest.mark.parametrize(
    ("suffix", "text", "old", "new"),
    [
        (".py", PYTHON, "SIZE = 8", "SIZE = 8.0"),
        (".py", PYTHON, "scale: float = 1.0", "scale: float = 2.0"),
        (".py", PYTHON, ":.3f", ":.4f"),
        (".py", PYTHON, " of {", " off {"),
        (".py", PYTHON, "*, scale", "scale"),
        (".py", PYTHON, "x * scale", "scale * x"),
        (".cu", CUDA, "WIDE 64", "WIDE 32"),
        (".cu", CUDA, "i < n", "i <= n"),
        (".cu", CUDA, "#define SUM(a, b)", "#define SUM (a, b)"),
        (".cu", CUDA, "64 // columns\n#define", "64 // columns\\\n#define"),
        (".cuh", CUDA, "mov.u32 %0, 7;", "mov.u32  %0, 7;"),
        (".cuh", CUDA, "; // PTX", ";"),
        (".json", '{"a": [1, 2]}', "1, 2", "2, 1"),
        (".json", '{"a": 1', '"a"', '"b"'),
        (".py", "def (", "(", " ("),
        (".txt", "a b", " ", "  "),
    ],
)
def test_what_a_machine_reads_means_something(
    suffix: str, text: str, old: str, new: str, tmp_path: Path
) -> None:
    assert text.count(old) == 1
    before = digest(suffix, text, tmp_path)
    assert digest(suffix, text.replace(old, new), tmp_path) != before


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*/*.py")), ids=lambda path: path.name)
def test_a_script_that_is_written_anew_means_the_same(path: Path, tmp_path: Path) -> None:
    """Python's own writer drops every comment and lays lines out otherwise."""
    anew = ast.unparse(ast.parse(path.read_text(encoding="utf-8")))
    assert digest(".py", anew, tmp_path) == meaning.of_script(path)


BLANKS = st.lists(st.sampled_from([" ", "\n", "\t", "/* b */", "// c\n", "\\\n"]), min_size=1)
TOKENS = st.lists(
    st.sampled_from(
        ["a", "int", "0x1p-3f", "1'000", "+", "++", "->", "<<=", ">", ";", "{", '"s // t"', "'\\''"]
    ),
    min_size=1,
)


@given(TOKENS, st.data())
def test_blanks_between_tokens_mean_nothing_and_tokens_do(
    tokens: list[str], data: st.DataObject
) -> None:
    blanks = ["".join(data.draw(BLANKS)) for _ in tokens]
    spread = "".join(map("".join, zip(tokens, blanks, strict=True)))
    assert meaning._cuda(spread) == meaning._cuda(" ".join(tokens))
    place = data.draw(st.integers(0, len(tokens) - 1))
    others = [*tokens[:place], "other", *tokens[place + 1 :]]
    assert meaning._cuda(" ".join(others)) != meaning._cuda(" ".join(tokens))


def test_comments_of_a_lock_mean_nothing() -> None:
    lock = "torch==2.9.0 \\\n    --hash=sha256:01\n    # via -r in.txt\nx @ https://a/b#c=d\n"
    bare = ["torch==2.9.0 \\", "--hash=sha256:01", "x @ https://a/b#c=d"]
    assert meaning.of_lock(lock) == bare
