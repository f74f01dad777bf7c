"""The names that a manifest gives its entries, those of entries with mistakes included."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from harness.problem.located_yaml import Mistake, Place, shown

MANIFEST = "problem.yaml"
SECTIONS = ("environments", "variants", "cases", "captures", "metrics", "references")
"""The sections that map names to entries."""

_MOST_LISTED = 12
_MOST_NEAR = 3


@dataclass(frozen=True)
class Names:
    """Names by section; ids for claims.

    A section that cannot be read at all is absent: any name may be meant to be in it.
    """

    by_section: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Return the names in a manifest's data."""
        by_section = {name: [*data[name]] for name in SECTIONS if isinstance(data.get(name), dict)}
        claims = data.get("claims")
        if isinstance(claims, list):
            ids = [claim.get("id") if isinstance(claim, dict) else None for claim in claims]
            if all(isinstance(name, str) for name in ids):
                by_section["claims"] = ids
        return cls(by_section)

    def unknown(self, section: str, name: str) -> Iterator[str]:
        """Yield the mistake of a name that the section does not have."""
        names = self.by_section.get(section)
        if names is None or name in names:
            return
        near = difflib.get_close_matches(name, names, n=1)
        if near:
            remedy = f"did you mean {shown(near[0])}?"
        elif names:
            more = ", …" if len(names) > _MOST_LISTED else ""
            remedy = f"there are: {', '.join(names[:_MOST_LISTED])}{more}"
        else:
            remedy = f"{section} has none yet"
        yield f"no {section[:-1]} {shown(name)} ({remedy})"


def nearest(name: str, names: Sequence[str]) -> str:
    """Return a remedy for an unknown name: the known ones most like it, else the first of all."""
    near = difflib.get_close_matches(name, names, n=3)
    near += [each for each in names if name and name in each and each not in near]
    if near:
        return f"did you mean {' or '.join(near[:_MOST_NEAR])}?"
    more = ", …" if len(names) > _MOST_LISTED else ""
    return f"there are: {', '.join(names[:_MOST_LISTED])}{more}"


def twice(where: Place, names: Sequence[str]) -> Iterator[Mistake]:
    """Yield each name that a list repeats."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield (*where, index), f"{shown(name)} is listed twice (drop one)"
        seen.add(name)
