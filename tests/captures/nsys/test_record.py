"""How a workload runs under Nsight Systems."""

from pathlib import Path

from harness.captures.nsys import record


def test_a_flag_of_the_manifest_replaces_the_default_of_its_option() -> None:
    argv = record.wrap(["python3", "repro.py"], Path("/out"), ("--cuda-graph-trace=graph",))
    assert [flag for flag in argv if flag.startswith("--cuda-graph-trace")] == [
        "--cuda-graph-trace=graph"
    ]
    assert argv[:2] == ["nsys", "profile"]
    assert argv[-2:] == ["python3", "repro.py"]
    assert "--trace=cuda,nvtx,cublas" in argv
