"""A problem: its manifest as models, checked, and planned into cells."""
