"""What enters the workload's process: torch and the standard library, nothing else.

A repro script loads its ``Cell`` (harness.probe.cell), marks phases, states facts and hands over
the step to measure. Which capture is made decides what happens around it, so one script serves all.
"""
