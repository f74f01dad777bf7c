"""How a cell of a capture is recorded."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """How a cell of a capture is recorded, as the probe reads it; further keys are for scripts.

    A series of samples ends at ``half_width``, ``samples`` or ``seconds``, whichever comes first.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)

    warmup: int = Field(default=3, ge=0, le=10_000, description="calls before those that count")
    steps: int = Field(default=1, ge=1, le=10_000, description="in a profiled region or a sample")
    samples: int = Field(default=200, ge=1, le=100_000, description="the most in a series")
    half_width: int | float = Field(
        default=0.005, ge=0, lt=1, description="of the median's interval, relative, that is enough"
    )
    seconds: int | float = Field(
        default=2.0, gt=0, le=3600, description="the longest that a series takes"
    )
    rest_ms: int | float = Field(default=0, ge=0, lt=1000, description="before each sample")
    stacks: bool = Field(
        default=False, description="Python's frames and modules, of a torch capture; slows its host"
    )
    shapes: bool = Field(default=False, description="inputs of operators, of a torch capture")

    def given(self) -> dict[str, Any]:
        """Return the settings that the manifest gives, over the defaults of those that all need."""
        needed = {"warmup": self.warmup, "steps": self.steps}
        return needed | self.model_dump(exclude_unset=True)

    def own(self) -> list[str]:
        """Return the keys that only the problem's scripts can read."""
        return list(self.model_extra or {})
