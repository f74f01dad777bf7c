"""Keep of published traces of serving engines what tells where a replayed kernel belongs.

    python tests/data/keep_serving.py NAME.json.gz NAME.capture.json.gz FOLDER

From AMD-AGI/TraceLens (MIT), tests/traces: a decode step that replays a CUDA graph, and the trace
of the graph's capture. Of the capture stay the launches, what they stood in, and its begin and end;
of the step the operations and their launches. Times begin at the first event; arguments that do
not matter to it are dropped.
"""

import bisect
import gzip
import json
import sys
from pathlib import Path
from typing import Any

_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_CALLS = ("cuda_runtime", "cuda_driver")
_CAPTURE = ("StreamBeginCapture", "StreamEndCapture")
_ARGS = ("correlation", "kernel", "device", "stream", "Input Dims", "Input type")
_ABOUT = ("schemaVersion", "hip_runtime_version", "baseTimeNanoseconds", "deviceProperties")

Event = dict[str, Any]


def _kept(events: list[Event]) -> list[Event]:
    """Return the operations, their launches, and the spans that hold a launch."""
    operations = [each for each in events if each.get("cat") in _GPU]
    work = {each["args"].get("correlation") for each in operations}
    launches = [
        each
        for each in events
        if each.get("cat") in _CALLS
        and (
            "Launch" in each["name"]
            or each["args"].get("correlation") in work
            or each["name"].endswith(_CAPTURE)
        )
    ]
    at = sorted(each["ts"] for each in launches)
    spans = [
        each
        for each in events
        if each.get("cat") in ("cpu_op", "user_annotation")
        or (each.get("cat") == "python_function" and each["name"].startswith("nn.Module: "))
    ]
    holding = [
        each
        for each in spans
        if bisect.bisect_left(at, each["ts"]) < bisect.bisect_right(at, each["ts"] + each["dur"])
    ]
    kept = [*holding, *launches, *operations]
    first = min(each["ts"] for each in kept)
    return [
        {key: each[key] for key in ("ph", "cat", "name", "tid", "dur")}
        | {"ts": round(each["ts"] - first, 3)}
        | {"args": {key: value for key, value in each.get("args", {}).items() if key in _ARGS}}
        for each in sorted(kept, key=lambda event: (event["ts"], -event["dur"]))
    ]


if __name__ == "__main__":
    *sources, folder = map(Path, sys.argv[1:])
    for source in sources:
        document = json.loads(gzip.decompress(source.read_bytes()))
        document = {key: document[key] for key in _ABOUT} | {
            "traceEvents": _kept(document["traceEvents"])
        }
        text = json.dumps(document, separators=(",", ":")).encode()
        (folder / source.name).write_bytes(gzip.compress(text, 9, mtime=0))
