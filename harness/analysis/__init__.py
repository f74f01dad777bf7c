"""Pure functions of evidence."""
