"""Makes strangers' words safe to print: a name is shown, and never steers a terminal."""

import re

_NOT_SHOWN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # controls of C0 and C1, ESC among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # of the direction of writing
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # without a width: names that differ by one would look alike
    "\u2028\u2029"  # ends of lines and paragraphs
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # no characters
    "]"
)


def plain(text: str) -> str:
    """Return ``text`` with each character that steers, or does not show, replaced by U+FFFD."""
    return _NOT_SHOWN.sub("\N{REPLACEMENT CHARACTER}", text)


def slug(name: str) -> str:
    """Return a name in lower-case letters, digits and '-', as a folder is called."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
