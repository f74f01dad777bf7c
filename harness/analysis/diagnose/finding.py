"""Findings: a cause, the evidence that bears it out, and what it costs, as plain data."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.analysis.diagnose import thresholds

if TYPE_CHECKING:
    from harness.analysis.busy import Busy
    from harness.analysis.memory_peak import MemoryPeak
    from harness.analysis.recording import Recording

Level = Literal[
    "serving", "multi-GPU", "timeline", "SM", "warp scheduler", "warp", "thread", "memory"
]
"""Where in the stack a cause lies, top down."""

MEMORY: Level = "memory"
"""The level of findings whose fractions are of bytes, not of time."""

MULTI_GPU: Level = "multi-GPU"
"""The level of findings on several GPUs, which say where these wait longest."""

HEALTHY = "healthy"
ABSTAIN = "abstain"
OUT_OF_MEMORY = "out-of-memory"
"""The program ended of it: listed first, whatever else costs it."""


@dataclass(frozen=True)
class Evidence:
    """One number that a finding rests on; ``source`` is the label of its capture.

    ``threshold`` is what the value was held against, in the same unit; None where it only explains.
    """

    metric: str
    value: float
    threshold: float | None
    source: str
    unit: str = ""


@dataclass(frozen=True)
class Finding:
    """A cause that the evidence bears out.

    ``where`` names the device, the range or the kernel. ``share`` is the time that the cause
    explains, ``gain`` what removing it saves by estimate: fractions of the subject's time
    (of a memory finding, of its peak), None where the evidence does not say. ``confidence`` lies in
    [0, 1]. ``fix`` are families of remedies, ``next`` what to capture where the evidence ends,
    as hints (harness.analysis.hint) where not every program can follow; ``title`` says the cause in
    a sentence, for people. ``parts`` are the findings that it tells together, as one fix removes
    them; the most important one gave the id.
    """

    id: str
    level: Level
    where: str
    kernel: str | None = None
    share: float | None = None
    gain: float | None = None
    confidence: float = 1.0
    evidence: tuple[Evidence, ...] = ()
    fix: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    title: str = ""
    parts: tuple["Finding", ...] = ()

    @property
    def stake(self) -> float:
        """Return the time at stake: the gain, else the share, as a fraction; 0 if neither."""
        if self.gain is not None:
            return self.gain
        return self.share or 0.0

    @property
    def is_bound(self) -> bool:
        """Return whether it names what limits kernels that waste nothing, for MATTERS or more."""
        named = self.kernel is not None and self.id.endswith("-bound")
        return named and self.gain == 0 and (self.share or 0.0) >= thresholds.MATTERS


@dataclass(frozen=True)
class FindingKind:
    """What all findings of one id have in common; ``title`` is one sentence.

    ``broader`` is the id of a finding that holds wherever this one does, and that is named where
    the evidence that tells them apart is missing.
    """

    id: str
    level: Level
    title: str
    fix: tuple[str, ...] = ()
    broader: str = ""

    def finding(
        self,
        where: str,
        evidence: tuple[Evidence, ...],
        *,
        share: float | None = None,
        gain: float | None = None,
        confidence: float = 1.0,
        kernel: str | None = None,
        capture_next: tuple[str, ...] = (),
    ) -> Finding:
        """Return a finding of this kind; see Finding for what the arguments are."""
        return Finding(
            id=self.id,
            level=self.level,
            where=where,
            kernel=kernel,
            share=share,
            gain=gain,
            confidence=confidence,
            evidence=evidence,
            fix=self.fix,
            next=capture_next,
            title=self.title,
        )


@dataclass(frozen=True)
class KernelDiagnosis:
    """The findings of one profiled launch, most important first; fractions are of its own time."""

    name: str
    launch: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Diagnosis:
    """All findings of a subject, most important first, and those of each profiled launch.

    ``step``: of what time the fractions of findings on timelines are; None without a timeline that
    is sound. ``recording``: what the captures are. ``memory``: what the peak of each memory
    snapshot is made of. ``notes``: what the timelines are worth telling beside their findings.
    """

    findings: tuple[Finding, ...]
    kernels: tuple[KernelDiagnosis, ...] = ()
    step: "Busy | None" = None
    recording: "Recording | None" = None
    memory: "tuple[MemoryPeak, ...]" = ()
    notes: tuple[str, ...] = ()


def as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the diagnosis as ``harness diagnose --json`` prints it.

    Without launches it has no "kernels", without memory snapshots no "memory", without notes none.
    """
    document: dict[str, Any] = {
        "recording": diagnosis.recording and asdict(diagnosis.recording),
        "step": diagnosis.step and asdict(diagnosis.step),
        "findings": [_plain(each) for each in diagnosis.findings],
    }
    if diagnosis.notes:
        document["notes"] = list(diagnosis.notes)
    if diagnosis.memory:
        document["memory"] = [asdict(each) for each in diagnosis.memory]
    if diagnosis.kernels:
        document["kernels"] = [
            {
                "name": each.name,
                "launch": each.launch,
                "findings": [_plain(finding) for finding in each.findings],
            }
            for each in diagnosis.kernels
        ]
    return document


def _plain(finding: Finding) -> dict[str, Any]:
    plain = {key: value for key, value in asdict(finding).items() if key != "title"}
    return plain | {"parts": [_plain(part) for part in finding.parts]}
