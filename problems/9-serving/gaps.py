"""Times between tokens of requests that decode, before and during the prefill of a long prompt."""

from itertools import pairwise

from harness.probe.load.driver import Recording

LONG = "long"
"""The name of the request with the long prompt."""


def gaps_ms(recording: Recording) -> tuple[list[float], list[float], float]:
    """Return the decodes' times between tokens before and during the long prefill, and its TTFT.

    Before: between the last first token of a decode and the time that the long prompt is due.
    During: those that overlap the time from then to its first token.
    """
    lives = dict(recording.lives)
    long = lives.pop(LONG)
    due, first = long.request.due_ns, long.tokens[0]
    begun = max(life.tokens[0] for life in lives.values())
    before, during = [], []
    for life in lives.values():
        for start, end in pairwise(life.tokens):
            if begun <= start and end <= due:
                before.append((end - start) / 1e6)
            elif end > due and start < first:
                during.append((end - start) / 1e6)
    if not before or not during:
        raise SystemExit("no token came before or during the long prefill: move long_at_s")
    return before, during, (first - due) / 1e6
