"""Load on engines with known answers: a queue of theory, and a server that stalls."""

import math
from collections import Counter
from itertools import islice, pairwise
from random import Random
from statistics import fmean, quantiles, stdev, variance

import pytest

from harness.probe.load.driver import Recording, Slo, drive
from harness.probe.load.saturation import saturation
from harness.probe.load.workload import (
    LENGTHS,
    Lengths,
    at_once,
    bursts,
    fixed,
    poisson,
    requests,
)
from tests.support.serving import Batching, OneByOne, Virtual

ONE = (fixed(1), fixed(1))
MS = 1_000_000


def recorded(rate: float, number: int, service_ns: int = 100 * MS, seed: int = 0) -> Recording:
    """Return a Poisson load on a server of one request at a time, whose service never differs."""
    clock = Virtual()
    load = requests(number, poisson(rate), ONE, seed)
    return drive(OneByOne(clock, lambda _: service_ns), load, clock, math.inf)


def firsts(recording: Recording) -> list[int]:
    """Return the times to first token."""
    return [life.tokens[0] - life.request.due_ns for life in recording.lives.values()]


def test_poisson_arrivals_are_exponential_apart_and_even_over_time() -> None:
    times = list(islice(poisson(5)(Random(3)), 20_000))
    gaps = sorted(after - before for before, after in pairwise([0.0, *times]))
    count = len(gaps)
    assert fmean(gaps) == pytest.approx(1 / 5, rel=3 / math.sqrt(count))
    # Kolmogorov and Smirnov's distance to 1 - exp(-5x), at 1 %.
    distances = [abs(place / count - 1 + math.exp(-5 * gap)) for place, gap in enumerate(gaps, 1)]
    assert max(distances) < 1.63 / math.sqrt(count)
    a_second = Counter(int(time) for time in times)
    in_seconds = [a_second[second] for second in range(int(times[-1]))]
    assert variance(in_seconds) / fmean(in_seconds) == pytest.approx(1, abs=0.1)


def test_bursts_come_together_and_at_once_is_one_of_them() -> None:
    assert list(islice(bursts(2, 1.5)(Random(0)), 5)) == [0, 0, 1.5, 1.5, 3]
    assert [request.due_ns for request in requests(3, at_once(), ONE, 0)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("trace", "prompt", "output"),
    # Medians that Patel et al. give (ISCA 2024, section III): 1020 and 129, 1500 and 13.
    [("azure-conversation-2023", 1020, 129), ("azure-code-2023", 1500, 13)],
)
def test_lengths_have_the_quantiles_that_are_published(
    trace: str, prompt: int, output: int
) -> None:
    for lengths, median in zip(LENGTHS[trace], (prompt, output), strict=True):
        assert lengths.quantile(0.5) == pytest.approx(median, rel=0.025)
        assert [lengths.quantile(share) for share in lengths.shares] == list(lengths.tokens)
        assert list(lengths.tokens) == sorted(lengths.tokens)
        drawn = sorted(lengths.draw(random) for random in [Random(5)] for _ in range(20_000))
        # Dvoretzky, Kiefer and Wolfowitz: an empirical share is off by 0.012 in 1 of 300 at most.
        for share in (0.1, 0.5, 0.9):
            low, high = (lengths.quantile(share + by) for by in (-0.012, 0.012))
            assert low <= drawn[int(share * len(drawn))] <= high


def test_lengths_stay_in_their_bounds() -> None:
    clipped = Lengths((1, 1000), (0, 1), least=16, most=512)
    assert [clipped.quantile(share) for share in (0, 0.25, 1)] == [16, 251, 512]


def test_a_seed_draws_the_same_requests_and_a_rate_only_moves_them() -> None:
    lengths = LENGTHS["azure-code-2023"]
    slow, fast, again = (requests(50, poisson(rate), lengths, 7) for rate in (1, 4, 1))
    assert slow == again
    assert [request.prompt for request in slow] == [request.prompt for request in fast]
    assert fast[9].due_ns == pytest.approx(slow[9].due_ns / 4, abs=1)
    assert requests(50, poisson(1), lengths, 8) != slow
    assert max(max(request.prompt) for request in requests(9, at_once(), lengths, 0, 10)) == 9


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_queue_waits_as_long_as_theory_says(share: float) -> None:
    """M/D/1: of load r and rate m the mean wait is r/(2m(1-r)) (Pollaczek and Khinchine)."""
    waits = [(time - 100 * MS) / 1e9 for time in firsts(recorded(10 * share, 40_000))]
    batches = [fmean(waits[start : start + 2000]) for start in range(0, len(waits), 2000)]
    error = stdev(batches) / math.sqrt(len(batches))
    assert fmean(waits) == pytest.approx(share / (2 * 10 * (1 - share)), abs=3 * error)
    assert error < 0.05 * fmean(waits)


