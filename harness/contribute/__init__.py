"""What crosses machines: captures from elsewhere, and reports that are sent and received."""
