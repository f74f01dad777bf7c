"""What ``harness inspect`` prints of a document: one file a sort of capture."""
