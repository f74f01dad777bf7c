"""One self-contained HTML page of subjects: timelines to zoom into, findings, kernels."""
