"""Compile and load ``hgemm_operator.cpp``, which registers ``worklogs::hgemm``.

Needs a C++ compiler, Python's headers and torch's. ``python extension.py`` compiles it ahead.
"""

import hashlib
import importlib.util
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import torch
from cubins import CACHE, compiled, compiling

SOURCE = Path(__file__).resolve().with_name("hgemm_operator.cpp")
TORCH = Path(torch.__file__).parent
FLAGS = "-std=c++20", "-O2", "-Wall", "-fPIC", "-shared", "-fvisibility=hidden"
LIBRARIES = "c10", "torch_cpu", "torch_python"


def compiler() -> str | None:
    """Return the C++ compiler: ``CXX``, or one that is usual; None if the machine has none."""
    candidates = (os.environ.get("CXX"), "g++", "c++", "clang++")
    return next(filter(None, map(shutil.which, filter(None, candidates))), None)


def load(cache: Path = CACHE) -> ModuleType | None:
    """Return the extension, compiled unless cached; None without it and without a compiler.

    Raises ``BuildError`` if the compiler fails.
    """
    library = cache / f"{SOURCE.stem}-{_digest()}.so"
    if not library.exists():
        found = compiler()
        if found is None:
            return None
        with compiling(library) as unfinished:
            compiled(_command(found, unfinished), SOURCE.name)
    spec = importlib.util.spec_from_file_location(SOURCE.stem, library)
    if spec is None or spec.loader is None:
        raise ImportError(f"{library} is no extension of this Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _command(program: str, target: Path) -> list[str]:
    """Return the compiler's command line."""
    folders = TORCH / "include", TORCH / "include/torch/csrc/api/include"
    headers = [*map(str, folders), sysconfig.get_path("include")]
    argv = [program, *FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
    argv += [part for folder in headers for part in ("-isystem", folder)]
    argv += [str(SOURCE), "-o", str(target), f"-L{TORCH / 'lib'}", f"-Wl,-rpath,{TORCH / 'lib'}"]
    return [*argv, *(f"-l{name}" for name in LIBRARIES)]


def _digest() -> str:
    about = torch.__version__, sys.implementation.cache_tag, *FLAGS, *LIBRARIES
    return hashlib.sha256(repr(about).encode() + SOURCE.read_bytes()).hexdigest()[:16]


if __name__ == "__main__":
    print("no C++ compiler" if load() is None else "compiled")
