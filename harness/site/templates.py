"""Renders a template of this folder; whatever it prints is text unless it is markup already."""

from importlib import resources
from typing import Any


def rendered(name: str, **values: Any) -> str:
    """Return a template with its values, as HTML without blank lines."""
    import jinja2

    source = (resources.files("harness.site") / name).read_text(encoding="utf-8")
    made = jinja2.Environment(autoescape=True).from_string(source).render(**values)
    return "\n".join(line for line in made.splitlines() if line.strip())
