"""Command line, turn-taking for the GPU, and the captured loop."""

import argparse, contextlib, fcntl, os, sys, time

_keep = []


def args():
    p = argparse.ArgumentParser()
    p.add_argument("--healthy", action="store_true")
    p.add_argument("--torch-trace")
    return p.parse_args()


def turn():
    """Wait for the GPU if the caller runs several programs side by side (imports overlap, GPU use doesn't)."""
    f = os.environ.get("HELDOUT_GPU_LOCK")
    if f:
        h = open(f, "w")
        fcntl.flock(h, fcntl.LOCK_EX)
        _keep.append(h)


def drive(step, n, a, nvtx=False, warm=3):
    import torch

    for i in range(warm):
        step(i)
    torch.cuda.synchronize()

    def loop():
        for i in range(warm, warm + n):
            if nvtx:
                torch.cuda.nvtx.range_push(f"step {i - warm}")
            step(i)
            if nvtx:
                torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()

    if a.torch_trace:
        from torch.profiler import profile, ProfilerActivity as P

        with profile(activities=[P.CPU, P.CUDA]) as p:
            t = time.time()
            loop()
            t = time.time() - t
        p.export_chrome_trace(a.torch_trace)
    else:
        torch.cuda.profiler.start()
        t = time.time()
        loop()
        t = time.time() - t
        torch.cuda.profiler.stop()
    for h in _keep:
        fcntl.flock(h, fcntl.LOCK_UN)
    print(
        f"{os.path.basename(sys.argv[0])} {'healthy' if a.healthy else 'planted'} {t / n * 1e3:.2f} ms/step",
        flush=True,
    )
