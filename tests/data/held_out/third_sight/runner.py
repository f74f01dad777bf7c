"""Small harness shared by the programs of this folder."""
import os
import sys
import time

import torch


def _close(state):
    fn = None
    if isinstance(state, dict):
        fn = state.get("close")
    else:
        fn = getattr(state, "close", None)
    if callable(fn):
        fn()


def _alone():
    """Hold the GPU alone: programs that are captured side by side take turns."""
    import fcntl

    handle = open(os.environ.get("GPU_TURN", "/tmp/fs/turn"), "w")
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def _sync():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main(setup, step, steps=10, warmup=3, record_shapes=False, with_stack=False):
    turn = _alone()
    torch.manual_seed(0)
    state = setup()
    try:
        for _ in range(warmup):
            step(state)
        _sync()
        trace = os.environ.get("TRACE_FILE")
        if trace:
            from torch.profiler import ProfilerActivity, profile

            with profile(
                activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                record_shapes=record_shapes,
                with_stack=with_stack,
            ) as prof:
                for _ in range(steps):
                    step(state)
                _sync()
            prof.export_chrome_trace(trace)
        elif os.environ.get("PROFILE") == "cuda":
            torch.cuda.profiler.start()
            for _ in range(steps):
                step(state)
            _sync()
            torch.cuda.profiler.stop()
        else:
            t0 = time.perf_counter()
            for _ in range(steps):
                step(state)
            _sync()
            dt = (time.perf_counter() - t0) / steps
            print(f"wall {dt:.6f} s/step", file=sys.stderr)
    finally:
        _close(state)
    print("ok", flush=True)


def main_memory(setup, step, steps=10, warmup=0, record_after_setup=False):
    turn = _alone()
    torch.manual_seed(0)
    path = os.environ.get("SNAPSHOT")
    mem = torch.cuda.memory

    def record():
        if path:
            torch.cuda.init()
            mem._record_memory_history(
                enabled="all", context="all", stacks="python", max_entries=200000
            )

    if not record_after_setup:
        record()
    state = None
    oom = None
    done = 0
    t0 = time.perf_counter()
    try:
        state = setup()
        if record_after_setup:
            record()
        for _ in range(warmup):
            step(state)
        _sync()
        t0 = time.perf_counter()
        for _ in range(steps):
            step(state)
            done += 1
        _sync()
    except torch.OutOfMemoryError as e:
        oom = str(e).split("\n")[0][:400]
        if path:
            mem._dump_snapshot(path)
    dt = (time.perf_counter() - t0) / max(done, 1)
    if path:
        if not oom:
            mem._dump_snapshot(path)
        mem._record_memory_history(enabled=None)
    print(
        f"wall {dt:.6f} s/step, {done} steps, peak {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB"
        f", reserved {torch.cuda.memory_reserved() / 2**30:.2f} GiB" + (f", stopped: {oom}" if oom else ""),
        file=sys.stderr,
    )
    if state is not None:
        _close(state)
    print("ok", flush=True)
