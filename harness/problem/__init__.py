"""What a problem asks for: its manifest as models, checked, and planned into cells."""
