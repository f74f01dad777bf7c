"""What a command line names, as the commands open it that join the events of a timeline."""

from harness.cli import output
from harness.evidence.section import PART
from harness.evidence.subject import CaptureFiles, Folder, Subject
from harness.extract import door


def section_of(text: str) -> Subject | CaptureFiles | Folder:
    """Return the subject that ``text`` names; of a long timeline the middle, as stderr says then.

    Raises as ``door.opened``.
    """
    opened = door.opened(text, "section")
    files = opened.files if isinstance(opened, CaptureFiles) else (opened,)
    for file in files:
        for capture in file.captures.values() if isinstance(file, Subject) else ():
            if part := capture.conditions.get(PART):
                output.say(f"note: {file.label}: {PART}: {part}", to_stderr=True)
    return opened
