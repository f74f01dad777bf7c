"""The claims that a run is started with: bounds that stand before there are data to meet them.

:func:`changed` says whether a claim, as it is now, was tested by a run.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from harness.evidence.provenance import Origin, StartedClaim
from harness.problem import meaning, needs
from harness.problem.history import Version
from harness.problem.located_yaml import Located
from harness.problem.model import AnyClaim, Place, Problem
from harness.problem.validation import understood

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is built


def started(problem: Problem) -> dict[str, StartedClaim]:
    """Return each claim of a problem, by its id, as a run that starts now records it."""
    return {claim.id: _started(problem, claim) for claim in problem.claims}


def since(
    claims: Mapping[str, StartedClaim], versions: Iterable[Version]
) -> dict[str, StartedClaim]:
    """Return the claims, each with the oldest version since which it stands as it does.

    ``versions`` are those of the manifest, the newest first. A claim that the newest has not, or
    has otherwise, is of no version.
    """
    known = dict(claims)
    unchanged = list(claims)
    for version in versions:
        then = _read(version.text)
        unchanged = [name for name in unchanged if then.get(name) == claims[name]]
        if not unchanged:
            break
        for name in unchanged:
            known[name] = claims[name].model_copy(update={"since": version.name})
    return known


def changed(name: str, now: StartedClaim, origins: Sequence[Origin]) -> str:
    """Return why no run has tested a claim as it is now, "" if every call started with it.

    Its words may differ, as they decide nothing: see :func:`worded`. ``origins``: all calls of
    ``harness run`` that the evidence comes from.
    """
    recorded = [origin.claims for origin in origins if origin.claims is not None]
    if len(recorded) < len(origins) or not origins:
        return "the run did not record its claims"
    then = [claims[name] for claims in recorded if name in claims]
    if len(then) < len(recorded):
        return "the claim is newer than the run"
    for claim in then:
        if claim.bound != now.bound:
            return f"the claim's bound was {_in_words(claim.bound)} when the run began"
    if any(claim.definition != now.definition for claim in then):
        return "what the claim compares has changed since the run began"
    return ""


def worded(name: str, now: StartedClaim, origins: Sequence[Origin]) -> str:
    """Return the statement that a call began with where it differs from today's, or ""."""
    recorded = [(origin.claims or {}).get(name, now).statement for origin in origins]
    return next((words for words in recorded if words != now.statement), "")


def _started(problem: Problem, claim: AnyClaim) -> StartedClaim:
    metrics = {
        name: problem.metric(name).model_dump(exclude={"label"}, exclude_defaults=True)
        for name in {metric for metric, _, _ in _places(problem, claim)}
    }
    definition = [claim.kind, claim.needs, _compared(problem, claim), metrics]
    return StartedClaim(
        statement=" ".join(claim.statement.split()),
        bound=claim.bound.model_dump(exclude_none=True),
        definition=meaning.digest(definition),
    )


def _places(problem: Problem, claim: AnyClaim) -> list[Place]:
    return [*claim.sides, *needs.further(problem, claim)]


def _compared(problem: Problem, claim: AnyClaim) -> object:
    """Return what a claim compares: the order of cases, costs and rivals says nothing."""
    if claim.kind == "bound":
        return claim.sides
    unordered = (claim.at, claim.pays, needs.rivals(problem, claim))
    return [claim.metric, claim.take, claim.instead_of, *map(sorted, unordered)]


def _in_words(bound: Mapping[str, Any]) -> str:
    ((kind, value),) = bound.items()
    if kind == "between":
        return "{:.10g} to {:.10g}".format(*value)
    return f"{'≥' if kind == 'above' else '≤'} {value:.10g}"


@functools.lru_cache(maxsize=128)  # each GPU's call of a run asks for the same versions
def _read(text: str) -> dict[str, StartedClaim]:
    """Return the claims of an earlier manifest, as far as it is understood today."""
    try:
        said = Located(_LOADER(text).get_single_data())
    except (yaml.YAMLError, ValueError):
        return {}
    problem = understood(said).problem
    if problem is None:
        return {}
    return {
        claim.id: _started(problem, claim)
        for claim in problem.claims
        if all(name.partition("@")[0] in problem.metrics for name, _, _ in _places(problem, claim))
    }
