"""Unprofiled runs: the workload takes its own time, sample by sample."""
