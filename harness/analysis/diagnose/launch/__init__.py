"""Ratios of one profiled launch that several findings on kernels need."""
