"""The configurations of sliced: a few rows or columns of C, with K cut into slices."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ladder import BOX, ELEMENT_BYTES, HOPPER, MAX_SHARED, SMS, Step, ring_bytes

MOST_SLICES = 8
"""The largest cluster that every device launches."""
WIDE = 128
"""The most rows of a tile of sliced."""
NARROW = (8, 16, 32, 64, 128)
"""Columns of a tile of sliced: of C's rows, if they are few, or of its columns."""
BLOCKS_AT_ONCE = 2
"""Blocks of sliced for each multiprocessor beyond which it is not cut further."""
MOST_WAVES, MOST_GROUPS = 4, 16
"""Waves that groups of sliced's clusters fill at most: of four the last idles little. And groups of
a tile for each block of a cluster: a block of the last group adds its rows of all groups."""
LEAST_STEPS = 2
"""Steps of 64 of K that a part of a tile has at least."""


@dataclass(frozen=True)
class Slicing:
    """A configuration of sliced. ``few_rows``: C's rows are the narrow side, else its columns.

    ``x_tma``, ``y_tma``: whether the wide and the narrow operand come by TMA. ``transposed``: the
    narrow one has rows of k, and a transposed copy is read in its place. ``wide``: rows of a tile,
    64 or 128.
    """

    few_rows: bool
    narrow: int
    x_tma: bool
    y_tma: bool
    transposed: bool = False
    wide: int = WIDE

    @property
    def by_tma(self) -> bool:
        """Whether both operands come by TMA."""
        return self.x_tma and self.y_tma

    @property
    def loaders(self) -> int:
        """Loading warpgroups, or 1 where a thread loads by TMA.

        One waits for its loads before it begins the next, so it takes several to keep memory busy:
        as many as registers suffice for, beside a consumer for each 64 rows of a tile.
        """
        if self.by_tma:
            return 1
        both = not (self.x_tma or self.y_tma)
        if self.wide == WIDE:
            warpgroups = 4 if both else 5
        elif self.narrow > BOX:
            warpgroups = 4
        else:
            warpgroups = 7 if self.y_tma else 6
        return warpgroups - self.wide // 64

    @property
    def stages(self) -> int:
        """As many stages as fit beside a second block: at least 4, at most 1024 rows of tiles."""
        stage = (self.wide + self.narrow) * BOX * ELEMENT_BYTES + 16
        room = MAX_SHARED // 2 - 1024 if self.narrow <= BOX else MAX_SHARED
        return max(4, min(1024 // self.wide, room // stage))

    @property
    def name(self) -> str:
        """The narrow side's place and size, which operands come by TMA (c: a transposed copy).

        Then the rows of a tile, if they are 64.
        """
        loads = "".join("t" if tma else "r" for tma in (self.x_tma, self.y_tma))
        loads = loads[0] + "c" if self.transposed else loads
        rows = "_64" if self.wide < WIDE else ""
        return f"{'m' if self.few_rows else 'n'}{self.narrow}_{loads}{rows}"


def sliced(slicing: Slicing, layout: str) -> Step:
    """Return sliced for a layout.

    With few rows of C, the wide operand is the transposed B and the narrow one the transposed A.
    """
    if slicing.transposed:
        turned = "n" + layout[1] if slicing.few_rows else layout[0] + "t"
        return sliced(replace(slicing, transposed=False), turned)
    a_mn, b_mn = layout[0] == "t", layout[1] == "n"
    x_mn, y_mn = (b_mn, a_mn) if slicing.few_rows else (a_mn, b_mn)
    return Step(
        f"sliced_{slicing.name}_{layout}",
        "K in slices",
        "A cluster's blocks take a part of K each and add through shared memory.",
        HOPPER,
        (slicing.wide, slicing.narrow, BOX),
        threads=128 * (slicing.wide // 64 + slicing.loaders),
        shared_bytes=ring_bytes(slicing.wide, slicing.narrow, slicing.stages),
        stages=slicing.stages,
        maps="x" * slicing.x_tma + "y" * slicing.y_tma,
        box_rows=(BOX if x_mn else slicing.wide, BOX if y_mn else slicing.narrow, 0),
        align=1,
        macros={
            "X_MN": int(x_mn),
            "Y_MN": int(y_mn),
            "X_TMA": int(slicing.x_tma),
            "Y_TMA": int(slicing.y_tma),
            "D_TRANSPOSED": int(slicing.few_rows),
            "TILE_N": slicing.narrow,
            "STAGES": slicing.stages,
            "LOADERS": slicing.loaders,
            "CONSUMERS": slicing.wide // 64,
        },
        source="sliced",
        pdl=True,
    )


def narrow_sizes(*, rows_of_k: bool, tma: bool) -> tuple[int, ...]:
    """Return the sizes of sliced's narrow side: where that operand has rows of k, at least 64.

    By TMA at least 16, in a box as narrow.
    """
    least = (NARROW[1] if tma else BOX) if rows_of_k else NARROW[0]
    return tuple(size for size in NARROW if size >= least)


def narrow_ways(by_tma: bool, *, turned: bool) -> Iterator[tuple[bool, bool, bool]]:
    """Yield how sliced reads its narrow operand: by TMA, from a transposed or an aligned copy.

    ``by_tma``: TMA reads it as it lies. ``turned``: its rows are rows of k, and it is narrow.
    """
    yield by_tma, False, False
    if not by_tma:
        yield True, False, True
    if turned:
        yield True, True, False


def slice_counts(tiles: int, steps: int) -> Iterator[tuple[int, int]]:
    """Yield into how many groups and slices to cut K.

    Slices are powers of two, of up to two blocks a multiprocessor. Several groups fill waves of one
    block a multiprocessor: up to ``MOST_WAVES`` of one or two slices, two of the most slices.
    """
    for power in range(MOST_SLICES.bit_length()):
        slices = 1 << power
        few = tiles * slices <= BLOCKS_AT_ONCE * SMS
        if slices == 1 or (few and steps >= slices * LEAST_STEPS):
            yield 1, slices
    cuts = set()
    for slices, waves in (1, MOST_WAVES), (2, MOST_WAVES), (MOST_SLICES, BLOCKS_AT_ONCE):
        most = min(steps // (slices * LEAST_STEPS), MOST_GROUPS * slices)
        cuts |= {(min(most, SMS * n // (tiles * slices)), slices) for n in range(1, waves + 1)}
    yield from sorted((groups, slices) for groups, slices in cuts if groups > 1)
