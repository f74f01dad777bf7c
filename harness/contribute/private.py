"""What names a machine or a person, and what takes its place.

A GPU's UUID becomes a hash of itself, so that a report still tells its GPUs apart.
"""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

_UUID = re.compile(r"\b(GPU|MIG)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
_HOME = re.compile(r"(?<![\w$])/(?:home/[^/\s\"':]+|Users/[^/\s\"':]+|root(?=[/\s\"':]|$))")
_PACKAGES = re.compile(r"(?<![\w$])/[^\s\"':]*?/(?=(?:site|dist)-packages/)")
_NO_NAMES = frozenset(
    {"localhost", "root", "user", "ubuntu", "runner", "docker", "worklogs", "gpu"}
)
_SHORTEST = 3


@dataclass(frozen=True)
class Private:
    """Words that name this machine or its user: matched whole, in their case."""

    words: tuple[str, ...] = ()

    @classmethod
    def here(cls, public: Collection[str] = ()) -> Self:
        """Return the names of this host and user, less those that a word of ``public`` holds."""
        import getpass
        import socket

        host = socket.gethostname()
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a user without a name
            user = ""
        names = dict.fromkeys([host, host.partition(".")[0], user])
        return cls(tuple(filter(lambda name: _is_name(name, public), names)))

    def cleaned(self, text: str) -> str:
        """Return a text without UUIDs, home folders, folders of packages, and these words."""
        text = _UUID.sub(_hashed, text)
        text = _HOME.sub("~", _PACKAGES.sub("", text))
        for word in self.words:
            text = re.sub(_whole(word), "(left out)", text)
        return text

    def found(self, text: str) -> Iterator[str]:
        """Yield the words of a text that name a machine or person; a UUID may be hashed already."""
        patterns = [_HOME, *(re.compile(_whole(word)) for word in self.words)]
        for pattern in patterns:
            if match := pattern.search(text):
                yield match[0]

    def cleaned_data(self, value: Any) -> Any:
        """Return JSON-ready data with every text in it cleaned."""
        if isinstance(value, str):
            return self.cleaned(value)
        if isinstance(value, Mapping):
            return {self.cleaned(key): self.cleaned_data(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.cleaned_data(item) for item in value]
        return value


def _hashed(match: re.Match[str]) -> str:
    digest = hashlib.sha256(match[0].encode()).hexdigest()
    parts = (digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])
    return f"{match[1]}-{'-'.join(parts)}"


def _is_name(word: str, public: Collection[str]) -> bool:
    is_public = any(re.search(_whole(word), text) for text in public)
    return len(word) >= _SHORTEST and word.lower() not in _NO_NAMES and not is_public


def _whole(word: str) -> str:
    return rf"(?<![\w]){re.escape(word)}(?![\w])"
