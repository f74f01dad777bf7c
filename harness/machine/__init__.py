"""The machine a run is made on: GPU, profilers, clocks, and what NVML says meanwhile."""
