"""The process that holds templates: it forks for each page, within limits of time and memory.

    python -m harness.report.template.interpreter

stdin and stdout are a :class:`~harness.report.template.channel.Channel`. A request to render has
``page`` (its text and path), ``problem``, ``verbs`` and ``facts``. Then, by a message's key:

To the caller: ``part``, the name of an included part; ``call``, a verb, with ``given`` and
``named``, its arguments, and ``block``, whether it has one; ``blocked``, the text of that;
``text``, the page; ``error``, with ``remedy``, ``path`` and ``line``; ``died``, an exit status.

From the caller: ``part``, text and path, or None; ``value``, the answer to a call; ``refused``,
with ``remedy``, in place of either; ``block``, a request for the text of a call's block.
"""

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from jinja2 import BaseLoader, TemplateError, TemplateNotFound, TemplateSyntaxError, Undefined
from jinja2.exceptions import SecurityError, UndefinedError

from harness.report.template.channel import Channel, Message, packed, unpacked
from harness.report.template.sandbox import MOST_CHARACTERS, Sandbox, TooLongError, Verbs

CPU_S = 5
"""Seconds of CPU time for a page, without its sections."""
MEMORY = 1 << 30
"""Bytes of address space."""
_GRACE_S = 2
_LONGEST = 500
"""Characters of an error's text."""

REMEDY = "a template knows problem, w.on_gpu and what harness/report/sections/__init__.py lists"


class RefusedError(Exception):
    """A section refused its arguments, or a part is not to be read; with the remedy."""


class LateError(Exception):
    """A page has spent its CPU time."""


class _Parts(BaseLoader):
    """Brings the page and the parts that it includes; ``paths`` are theirs."""

    def __init__(self, channel: Channel, page: Message) -> None:
        self._channel = channel
        self._page: Message | None = page
        self.paths = {str(page["path"])}

    def get_source(self, environment: object, template: str) -> tuple[str, str, Callable[[], bool]]:  # noqa: ARG002 - jinja's signature
        """Return text and path of a part; the first one asked for is the page."""
        part, self._page = self._page, None
        if part is None:
            self._channel.send({"part": template})
            reply = self._channel.receive()
            if "refused" in reply:
                raise RefusedError(reply["refused"], reply["remedy"])
            part = reply["part"]
        if part is None:
            raise TemplateNotFound(template)
        self.paths.add(part["path"])
        return part["text"], part["path"], lambda: True


def main() -> None:
    """Render pages, each in a fork, until stdin ends or one of them dies."""
    channel = Channel(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller ends us
    while True:
        try:
            request = channel.receive()
        except EOFError:
            return
        page = os.fork()
        if page == 0:
            _answer(channel, request)
        status = os.waitstatus_to_exitcode(os.waitpid(page, 0)[1])
        if status:
            channel.send({"died": status})
            return


def _answer(channel: Channel, request: Message) -> None:
    """Render a page in this process, a fork, and end it."""
    try:
        parts = _Parts(channel, request["page"])
        _confine()
        try:
            answer: Message = {"text": _rendered(channel, parts, request)}
        except Exception as error:
            signal.signal(signal.SIGXCPU, signal.SIG_IGN)
            _limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)
            answer = _mistake(error, parts.paths, request["page"]["path"])
        channel.send(answer)
        os._exit(0)
    finally:
        os._exit(1)


def _confine() -> None:
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, CPU_S, CPU_S + _GRACE_S)
    _limit(resource.RLIMIT_AS, MEMORY)
    signal.signal(signal.SIGXCPU, _spent)


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    allowed = resource.getrlimit(kind)[1]
    if allowed != resource.RLIM_INFINITY:
        soft = allowed if soft == resource.RLIM_INFINITY else min(soft, allowed)
        hard = None if hard is None else min(hard, allowed)
    resource.setrlimit(kind, (soft, allowed if hard is None else hard))


def _spent(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    raise LateError


def _rendered(channel: Channel, parts: _Parts, request: Message) -> str:
    def ask(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return _asked(channel, name, given, named)

    verbs = Verbs(request["verbs"], request["facts"], ask)
    template = Sandbox(parts).get_template("the page")
    page = template.generate(w=verbs, problem=unpacked(request["problem"]))
    blocks, length = [], 0
    for block in page:
        blocks.append(block)
        length += len(block)
        if length > MOST_CHARACTERS:
            page.throw(TooLongError())  # type: ignore[attr-defined]  # a generator: it knows the line
    return "".join(blocks)


def _asked(channel: Channel, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Return the answer to a verb's call; the text of its block is made only if it is asked for."""
    block = named.pop("caller", None)
    for value in (*given, *named.values()):
        if isinstance(value, Undefined):
            str(value)  # which says what is undefined
    call = {"call": name, "given": packed(given), "named": packed(named)["map"]}
    channel.send(call | {"block": block is not None})
    while True:
        reply = channel.receive()
        if "block" in reply and block is not None:
            channel.send({"blocked": str(block())})
        elif "refused" in reply:
            raise RefusedError(reply["refused"], reply["remedy"])
        else:
            return unpacked(reply["value"])


def _mistake(error: Exception, paths: set[str], page: str) -> Message:
    """Return what went wrong, what to do, and the path and line of the template where it did."""
    what, remedy = _told(error)
    place: Message = {"path": page, "line": None}
    if isinstance(error, TemplateSyntaxError):
        place = {"path": error.filename or page, "line": error.lineno}
    else:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        lines = [line for _, line in traceback.walk_tb(error.__traceback__)]
        for frame, line in zip(frames, lines, strict=True):
            if frame.f_code.co_filename in paths:
                place = {"path": frame.f_code.co_filename, "line": line}
    return {"error": " ".join(what.split())[:_LONGEST], "remedy": remedy, **place}


def _told(error: Exception) -> tuple[str, str]:
    """Return a mistake in words, and its remedy."""
    if isinstance(error, RefusedError):
        what, remedy = error.args
        return str(what), str(remedy)
    if isinstance(error, LateError):
        return f"takes more than {CPU_S} s of CPU time", "end its loops"
    if isinstance(error, TooLongError):
        return f"makes a page of more than {MOST_CHARACTERS / 1e6:.0f} MB", "print less"
    if isinstance(error, MemoryError):
        return f"takes more than {MEMORY >> 30} GB of memory", "make shorter texts"
    if isinstance(error, RecursionError):
        return "nests too deeply, or calls itself without end", "nest less"
    if isinstance(error, TemplateNotFound):
        return f"no part {error.name!r} beside it", "name a file of the template's folder"
    if isinstance(error, UndefinedError | SecurityError):
        return str(error), REMEDY
    if isinstance(error, TemplateError):
        return str(error.message), ""
    return f"{type(error).__name__}: {error}", ""


if __name__ == "__main__":
    main()
    sys.exit(0)
