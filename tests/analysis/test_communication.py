"""How a device's time divides, and who waits in collectives, counted nanosecond by nanosecond."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis import communication, copies, derived
from tests.support.timelines import rows

NAMES = {
    "gemm": ("kernel", None),
    "ncclDevKernel_AllReduce_Sum_f32": ("kernel", None),
    "[CUDA memcpy Host-to-Device] (Pageable -> Device)": ("copy", "Host-to-Device"),
    "[CUDA memcpy Device-to-Host] (Device -> Pinned)": ("copy", "Device-to-Host"),
    "[CUDA memcpy Device-to-Device] (Device -> Device)": ("copy", "Device-to-Device"),
    "[CUDA memcpy Peer-to-Peer] (Device -> Device)": ("copy", "Peer-to-Peer"),
    "[CUDA memset]": ("memset", None),
}
GEMM, NCCL, PAGEABLE, PINNED, INSIDE, PEER, MEMSET = NAMES
OPS = st.lists(
    st.tuples(
        st.sampled_from(list(NAMES)), st.integers(0, 1), st.integers(0, 50), st.integers(0, 12)
    ),
    min_size=1,
    max_size=12,
)
Made = list[tuple[str, int, int, int]]


def operations(ops: Made) -> pl.DataFrame:
    return rows("gpu_ops", [operation(*op) for op in ops])


def operation(name: str, device: int, start: int, duration: int) -> dict[str, object]:
    kind, direction = NAMES[name]
    row: dict[str, object] = {"kind": kind, "copy_kind": direction, "name": name, "bytes": 8}
    return row | {"device": device, "start_ns": start, "duration_ns": duration}


def instants(ops: Made, names: set[str], device: int) -> set[int]:
    return {
        at
        for name, on, start, duration in ops
        if name in names and on == device
        for at in range(start, start + duration)
    }


@given(OPS)
def test_each_nanosecond_of_a_device_is_counted_once(ops: Made) -> None:
    for row in communication.device_time(operations(ops)).iter_rows(named=True):
        mine = [op for op in ops if op[1] == row["device"]]
        span = max(start + duration for *_, start, duration in mine) - min(op[2] for op in mine)
        compute = instants(mine, {GEMM, INSIDE, MEMSET}, row["device"])
        communicate = instants(mine, {NCCL, PEER}, row["device"])
        copied = instants(mine, {PAGEABLE, PINNED}, row["device"])
        assert row["span_ns"] == span
        assert row["compute_ns"] == len(compute)
        assert row["communication_ns"] == len(communicate - compute)
        assert row["copy_ns"] == len(copied - communicate - compute)
        assert row["idle_ns"] == span - len(compute | communicate | copied)
        assert row["communication_total_ns"] == len(communicate)
        assert row["copy_total_ns"] == len(copied)


@given(OPS)
def test_a_copy_is_alone_while_no_kernel_runs(ops: Made) -> None:
    table = copies.table(operations(ops))
    assert table["count"].sum() == sum(NAMES[op[0]][0] == "copy" for op in ops)
    for row in table.iter_rows(named=True):
        alike = {
            name
            for name, (_, direction) in NAMES.items()
            if direction == row["copy_kind"] is not None
        }
        ran = instants(ops, alike, row["device"])
        kernels = instants(ops, {GEMM, NCCL}, row["device"])
        assert row["alone_ns"] == len(ran - kernels)
        assert row["total_ns"] == sum(
            op[3] for op in ops if op[0] in alike and op[1] == row["device"]
        )


@pytest.mark.parametrize(
    ("name", "direction", "memory"),
    [
        ("[CUDA memcpy Host-to-Device] (Pageable -> Device)", "Host-to-Device", copies.PAGEABLE),
        ("Memcpy HtoD (Pinned -> Device)", "Host-to-Device", copies.PINNED),
        ("Memcpy DtoH (Device -> Pageable)", "Device-to-Host", copies.PAGEABLE),
        ("Memcpy DtoD (Device -> Device)", "Device-to-Device", copies.DEVICE),
        ("[CUDA memcpy Device-to-Device] (Device Static -> Device)", None, copies.DEVICE),
        ("[CUDA memcpy Unified Host-to-Device]", "Unified Host-to-Device", copies.MANAGED),
        ("CopyHostToDevice", "Host-to-Device", copies.UNKNOWN),
        ("[CUDA memcpy Host-to-Device]", "Host-to-Device", copies.UNKNOWN),
    ],
)
def test_the_kind_of_memory_is_read_from_both_profilers_names(
    name: str, direction: str | None, memory: str
) -> None:
    assert copies.memory(name, direction) == memory


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", True),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)", True),
        ("void softmax<cub::BlockAllReduce<float>>(float*)", False),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(Params)", False),
    ],
)
def test_collectives_are_told_by_their_function(kernel: str, expected: bool) -> None:
    assert communication.communicates(kernel) is expected


def test_what_a_rank_stays_longer_than_the_last_one_it_waited() -> None:
    first = operations([(NCCL, 0, 0, 100), (NCCL, 0, 200, 30)])
    second = operations([(NCCL, 0, 1_000_070, 30), (NCCL, 0, 1_000_190, 40), (GEMM, 0, 0, 5)])
    found = communication.collectives([first, second])
    assert found.select("number", "rank", "waited_ns").rows() == [
        (0, 0, 70),
        (0, 1, 0),
        (1, 0, 0),
        (1, 1, 10),
    ]
    assert communication.collectives([first, second[:1]]).is_empty()


def test_the_wait_for_the_last_rank_is_that_of_the_middle_collective() -> None:
    # The GPU that came first stays 2, 30 and 4 µs longer; in the first of a step, hosts differ.
    lengths = [(7_000, 9_000), (36_000, 6_000), (6_500, 10_500)]
    made = [
        (NCCL, device, 100_000 * at, length)
        for at, both in enumerate(lengths)
        for device, length in enumerate(both)
    ]
    tables = {"gpu_ops": operations(made)}
    assert derived.collective_wait(tables) == pytest.approx(4 / 2)
    alone = [row for row in made if row[1] == 0]
    assert derived.collective_wait({"gpu_ops": operations(alone)}) is None


def test_exposed_communication_is_a_step_s_mean_over_the_devices() -> None:
    # Device 0 communicates alone for 40 and 20 ns, device 1 for 10: (60 + 10) / 2 over two steps.
    made = [(GEMM, 0, 0, 100), (NCCL, 0, 80, 60), (GEMM, 0, 200, 50), (NCCL, 0, 250, 20)]
    made += [(GEMM, 1, 0, 130), (NCCL, 1, 100, 40)]
    ranges: list[dict[str, object]] = [
        {"name": "step:made", "start_ns": start, "duration_ns": 90, "thread": 1}
        for start in (0, 150)
    ]
    tables = {
        "gpu_ops": operations(made),
        "ranges": rows("ranges", ranges),
        "facts": rows("facts", [{"name": "declared step:made", "value": 2.0}]),
    }
    assert derived.exposed_communication(tables) == pytest.approx(70 / 2 / 2 / 1e6)
    assert derived.exposed_communication(tables | {"facts": rows("facts", [])}) is None
