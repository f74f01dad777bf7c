"""The base of every record: its way from JSON, and the error where a record is damaged."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Strict, ValidationError

from harness.ground import files, json_text
from harness.ground.errors import EvidenceError

Item = TypeVar("Item")
Model = TypeVar("Model", bound="Record")
Many = Annotated[tuple[Item, ...], Strict(strict=False)]  # a JSON array is read as a tuple


class Record(BaseModel):
    """The base of every record: immutable, strictly typed, with unknown keys kept."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", protected_namespaces=())

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON-ready data; reading it again gives an equal record."""
        return self.model_dump(mode="json")


def parsed(model: type[Model], value: Mapping[str, Any], path: Path) -> Model:
    """Return ``value``, which ``path`` holds, as a record.

    Raises EvidenceError that names the file and the first key whose value is missing or of
    another type.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = json_text.path(first["loc"])
        raise EvidenceError(f"{key}: {first['msg']}", where=path) from None


def read(model: type[Model], path: Path, *, unsealed: bool = False) -> Model:
    """Return the record that the JSON file at ``path`` holds; ``unsealed``: also without a seal.

    Raises StoreError as :func:`files.read_json` does, EvidenceError as :func:`parsed` does.
    """
    return parsed(model, files.read_json(path, unsealed=unsealed), path)
