"""Run, measure and explain GPU performance problems."""

__version__ = "0.1.0"
