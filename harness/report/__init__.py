"""From evidence and verdicts to pages."""
