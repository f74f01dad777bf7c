"""The table of ceilings: a column per GPU, shares of the datasheet, labels of the calibration."""

from harness.report.ceiling_table import LABELS, Rates, ceiling_table
from harness.run import calibrate


def rates(bf16: float) -> Rates:
    return {
        "bf16": {"unit": "TFLOP/s", "value": bf16, "low": bf16 - 1, "high": bf16 + 1},
        "launch": {"unit": "µs", "value": 4.4, "low": 4.1, "high": 4.7},
    }


def test_the_labels_are_those_of_the_calibration() -> None:
    problem = calibrate.problem()
    assert {name: metric.label for name, metric in problem.metrics.items()} == LABELS


def test_one_gpu_has_one_column_and_its_share_of_the_datasheet() -> None:
    shown = ceiling_table("NVIDIA H200", {"GPU-one": rates(791.52)})
    assert shown.head == ["ceiling", "measured", "datasheet", "share"]
    assert shown.rows == [
        ["bf16 matrix product, TFLOP/s", "792 ± 1", "989.4", "80.0 %"],
        ["host time of a kernel launch, µs", "4.4 ± 0.3", "–", "–"],
    ]
    assert "datasheet" in shown.source


def test_of_two_gpus_the_better_one_counts_and_what_one_lacks_is_a_dash() -> None:
    second = {"bf16": rates(494.7)["bf16"]}
    shown = ceiling_table(
        "NVIDIA H200", {"GPU-11111111-a": rates(692.58), "GPU-22222222-b": second}
    )
    assert shown.head[1:3] == ["measured on GPU-11111111…", "measured on GPU-22222222…"]
    assert shown.rows[0][-1] == "70.0 %"
    assert shown.rows[1][2] == "–"


def test_a_gpu_without_a_datasheet_has_neither_peak_nor_source() -> None:
    shown = ceiling_table("Tesla T4", {"GPU-one": rates(50)})
    assert [row[-2:] for row in shown.rows] == [["–", "–"], ["–", "–"]]
    assert shown.source == ""
