"""Phases of torch.compile's compilation, which torch.profiler records as operators."""

import polars as pl

PHASE = " (dynamo_timed)"
"""What the name of a phase of torch.compile's compilation ends with."""


def compilation(operators: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return the operators that are phases of compilation, which make rows of ``ranges``.

    They are annotations of torch's, which it records as annotations or, for their cost, as
    operators (torch/_dynamo/utils.py, dynamo_timed and compile_time_record_function;
    torch/csrc/profiler/python/init.cpp, RecordFunctionFast_enter). ``name`` counts in ``names``.
    """
    phases = [number for number, name in enumerate(names) if name.endswith(PHASE)]
    return operators.filter(pl.col("name").is_in(phases))