def test_a_stall_is_felt_by_all_that_were_due_in_it() -> None:
    """A closed loop sends nothing while the server stalls, and hardly sees it."""

    def service(now: int) -> int:
        stalls = (now + 50 * MS) // (10_000 * MS) > now // (10_000 * MS)
        return 1050 * MS if stalls else 50 * MS

    clock = Virtual()
    opened = drive(OneByOne(clock, service), requests(3000, poisson(8), ONE, 1), clock)
    in_the_open = quantiles(firsts(opened), n=100, method="inclusive")
    assert in_the_open[98] > 900 * MS
    assert in_the_open[49] < 150 * MS

    clock, closed = Virtual(), []
    server = OneByOne(clock, service)
    for number in range(3000):
        sent = clock.time
        server.submit(str(number), [], 1)
        server.step()
        closed.append(clock.time - sent)
    assert quantiles(closed, n=100, method="inclusive")[98] == 50 * MS


def test_what_did_not_end_in_time_is_recorded_and_misses_its_bounds() -> None:
    clock = Virtual()
    load = requests(10, at_once(), ONE, 0)
    recording = drive(OneByOne(clock, lambda _: 100 * MS), load, clock, limit_s=0.35)
    lives = list(recording.lives.values())
    assert [life.ended for life in lives] == [MS * 100 * place for place in (1, 2, 3, 4)] + [
        None
    ] * 6
    assert recording.attained(Slo(1000, 1)) == 0.4
    assert recording.attained(Slo(200, 1)) == 0.2  # a bound that is just met is met


def test_a_load_at_once_has_no_warm_up_and_one_that_fills_a_server_has() -> None:
    assert drive_at_once().warm_up() == 0
    lengths = (fixed(10), fixed(200))
    clock = Virtual()
    filling = drive(Batching(clock, 64), requests(300, poisson(6), lengths, 0), clock)
    assert 0 < filling.warm_up() <= 150


def drive_at_once() -> Recording:
    clock = Virtual()
    load = requests(50, at_once(), (fixed(100), fixed(20)), 0)
    return drive(Batching(clock), load, clock)


def test_what_an_engine_says_of_a_preempted_request_is_kept() -> None:
    paused = [life for life in drive_at_once().lives.values() if life.preempted]
    assert paused
    for life in paused:
        for start, end in life.preempted:
            assert end is not None
            assert life.admitted is not None
            assert life.admitted < start < end
            assert not [time for time in life.tokens if start < time < end]


def test_saturation_is_bisected_to_the_step_that_was_asked_for() -> None:
    found = saturation(lambda rate: 1 if rate <= 7.3 else 0.5, 1, 32, 0.05)
    assert found.rate is not None
    assert found.missed is not None
    assert found.rate <= 7.3 < found.missed <= 1.05 * found.rate
    assert len(found.tries) == 2 + math.ceil(math.log2(math.log(32) / math.log(1.05)))


def test_saturation_outside_of_what_was_tried_is_not_guessed() -> None:
    everything, nothing = saturation(lambda _: 0.9, 1, 4), saturation(lambda _: 0.89, 1, 4)
    assert (everything.rate, everything.missed) == (4, None)
    assert (nothing.rate, nothing.missed) == (None, 1)


def test_a_server_saturates_below_its_capacity() -> None:
    """In M/D/1 of 10 a second, 90 % wait less than 0.4 s up to a rate of about 8 a second."""
    slo = Slo(500, 1)
    found = saturation(lambda rate: recorded(rate, 4000).attained(slo), 2, 20, 0.05)
    assert found.rate is not None
    assert 7 < found.rate < 9.5
