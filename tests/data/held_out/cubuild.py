"""Compile a CUDA source string into a shared library and load it."""
import ctypes
import hashlib
import os
import shutil
import subprocess


def _nvcc():
    for c in (
        os.path.join(os.environ.get("CUDA_HOME", "/nonexistent"), "bin", "nvcc"),
        shutil.which("nvcc") or "",
        "/usr/local/cuda/bin/nvcc",
        "/usr/local/cuda-13.0/bin/nvcc",
    ):
        if c and os.path.exists(c):
            return c
    raise RuntimeError("nvcc not found")


def load(src, name, flags=()):
    key = hashlib.sha1((src + repr(tuple(flags))).encode()).hexdigest()[:12]
    out = os.path.join("/tmp", f"fs_build_{os.getuid()}")
    os.makedirs(out, exist_ok=True)
    so = os.path.join(out, f"{name}_{key}.so")
    if not os.path.exists(so):
        cu = os.path.join(out, f"{name}_{key}.cu")
        with open(cu, "w") as f:
            f.write(src)
        tmp = f"{so}.{os.getpid()}.tmp"
        arch = os.environ.get("FS_ARCH", "sm_90")
        subprocess.run(
            [_nvcc(), "-O3", f"-arch={arch}", "-lineinfo", "-Xcompiler", "-fPIC", "-shared", *flags, "-o", tmp, cu],
            check=True,
        )
        os.replace(tmp, so)
    return ctypes.CDLL(so)


def p(t):
    return ctypes.c_void_p(t.data_ptr())


def stream():
    import torch

    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
