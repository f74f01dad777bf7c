"""The tables of load on a serving engine; times are ns from its start."""

from collections.abc import Mapping

LOAD_TABLES: Mapping[str, Mapping[str, str]] = {
    # What the load was in words, when it ended, the bounds that a request was to meet on its time
    # to first token and its p99 time between tokens, and all blocks of the cache.
    "load_runs": {
        "what": "str",
        **dict.fromkeys(("end_ns", "ttft_slo_ns", "itl_slo_ns", "kv_blocks"), "int"),
    },
    # Requests in the order in which they were due. admitted: first computed, null where the engine
    # does not say; ended: null where it did not; mark: warm-up (left out of statistics), or empty.
    "load_requests": {
        **dict.fromkeys(("request", "due_ns", "admitted_ns", "first_ns", "ended_ns"), "int"),
        **dict.fromkeys(("prompt_tokens", "output_tokens"), "int"),
        "mark": "str",
    },
    # When each token of a request came.
    "load_tokens": {"request": "int", "time_ns": "int"},
    # When a request was preempted, and when it went on.
    "load_pauses": {"request": "int", "start_ns": "int", "end_ns": "int"},
    # The engine's steps: prefill, decode or mixed; requests and tokens computed, blocks of the
    # cache in use, and the time that the host took for it before it waited for the device: in
    # all, and of it before the first launch.
    "load_steps": {
        "start_ns": "int",
        "duration_ns": "int",
        "kind": "category",
        **dict.fromkeys(("requests", "tokens", "kv_blocks", "host_ns", "plan_ns"), "int"),
    },
}
