"""What every room stands on: files, processes, locks, errors, and bounds on what others made."""
