"""The battery: many seeded attacks on one promise of docs/reliability.md, a file each.

Each file states its counts with the fixture ``figures``. `make battery` writes them to
benchmarks/results/battery.json. WORKLOGS_BATTERY_SCALE multiplies the rounds: 1 in `make battery`,
a tenth elsewhere. Seeds move from day to day, those of `make battery` do not; the last lines of a
run say WORKLOGS_BATTERY_SEED, which makes the same attacks again.
"""
