"""What collectives are, by the names of kernels, NCCL's calls before a launch, torch's words."""

from collections.abc import Sequence

import pytest

from harness.analysis import collective_kinds, communication
from harness.evidence.tables import SCHEMAS
from tests.support.timelines import rows

SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
Launch = tuple[Sequence[str], int]
"""The calls of NCCL before kernels are launched, and how many are."""


def kinds(launches: Sequence[Launch], kernel: str = SEND_RECV, ranks: int = 2) -> list[str]:
    """Return the kinds of kernels that one thread launches, after other calls each time."""
    tables: dict[str, list[dict[str, object]]] = {name: [] for name in SCHEMAS}
    now = 0
    for calls, kernels in launches:
        for name in calls:
            tables["ranges"].append({"name": name, "start_ns": (now := now + 10)})
        for device in range(kernels):
            number = len(tables["api_calls"]) + 1
            call = {"name": "cudaLaunchKernelExC", "start_ns": (now := now + 10)}
            tables["api_calls"].append(call | {"correlation": number})
            op = {"kind": "kernel", "name": kernel, "device": device, "start_ns": now}
            tables["gpu_ops"].append(op | {"duration_ns": 5, "correlation": number})
    for row in (*tables["ranges"], *tables["api_calls"]):
        row |= {"duration_ns": 5, "thread": 1}
    made = {name: rows(name, records) for name, records in tables.items()}
    work = communication.timed_work(made["gpu_ops"])
    called = collective_kinds.by_calls(made, ranks)
    return list(collective_kinds.communicating(work, called)["made"])


S, R, BEGIN, END = (f"NCCL:nccl{name}" for name in ("Send", "Recv", "GroupStart", "GroupEnd"))


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        ([BEGIN, S, END], "send"),
        ([R], "receive"),
        ([BEGIN, S, R, END], "send and receive"),
        ([BEGIN, S, S, R, R, END], "all-to-all"),
        ([BEGIN, S, S, R, END], "send and receive"),
        (["NCCL:ncclAlltoAll"], "all-to-all"),
        (["nccl:all_to_all"], "all-to-all"),
        (["nccl:send 0->1"], "send"),
        (["nccl:recv 0<-1"], "receive"),
        (["nccl:send 0->1", S, "nccl:recv 0<-1", R], "send and receive"),
        (["forward", BEGIN, END], "send or receive"),
    ],
)
def test_calls_say_what_a_launch_of_send_and_receive_is(calls: Sequence[str], kind: str) -> None:
    assert kinds([(calls, 1)]) == [kind]


def test_calls_count_for_the_launch_behind_them_alone() -> None:
    assert kinds([([S], 1), ([S, R], 1), ([R], 1)]) == ["send", "send and receive", "receive"]


def test_a_thread_that_launches_for_all_devices_makes_the_calls_of_all() -> None:
    both = [S, R] * 4
    assert kinds([([S, R], 2), (both, 2)]) == [*["send and receive"] * 2, *["all-to-all"] * 2]
    assert kinds([(both, 2)], ranks=4) == ["send and receive"] * 2


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        (
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "all-reduce",
        ),
        ("one_shot_all_reduce_add_norm", "all-reduce"),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)", "all-reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce-scatter"),
        ("ncclDevKernel_AllGather_RING_LL", "all-gather"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", "broadcast"),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL", "reduce"),
        ("ncclKernel_Generic", "send"),
    ],
)
def test_a_kernels_own_name_comes_first(kernel: str, kind: str) -> None:
    assert kinds([([S], 1)], kernel) == [kind]
