"""What each capture does in the workload's process; the harness names the hook in the cell."""
