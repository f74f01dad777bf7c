"""The run folder on disk, and how several are merged into one."""
