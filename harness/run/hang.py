"""Where a cell stood that ran out of time, as Python's faulthandler wrote it when the cell ended.

https://docs.python.org/3/library/faulthandler.html: the innermost call stands first, and of several
threads the main one last.
"""

import re
from pathlib import PurePath

_THREAD = "(most recent call first):"
_CALL = re.compile(r'\s*File "(.+)", line (\d+) in (.+)')
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python\d")
_MOST_CHARS = 300


def stood(log: str) -> str:
    """Return the innermost call of the main thread that is no library's; "" if none was written."""
    _, is_written, main = log.rpartition(_THREAD)
    calls = [call for line in main.splitlines() if (call := _CALL.fullmatch(line))]
    if not is_written or not calls:
        return ""
    own = [call for call in calls if not _LIBRARY.search(call[1])]
    file, line, name = (own or calls)[0].groups()
    return f"it stood at {PurePath(file).name}:{line}, in {name}"[:_MOST_CHARS]
