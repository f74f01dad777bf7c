"""Load on a serving engine: requests drawn from a seed, sent by the clock, and what came of each.

A repro script draws requests (``workload``), drives its engine with them (``driver``) and saves the
recording, which is the capture of kind ``load``; ``saturation`` searches the highest rate.
"""
