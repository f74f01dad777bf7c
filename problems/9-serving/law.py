"""What a prompt in prefill does to the decodes beside it, from two measured rates."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """``decode_ms``: a step of decodes alone. ``token_ms``: a prompt's token, without attention.

    ``pair_ms``: attention of one token of the prompt to one token before it.
    """

    decode_ms: float
    token_ms: float
    pair_ms: float


def rates(decode_ms: float, short: tuple[int, float], long: tuple[int, float]) -> Rates:
    """Return the rates of two prompts, (tokens, ms), that were computed whole and alone.

    A prompt of n tokens takes f + n·t + n²/2·p. f: its step reads each matrix once and launches
    each kernel, as a step of decodes does, whatever n is; so f is that step. t: products of the
    matrices with one more token. p: the causal half of n² pairs meets in attention. Two prompts
    give t and p.
    """
    (fewer, fewer_ms), (more, more_ms) = ((tokens, ms - decode_ms) for tokens, ms in (short, long))
    pair_ms = 2 * (more_ms / more - fewer_ms / fewer) / (more - fewer)
    return Rates(decode_ms, fewer_ms / fewer - pair_ms * fewer / 2, pair_ms)


def steps_ms(known: Rates, prompt: int, chunk: int) -> list[float]:
    """Return the ms of each step that computes ``chunk`` tokens of the prompt beside the decodes.

    decodes + chunk · (t + p · tokens before the middle of the chunk). A whole prompt (chunk =
    prompt) is one gap between two tokens of a decode as well: its step, then one of decodes.
    """
    steps = []
    for start in range(0, prompt, chunk):
        count = min(chunk, prompt - start)
        before = start + count / 2
        steps.append(known.decode_ms + count * (known.token_ms + known.pair_ms * before))
    return steps
