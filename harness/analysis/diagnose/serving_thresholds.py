"""The thresholds of findings on serving load: each with its reason and where it comes from."""

LEAST_GAPS = 100
"""Times between tokens: of fewer, the p99 is no quantile but the longest."""

TAIL = 0.01
"""Of the times between tokens: where more are late, their p99 is."""

STALL = 5.0
"""Times the median time between tokens of steps without prefill: the bound of a load that states
none. It is the strict one of Agrawal et al. (Sarathi-Serve, OSDI 2024, section 5): five times a
decode step that no prefill interferes with."""

NOT_WAITED = 0.05
"""Of a step: where the host waits for the device for less, the host decides when the next begins.
Reading the tokens of a step that is done takes some tens of µs, a few hundredths of a decode step
of 1 ms and more."""

CACHE_FULL = 0.9
"""Of the cache's blocks: where no further request fits into as much, it is full. Prompts differ,
and running requests grow, so engines do not fill the last part (vLLM keeps ``watermark`` free)."""

MORE_CACHE = 2.0
"""Times the room: keys and values of 8 bits in place of 16 (vLLM's ``kv_cache_dtype=fp8``)."""

LARGEST_BLOCK = 128
"""Tokens: the largest block of a paged cache in use (vLLM's ``block_size``, of CUDA devices). Where
decoding took no block in as many tokens, blocks are reserved as a request enters."""

LAW_ERROR = 0.25
"""Relative, of the median step with prefill: a law that misses by more (attention over long
prompts, several models) does not say how many tokens a step may have, and none are advised."""
