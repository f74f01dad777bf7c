"""A kind of capture in one folder: its profiler is a shell script, its report lines of text."""
