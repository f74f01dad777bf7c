"""What the names of engines' ranges say of a batch, as the engines write them."""

import pytest

from harness.analysis.annotations import Batch, Lengths, batch, is_capture, lengths

SAID = {
    "execute_context_2(14721)_generation_0(0)": Batch("prefill", 2, 14721),
    "execute_context_0(0)_generation_64(64)": Batch("decode", 64, 64),
    "execute_context_2(6144)_generation_3(3)": Batch("mixed", 5, 6147),
    "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)"
    "_generation_37(sq37sk34489sqsq37sqsk34489)": Batch("mixed", 46, 8192),
    "execute_new_3_cached_5": Batch("mixed", 8, None),
    "execute_new_0_cached_5": Batch("decode", 5, None),
    "step[DECODE bs=32]": Batch("decode", 32, 32),
    "step[EXTEND bs=2 toks=14721]": Batch("prefill", 2, 14721),
    "step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]": Batch("decode", 64, 128),
    "step[MIXED bs=2]": Batch("mixed", 2, None),
    "step[TARGET_VERIFY bs=4]": Batch("decode", 4, None),
    "[Executor] _forward_step 123: 0 ctx reqs, 0 ctx tokens, 8 gen reqs": Batch("decode", 8, 8),
    "[Executor] _forward_step 9: 2 ctx reqs, 700 ctx tokens, 8 gen reqs": Batch("mixed", 10, 708),
    "[Executor] _forward_step 9: 2 ctx reqs, 8 gen reqs": Batch("mixed", 10, None),
    "prefill[bs=2 tok=14721 ctx=[7803, 6918]]": Batch("prefill", 2, 14721),
    "decode[bs=117/128 tok=117 d=117]": Batch("decode", 117, 117),
}
SILENT = (
    "execute_context_0(0)_generation_0(0)",
    "step[IDLE bs=0]",
    "step 3",
    "execute_model",
    f"step[DECODE bs={'9' * 5000}]",
)


@pytest.mark.parametrize("name", SAID)
def test_an_engine_s_annotation_says_its_batch(name: str) -> None:
    assert batch(name) == SAID[name]


@pytest.mark.parametrize("name", SILENT)
def test_other_names_say_none(name: str) -> None:
    assert batch(name) is None


def test_a_capture_is_no_step() -> None:
    assert is_capture("capture_32_DECODE")
    assert not is_capture("capture_model")


def test_detailed_annotations_say_how_many_tokens_are_attended_to() -> None:
    prefill, decode = (100, 300), [50, 70]  # queries and tokens of one, tokens of the others
    pairs = sum(range(300 - 100 + 1, 300 + 1)) + sum(decode)
    name = (
        f"execute_102_context_1(sq100sk300sqsq{100 * 100}sqsk{100 * 300})"
        f"_generation_2(sq2sk{sum(decode)}sqsq2sqsk{sum(decode)})"
    )
    assert lengths(name) == Lengths(prefill[1] + sum(decode), pairs)
    drafts = (
        "step[DECODE bs=2 g_sq=4 g_sqsq=8 g_sqsk=240 g_sk=120]"  # two queries each of 50 and 70
    )
    assert lengths(drafts) == Lengths(120, 49 + 50 + 69 + 70)
    for silent in (
        "step[DECODE bs=32]",
        "execute_context_0(0)_generation_64(64)",
        "sq1sk2sqsq1sqsk2",
    ):
        assert lengths(silent) is None
