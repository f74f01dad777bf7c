"""A manifest that uses every section, and what is wrong with it after one replacement each."""

from pathlib import Path

BASE = """\
title: A title
summary: >
  A summary.
workloads: [shared.py]
keep: [output_code.py]
environments:
  plain: {}
  packed: {lock: env/packed.lock}
baseline: slow
variants:
  slow: {label: Slow, environment: plain, options: {mode: eager}}
  fast: {label: Fast, environment: packed, tunes: true}
  other: {label: Other, environment: plain, needs: cuda}
cases:
  small: {label: Small, params: {m: 1, shape: [1, 2]}}
  large:
    label: Large
    params: {m: 16}
    on_cpu: {m: 2}
    rounds: 3
    gpus: 2
    gpu_memory_gb: 8.5
captures:
  timing:
    settings: {warmup: 3, steps: 10, samples: 50, half_width: 0.01, seconds: 1, generations: 2}
    rounds: 4
    deadline_s: 900
    cells:
      small: &both [slow, fast]
      large: all
  ncu:
    needs: cuda
    flags: [--set=basic]
    cells: {small: *both}
metrics:
  time: {label: time, unit: ms, capture: timing, sample: wall_time}
  rate: {label: rate, unit: tok/s, capture: timing, sample: tokens, better: higher}
  held: {label: held, unit: B, capture: timing, fact: held_bytes, per: weights}
  moved: {label: moved, unit: B, capture: ncu, measure: dram_bytes, per: weights}
  cycles: {label: cycles, unit: cycles, capture: ncu, counter: sm__cycles_active.avg}
claims:
  - id: faster
    headline: true
    statement: Fast is faster.
    metric: time
    of: {variant: fast, case: small}
    over: {variant: slow}
    bound: {below: 1}
  - id: within
    statement: Fast moves little.
    metric: moved
    of: {variant: fast, case: small}
    bound: {between: [1, 2.5]}
    needs: cuda
  - id: take-fast
    kind: advice
    statement: Take fast.
    metric: time@decode
    take: fast
    instead_of: slow
    at: [small, large]
    holds_for: both
    pays: [held]
    except: {other: slower to build}
    bound: {above: 1.1}
short: {rounds: 2}
card:
  sentence: It is fast.
  claim: faster
  number: the time of slow
references:
  theirs:
    source: a page
    gpu: H100
    software: torch
    columns: [what, "value, ms"]
    rows:
      - [fast, 1.5]
      - [slow, null]
"""

SCRIPT = '''\
"""The workload; it samples nothing called bogus."""
from harness.probe.cell import Cell

cell = Cell.load()
for _ in range(cell.settings["generations"]):
    cell.sample("decode", "tokens", "tok/s", [1.0])
for what in ("held", "free"):
    cell.fact(f"{what}_bytes", 1)
cell.fact("weights", 1)  # not the wheights
cell.finish()
'''


def example(folder: Path, text: str, name: str = "9-example") -> Path:
    """Write a problem with this manifest, its script, lock and workload; return its folder."""
    problem = folder / name
    (problem / "env").mkdir(parents=True, exist_ok=True)
    (problem / "problem.yaml").write_text(text, encoding="utf-8")
    (problem / "repro.py").write_text(SCRIPT, encoding="utf-8")
    (problem / "env" / "packed.lock").write_text("torchao==0.13.0\n", encoding="utf-8")
    (folder / "workloads").mkdir(exist_ok=True)
    (folder / "workloads" / "shared.py").write_text("", encoding="utf-8")
    return problem
