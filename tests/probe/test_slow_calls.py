"""The library that lengthens calls, under a CUPTI that a test plays: which calls, by how much."""

import ctypes
import time
from typing import Any

import pytest

from harness.ground import process
from harness.run.intervene import compiled

DRIVER, RUNTIME = 1, 2
ENTER, EXIT = 0, 1
LONG_S = 0.01
"""Longer than a machine that is busy makes a call that takes no time."""
CUPTI = """
static void (*told)(void *, int, unsigned, void *);
int cuptiSubscribe(void **handle, void *callback, void *user)
{ (void)handle; (void)user; told = callback; return 0; }
int cuptiEnableDomain(unsigned on, void *handle, int domain)
{ (void)handle; return !(on && (domain == 1 || domain == 2)); }
void call(int domain, unsigned id, int site, const char *name, const void *parameters)
{ struct { int site; const char *name; const void *parameters; } data = {site, name, parameters};
  told(0, domain, id, &data); }
"""


class Program:
    """A program whose calls CUPTI tells of; ``ids`` number the functions."""

    def __init__(self, cupti: Any, shim: Any) -> None:
        self._cupti, self._shim = cupti, shim
        self._ids: dict[str, int] = {}

    def call(self, name: str, seconds: float = 0, size: int = 0, nested: str = "") -> None:
        """Make a call of so long; within it the call ``nested``, of the driver's."""
        words = (ctypes.c_size_t * 3)(0, 0, size)
        domain = RUNTIME if name.startswith("cuda") else DRIVER
        self._told(domain, ENTER, name, words)
        if nested:
            self._told(DRIVER, ENTER, nested, words)
            self._told(DRIVER, EXIT, nested, words)
        time.sleep(seconds)
        self._told(domain, EXIT, name, words)

    def added(self, kind: str, name: str, *, before: float = 0, **call: Any) -> float:
        """Return the seconds added to a call and what is ``before`` it, of a kind made twice."""
        self._shim.slow(b"none", 0.0)
        self.call("cuCtxSynchronize")
        start = self._shim.added_ns()
        self._shim.slow(kind.encode(), 1.0)
        time.sleep(before)
        self.call(name, **call)
        return float((self._shim.added_ns() - start) / 1e9)

    def _told(self, domain: int, site: int, name: str, words: Any) -> None:
        number = self._ids.setdefault(name, len(self._ids))
        self._cupti.call(domain, number, site, name.encode(), words)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("cupti")
    (folder / "cupti.c").write_text(CUPTI)
    file = folder / "libcupti.so"
    name = "-Wl,-soname,libcupti.so.13"
    process.output(
        ["cc", "-shared", "-fPIC", name, "-o", str(file), str(folder / "cupti.c")], deadline_s=60
    )
    cupti = ctypes.CDLL(str(file))
    library, why = compiled(folder)
    assert library, why
    shim = ctypes.CDLL(str(library))
    shim.slow.argtypes = (ctypes.c_char_p, ctypes.c_double)
    shim.added_ns.restype = ctypes.c_int64
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HARNESS_SLOW_LOG", str(folder))
        assert shim.InitializeInjection() == 1
    return Program(cupti, shim)


CALLS = {
    "a launch": ("launches", "cudaLaunchKernel"),
    "a launch by the driver": ("launches", "cuLaunchKernelEx"),
    "a graph": ("launches", "cudaGraphLaunch"),
    "a memset": ("launches", "cudaMemsetAsync"),
    "torch's allocation": ("allocation", "cudaMalloc"),
    "a free": ("allocation", "cuMemFree_v2"),
    "a segment that grows": ("allocation", "cuMemMap"),
    "code": ("host", "cuModuleLoadData"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_is_made_longer_by_what_it_took_for_its_kind_alone(
    program: Program, case: str
) -> None:
    kind, name = CALLS[case]
    assert program.added(kind, name, seconds=LONG_S) >= LONG_S
    for other in {"launches", "allocation", "copies"} - {kind}:
        # What lies before a call counts as a launch: here it is not slept in.
        assert program.added(other, name, seconds=LONG_S) < LONG_S


@pytest.mark.parametrize("name", ["cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoH_v2"])
def test_a_large_copy_is_made_longer_and_a_small_one_is_not(program: Program, name: str) -> None:
    assert program.added("copies", name, seconds=LONG_S, size=1 << 20) >= LONG_S
    assert program.added("copies", name, seconds=LONG_S, size=4) == 0.0


@pytest.mark.parametrize("name", ["cudaStreamSynchronize", "cuCtxSynchronize", "cudaEventQuery"])
@pytest.mark.parametrize("kind", ["launches", "allocation", "copies", "host"])
def test_waiting_for_the_device_is_never_made_longer(
    program: Program, kind: str, name: str
) -> None:
    assert program.added(kind, name, seconds=LONG_S) < LONG_S


def test_code_before_a_call_is_the_hosts_where_it_is_long(program: Program) -> None:
    assert program.added("host", "cudaLaunchKernel", before=LONG_S) >= LONG_S
    assert program.added("launches", "cudaLaunchKernel", before=LONG_S) < LONG_S


def test_the_drivers_call_within_one_of_the_runtimes_is_no_second_call(program: Program) -> None:
    assert program.added("allocation", "cudaLaunchKernel", nested="cuMemAlloc_v2") == 0.0


def test_what_is_asked_nothing_of_is_not_slowed(program: Program) -> None:
    assert program.added("none", "cudaLaunchKernel", seconds=LONG_S, before=LONG_S) == 0.0
