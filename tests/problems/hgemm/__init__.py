"""Problem 4: the kernels' layouts, schedules and resources, without a GPU."""
