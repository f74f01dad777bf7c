"""The battery: many seeded attacks on one promise of docs/reliability.md, a file each.

Each file states its counts with the fixture ``figures``. `make battery` writes them to
benchmarks/results/battery.json; WORKLOGS_BATTERY_SCALE multiplies the rounds (1 in CI, 50 nightly).
"""
