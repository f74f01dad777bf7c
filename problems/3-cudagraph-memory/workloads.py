"""Shared workloads as ``workloads``, also where this script was started by hand."""

from pathlib import Path
from pkgutil import extend_path

__path__ = extend_path([str(Path(__file__).parents[1] / "workloads")], __name__)
