"""Which kernels stand for each other: on names of real kernels, and for anything at all."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.diff.match import LaunchedKernel, matches

GEMM = "nvjet_sm90_tst_{}_v_bz_TNT"
ADD = "void at::native::vectorized_elementwise_kernel<{}, at::native::CUDAFunctor_add<float>>(int)"

names = st.sampled_from(
    [
        *(GEMM.format(tile) for tile in ("64x8_64x16_4x1", "128x8_64x12_2x1", "256x8_64x6_2x1")),
        *(ADD.format(width) for width in (2, 4, 8)),
        *("softmax_warp_forward", "triton_poi_fused_add_0", "triton_poi_fused_add_1", ""),
        *("mine", "yours", "other_kernel", "my_gemm", "your_gemm", "topk", "sort_pairs"),
    ]
)
launched = st.builds(
    LaunchedKernel,
    names,
    st.integers(1, 4),
    st.integers(0, 20),
    st.frozensets(st.sampled_from(["attention", "mlp"])),
)
kernels = st.lists(launched, max_size=9, unique_by=(lambda one: one.name, lambda one: one.order))


def step(*names: str, count: int = 10) -> list[LaunchedKernel]:
    """Return kernels that are launched in this order, each ``count`` times."""
    return [LaunchedKernel(name, count, order) for order, name in enumerate(names)]


def named(
    a: Iterable[LaunchedKernel], b: Iterable[LaunchedKernel]
) -> list[tuple[list[str], list[str]]]:
    matched = matches(list(a), list(b))
    return [
        ([kernel.name for kernel in match.a], [kernel.name for kernel in match.b])
        for match in matched
    ]


def pairs(a: Iterable[LaunchedKernel], b: Iterable[LaunchedKernel]) -> set[tuple[str, str]]:
    """Return the matches of one with one, or with none, whatever their order."""
    return {("".join(old), "".join(new)) for old, new in named(a, b)}


@given(kernels, kernels)
def test_every_kernel_is_in_exactly_one_match(
    a: list[LaunchedKernel], b: list[LaunchedKernel]
) -> None:
    matched = matches(a, b)
    assert sorted(kernel.name for match in matched for kernel in match.a) == sorted(
        x.name for x in a
    )
    assert sorted(kernel.name for match in matched for kernel in match.b) == sorted(
        x.name for x in b
    )
    assert all(match.a or match.b for match in matched)
    assert all(1 in (len(match.a), len(match.b)) or not (match.a and match.b) for match in matched)


@given(kernels, kernels)
def test_equal_names_stand_for_each_other_and_matches_follow_the_launches(
    a: list[LaunchedKernel], b: list[LaunchedKernel]
) -> None:
    matched = matches(a, b)
    for kernel in a:
        if kernel.name in {other.name for other in b}:
            (match,) = [match for match in matched if kernel in match.a]
            assert [other.name for other in (*match.a, *match.b)] == [kernel.name, kernel.name]
    first = [min(kernel.order for kernel in (*match.a, *match.b)) for match in matched]
    assert first == sorted(first)


@given(kernels)
def test_a_capture_matches_itself(a: list[LaunchedKernel]) -> None:
    ordered = [kernel.name for kernel in sorted(a, key=lambda kernel: kernel.order)]
    assert named(a, a) == [([name], [name]) for name in ordered]


def test_order_alone_changes_nothing() -> None:
    assert pairs(step("a", "b", "c"), step("c", "b", "a")) == {("a", "a"), ("b", "b"), ("c", "c")}


def test_a_kernel_with_another_template_argument_or_tile_is_the_same_kernel() -> None:
    old, new = (GEMM.format(tile) for tile in ("64x8_64x16_4x1", "128x8_64x12_2x1"))
    assert named(step("x", ADD.format(4), old), step(ADD.format(2), "x", new)) == [
        (["x"], ["x"]),
        ([ADD.format(4)], [ADD.format(2)]),
        ([old], [new]),
    ]


def test_added_and_removed_kernels_stand_for_none() -> None:
    more = {("x", "x"), ("", "softmax"), ("z", "z")}
    assert pairs(step("x", "z"), step("x", "softmax", "z")) == more
    fewer = {("x", "x"), ("softmax", ""), ("z", "z")}
    assert pairs(step("x", "softmax", "z"), step("x", "z")) == fewer
    assert named([], step("x")) == [([], ["x"])]
    assert named(step("x"), []) == [(["x"], [])]
    assert named([], []) == []


def test_what_is_added_elsewhere_is_no_replacement() -> None:
    expected = {("x", "x"), ("mine", ""), ("y", "y"), ("", "yours")}
    assert pairs(step("x", "mine", "y"), step("x", "y", "yours")) == expected


def test_a_kernel_launched_twice_as_often_stays_one_match() -> None:
    assert named(step("x", "y"), [LaunchedKernel("x", 10, 0), LaunchedKernel("y", 20, 1)]) == [
        *[(["x"], ["x"]), (["y"], ["y"])]
    ]
    assert named(
        [LaunchedKernel(ADD.format(4), 10, 0)], [LaunchedKernel(ADD.format(2), 20, 0)]
    ) == [([ADD.format(4)], [ADD.format(2)])]


def test_another_kernel_in_the_same_place_replaces() -> None:
    assert named(step("x", "mine", "y"), step("x", "yours", "y"))[1] == (["mine"], ["yours"])


def test_another_kernel_of_the_family_replaces_though_launched_otherwise() -> None:
    a = [LaunchedKernel("x", 10, 0), LaunchedKernel("my_gemm", 10, 1), LaunchedKernel("y", 10, 2)]
    b = [LaunchedKernel("x", 10, 0), LaunchedKernel("your_gemm", 20, 1), LaunchedKernel("y", 10, 2)]
    assert named(a, b)[1] == (["my_gemm"], ["your_gemm"])
    b[1] = LaunchedKernel("sort_pairs", 20, 1)
    assert (["my_gemm"], []) in named(a, b)


def test_one_is_split_into_three_and_three_are_merged_into_one() -> None:
    whole, cut = step("x", "fused", "y"), step("x", "first", "second", "third", "y")
    assert named(whole, cut)[1] == (["fused"], ["first", "second", "third"])
    assert named(cut, whole)[1] == (["first", "second", "third"], ["fused"])


def test_what_is_launched_otherwise_is_not_split() -> None:
    cut = [LaunchedKernel("first", 10, 1), LaunchedKernel("second", 30, 2)]
    matched = named(step("x", "fused"), [LaunchedKernel("x", 10, 0), *cut])
    assert matched == [(["x"], ["x"]), (["fused"], []), ([], ["first"]), ([], ["second"])]


def test_several_of_a_stem_go_by_their_order() -> None:
    old = [GEMM.format(tile) for tile in ("64x8_64x16_4x1", "128x8_64x12_2x1")]
    new = [GEMM.format(tile) for tile in ("32x8_64x16_4x1", "256x8_64x6_2x1")]
    adds = [ADD.format(width) for width in (2, 4)], [ADD.format(width) for width in (8, 16)]
    assert named(
        step(old[0], adds[0][0], old[1], adds[0][1]), step(new[0], adds[1][0], new[1], adds[1][1])
    ) == [
        *[([old[0]], [new[0]]), ([adds[0][0]], [adds[1][0]])],
        *[([old[1]], [new[1]]), ([adds[0][1]], [adds[1][1]])],
    ]


def test_several_of_a_stem_go_by_the_range_that_they_share() -> None:
    tiles = ("64x8_64x16_4x1", "128x8_64x12_2x1", "32x8_64x16_4x1", "256x8_64x6_2x1")
    old, early, late, third = (GEMM.format(tile) for tile in tiles)
    mlp, attention = frozenset(["mlp"]), frozenset(["attention"])
    a = [LaunchedKernel(old, 10, 0, mlp)]
    b = [LaunchedKernel(early, 10, 0, attention), LaunchedKernel(late, 10, 1, mlp)]
    assert ([old], [late]) in named(a, b)
    a.append(LaunchedKernel(third, 10, 1, attention))
    assert pairs(a, b) == {(old, late), (third, early)}
