"""Findings on one profiled launch; ``kernel_view.py`` is what they read.

A fault is a cause of being far from every ceiling, or of work that is wasted at one; its gain is
what its removal saves. A bound says which part of the GPU limits: of device memory, tensor cores
and FP32 it is no fault, its gain is 0, and the launch is healthy. Special functions, FP64,
integers, issue slots and shared memory are bounds that other instructions avoid: their gain is the
room that other parts leave.
"""
