"""Renders a problem's templates; the names that they ask for are looked up in the registry.

Nothing is computed in a template, and no number stands in it. A template is a contributor's: a
process of its own holds it (:mod:`harness.report.template`), and what it asks for is answered here.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Self

from harness.ground import process
from harness.ground.errors import ManifestError, UsageError
from harness.report import arguments, paragraphs, source_text
from harness.report.page import Page
from harness.report.sections import SECTIONS
from harness.report.template.channel import Channel, Message, packed, unpacked

MOST_CALLS = 3_000
"""Calls of sections that one page may make."""
MOST_CPU_S = 120
"""Seconds of CPU time that the sections of one page may take."""

MOST_DEEP = 20
"""Blocks of calls, one within another."""

_SILENT_S = 60.0
"""Seconds without a message after which the other process is taken for dead."""


class _TemplateError(Exception):
    """Carries a ManifestError through the section whose block could not be rendered."""

    def __init__(self, mistake: ManifestError) -> None:
        self.mistake = mistake


class Templates:
    """The process that holds templates, from ``with`` to its end."""

    def __enter__(self) -> Self:
        self._process = process.guardian(
            [sys.executable, "-m", "harness.report.template.interpreter"],
            cwd=Path(__file__).parents[2],
            env=process.environment({}),
        )
        assert self._process.stdin and self._process.stdout  # noqa: S101 - for the type checker
        self._channel = Channel(self._process.stdout.fileno(), self._process.stdin.fileno())
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # it has nothing to lose
        with contextlib.suppress(OSError):
            self._process.communicate()

    def render(self, template: Path, page: Page) -> str:
        """Return the page that ``template`` makes of ``page``, whose figures it fills.

        ManifestError, with the template's line, for whatever is wrong with the template: syntax, a
        name, an argument, or too much time, memory or text.
        """
        conversation = _Conversation(self._channel, template, page)
        try:
            return paragraphs.joined(conversation.hold())
        except _TemplateError as error:
            raise error.mistake from None
        except TimeoutError:
            what = f"says nothing for {_SILENT_S:.0f} s"
            raise ManifestError(what, where=template, remedy="end its loops") from None
        except (EOFError, BrokenPipeError):
            raise ManifestError("ends the template engine", where=template) from None


def render(template: Path, page: Page) -> str:
    """Return what one template makes of a page: see :meth:`Templates.render`."""
    with Templates() as templates:
        return templates.render(template, page)


class _Conversation:
    """What one page asks for, and the answers."""

    def __init__(self, channel: Channel, template: Path, page: Page) -> None:
        self._channel = channel
        self._template = template
        self._page = page
        self._calls = 0
        self._depth = 0
        self._since = time.process_time()

    def hold(self) -> str:
        """Return the page's text."""
        problem, target = self._page.problem, self._page.target
        known = problem.model_dump(mode="json") | {"number": problem.number}
        report = f"reports/{problem.folder.name}/{target.slug}"
        self._channel.send(
            {
                "page": {"text": source_text.read(self._template), "path": str(self._template)},
                "problem": packed(known),
                "verbs": list(SECTIONS),
                "facts": {"on_gpu": target.device == "cuda", "report": report},
            }
        )
        return str(self._until("text"))

    def _until(self, wanted: str) -> Any:
        """Answer what is asked until the other side sends ``wanted``, and return that."""
        while True:
            message = self._channel.receive(_SILENT_S)
            if wanted in message:
                return message[wanted]
            if "part" in message:
                self._channel.send(self._part(str(message["part"])))
            elif "call" in message:
                self._channel.send(self._answer(message))
            else:
                raise _TemplateError(self._mistake(message))

    def _part(self, name: str) -> Message:
        """Answer a request for a file of the template's folder."""
        path = self._template.parent / name
        if "/" in name or "\0" in name or name in ("", ".", "..") or not os.path.lexists(path):
            return {"part": None}
        try:
            return {"part": {"text": source_text.read(path), "path": str(path)}}
        except ManifestError as error:
            return {"refused": f"the part {name!r} {error.what}", "remedy": error.remedy}

    def _answer(self, call: Message) -> Message:
        name = str(call["call"])
        try:
            value = self._called(name, call)
        except (ManifestError, UsageError) as error:
            where = f" ({error.where})" if error.where else ""
            return {"refused": f"w.{name}: {error.what}{where}", "remedy": error.remedy}
        except KeyError as error:
            return {"refused": f"w.{name}: there is no {error.args[0]!r}", "remedy": ""}
        except (IndexError, ValueError, TypeError, ArithmeticError) as error:
            what = f"w.{name}: its arguments make no section ({type(error).__name__}: {error})"
            return {"refused": what, "remedy": ""}
        return {"value": packed(value)}

    def _called(self, name: str, call: Message) -> Any:
        """Return a section's text for a call's arguments; UsageError if it cannot be called."""
        if name not in SECTIONS:
            raise UsageError("no section of a worklog")
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise UsageError(f"the page calls more than {MOST_CALLS} sections")
        if time.process_time() - self._since > MOST_CPU_S:
            raise UsageError(f"the page's sections take more than {MOST_CPU_S} s of CPU time")
        section = SECTIONS[name]
        named = {key: unpacked(value) for key, value in call["named"].items()}
        if call["block"]:
            named["caller"] = self._block
        bound = arguments.bound(section, self._page, unpacked(call["given"]), named)
        return section(*bound.args, **bound.kwargs)

    def _block(self) -> str:
        """Return the text of the block of the call that is being answered."""
        if self._depth == MOST_DEEP:
            raise UsageError(f"blocks nest more than {MOST_DEEP} deep")
        self._depth += 1
        self._channel.send({"block": True})
        text = str(self._until("blocked"))
        self._depth -= 1
        return text

    def _mistake(self, message: Message) -> ManifestError:
        if "died" in message:
            status = int(message["died"])
            number = signal.Signals(-status) if status < 0 else None
            if number in (signal.SIGKILL, signal.SIGXCPU):
                what = "takes more CPU time or memory than a template may"
                return ManifestError(what, where=self._template, remedy="end its loops")
            what = f"ends the template engine ({number.name if number else f'exit {status}'})"
            return ManifestError(what, where=self._template, remedy="nest less")
        line = "" if message["line"] is None else f", line {message['line']}"
        what, remedy = str(message["error"]), str(message["remedy"])
        return ManifestError(what, where=f"{message['path']}{line}", remedy=remedy)
