"""The machine that a run is made on: GPU, profilers, clocks, and NVML's samples meanwhile."""
