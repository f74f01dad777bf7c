"""File formats that captures come in, read in bounded memory."""
