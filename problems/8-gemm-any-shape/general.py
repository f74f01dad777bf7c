"""Bind a plan to tensors: load its kernels, encode tensor maps, pack arguments, find workspace.

A bound product is a list of launches. Products bound by one ``Library`` share a workspace, so they
have to run in one stream, one after the other; dependent launches keep that order.
"""

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from auxiliary import ADD_PARTS, ALIGN_ROWS, TRANSPOSE
from cubins import CACHE, build
from dots import BLOCK_WARPS, Dots
from families import Tiling
from ladder import BOX, ELEMENT_BYTES, SMS, Launch, Step, kernel, load
from packing import OPERANDS, Copy, Matrix, TensorMap, arguments, configured, pointer, stored
from plans import CHUNK, Plan, Problem, as_read, overlaps
from slicings import Slicing

PITCH = 64
"""Copied rows begin at multiples of this many elements: 128 bytes, a line of L2."""
COUNTERS = 1 << 16
FLOAT_BYTES = 4
WARP = 32


def zeros(count: int) -> Any:
    """Return ``count`` zeroed bytes on torch's current device."""
    import torch

    return torch.zeros(count, dtype=torch.uint8, device="cuda")


class Library:
    """Builds, loads and binds kernels for one element type on torch's current device.

    ``pdl``: whether kernels may start while the one before them in the stream ends (programmatic
    dependent launch); None: those of problems that gain by it, see ``plans.overlaps``.
    ``functions``: loaded kernels by name, which libraries of one device and type can share.
    ``allocate``: returns zeroed memory of a number of bytes, with torch's ``data_ptr``.
    """

    def __init__(
        self,
        element: str,
        cache: Path = CACHE,
        *,
        pdl: bool | None = None,
        functions: dict[str, ctypes.c_void_p] | None = None,
        allocate: Callable[[int], Any] = zeros,
    ) -> None:
        self._element, self._cache, self._pdl = element, cache, pdl
        self._allocate = allocate
        self._functions = {} if functions is None else functions
        self._memory: dict[str, tuple[int, Any]] = {}
        self._rungs: dict[tuple[str, bool], Any] = {}

    def bind(self, plan: Plan, problem: Problem, a: Any, b: Any, c: Any) -> list[Launch]:
        """Return the launches that compute ``c``; ``a`` and ``b`` as the layout says they lie."""
        if isinstance(plan.config, Step):
            return [self._rung(replace(plan.config, pdl=self._overlaps(problem)), a, b, c)]
        read = as_read(problem)
        of_a, of_b, of_c = map(stored, (a, b, c), OPERANDS)
        matrices = [
            matrix
            if was == now
            else replace(matrix, rows=1, columns=matrix.rows, pitch=matrix.rows)
            for matrix, was, now in zip((of_a, of_b), problem.layout, read.layout, strict=True)
        ]
        launches = []
        if any(plan.copied):
            launch, matrices = self._copies(plan.copied, read, matrices)
            launches.append(launch)
        if isinstance(plan.config, Slicing) and plan.config.transposed:
            narrow = 0 if plan.config.few_rows else 1
            launch, matrices[narrow] = self._transposed(OPERANDS[narrow], read, matrices[narrow])
            launches.append(launch)
        make = self._dotted if isinstance(plan.config, Dots) else self._sliced
        if isinstance(plan.config, Tiling):
            make = self._split if plan.config.kernel == "split_k" else self._stream
        launches.append(make(plan, read, *matrices, of_c))
        return [*launches, self._sum(plan, read, of_c)] if plan.added else launches

    def run(self, plan: Plan, problem: Problem) -> Callable[[Any, Any, Any], None]:
        """Return the plan as a function of a, b and c, on torch's current stream."""
        import torch

        bound: dict[tuple[int, ...], list[Launch]] = {}

        def product(a: Any, b: Any, c: Any) -> None:
            key = (a.data_ptr(), b.data_ptr(), c.data_ptr())
            if key not in bound:
                bound[key] = self.bind(plan, problem, a, b, c)
            stream = torch.cuda.current_stream().cuda_stream
            for launch in bound[key]:
                launch(stream)

        return product

    def _function(self, step: Step) -> ctypes.c_void_p:
        if step.name not in self._functions:
            cubin = build(step, self._element, self._cache).cubin
            self._functions[step.name] = load(cubin, step)
        return self._functions[step.name]

    def _workspace(self, name: str, count: int) -> Any:
        """Return zeroed memory of at least ``count`` bytes that launches of this library share."""
        size, memory = self._memory.get(name, (0, None))
        if size < count:
            memory = self._allocate(count)
            self._memory[name] = count, memory
        return memory

    def _overlaps(self, problem: Problem) -> bool:
        return overlaps(problem) if self._pdl is None else self._pdl

    def _rung(self, step: Step, a: Any, b: Any, c: Any) -> Launch:
        """Return the launch of a step of problem 4, whose arguments begin with A, B and C."""
        key = step.name, step.pdl
        if key not in self._rungs:
            self._rungs[key] = kernel(step, self._element, self._cache)
        launch: Launch = self._rungs[key].bind(a, b, c)
        for value, operand in zip(launch.keep, OPERANDS, strict=False):
            value.operand = operand
        return launch

    def _copies(
        self, which: tuple[bool, bool], problem: Problem, matrices: list[Matrix]
    ) -> tuple[Launch, list[Matrix]]:
        """Return the launch that copies the matrices in ``which``, and how all then lie."""
        results, copies, blocks, keep = list(matrices), [], [], []
        for index, matrix in enumerate(matrices):
            if not which[index]:
                continue
            pitch = -(-matrix.columns // PITCH) * PITCH
            memory = self._workspace(OPERANDS[index], matrix.rows * pitch * ELEMENT_BYTES)
            keep.append(memory)
            results[index] = Matrix(memory.data_ptr(), matrix.rows, matrix.columns, pitch)
            sizes = matrix.pitch, pitch, matrix.rows, matrix.columns
            copies.append(Copy(matrix.address, memory.data_ptr(), *sizes))
            copies[-1].operand = matrix.operand
            chunks = matrix.rows * -(-matrix.columns // ALIGN_ROWS.tile[1])
            blocks.append(-(-chunks // (ALIGN_ROWS.threads * ALIGN_ROWS.tile[0])))
        parameters, kept = arguments([copies[0], copies[-1], ctypes.c_int(blocks[0])])
        config = configured(ALIGN_ROWS, sum(blocks), 0, pdl=self._overlaps(problem))
        return Launch(self._function(ALIGN_ROWS), config, parameters, [*kept, *keep]), results

    def _transposed(self, name: str, problem: Problem, matrix: Matrix) -> tuple[Launch, Matrix]:
        """Return the launch that copies a matrix transposed, and how the copy lies."""
        pitch = -(-matrix.rows // PITCH) * PITCH
        memory = self._workspace(name, matrix.columns * pitch * ELEMENT_BYTES)
        addresses = pointer(matrix), ctypes.c_void_p(memory.data_ptr())
        pitches = map(ctypes.c_int64, (matrix.pitch, pitch))
        sizes = map(ctypes.c_int, (matrix.rows, matrix.columns))
        parameters, keep = arguments([*addresses, *pitches, *sizes])
        blocks = -(-matrix.rows // TRANSPOSE.tile[0])
        config = configured(TRANSPOSE, blocks, 0, pdl=self._overlaps(problem))
        launch = Launch(self._function(TRANSPOSE), config, parameters, [*keep, memory])
        return launch, Matrix(memory.data_ptr(), matrix.columns, matrix.rows, pitch)

    def _stream(self, plan: Plan, problem: Problem, a: Matrix, b: Matrix, c: Matrix) -> Launch:
        step = plan.step(problem)
        cluster = math.prod(step.cluster)
        tile_bytes = cluster * step.tile[0] * step.tile[1] * FLOAT_BYTES
        parts = self._workspace("parts", 2 * plan.units * tile_bytes if plan.spread else 1)
        counters = self._workspace("counters", COUNTERS)
        operands = (b, a) if plan.swapped else (a, b)
        *rows, stored_rows = step.box_rows
        maps = self._operands(step, operands, rows)
        stored_columns = BOX if plan.swapped else step.macros["STORE_COLUMNS"]
        stores = (TensorMap(self._element, c, stored_rows, stored_columns),) if c.aligned else maps
        maps.append(stores[0])
        counted = None if plan.added else counters.data_ptr()
        pointers = [pointer(c), *map(ctypes.c_void_p, (parts.data_ptr(), counted))]
        numbers = map(ctypes.c_int, (*plan.computed(problem).shape, plan.spread))
        parameters, keep = arguments([*maps, *pointers, *numbers])
        config = configured(step, plan.units * cluster, 0, pdl=self._overlaps(problem))
        return Launch(self._function(step), config, parameters, [*keep, parts, counters])

    def _operands(
        self, step: Step, matrices: tuple[Matrix, Matrix], box_rows: Sequence[int]
    ) -> list[TensorMap]:
        """Return the descriptors of A and B of a step of ``tiled``."""
        columns = BOX, step.macros["B_BOX"] if step.macros["B_MN"] else BOX
        boxes = zip(matrices, box_rows, columns, strict=True)
        return [TensorMap(self._element, *box) for box in boxes]

    def _split(self, plan: Plan, problem: Problem, a: Matrix, b: Matrix, c: Matrix) -> Launch:
        step = plan.step(problem)
        operands = (b, a) if plan.swapped else (a, b)
        maps = self._operands(step, operands, step.box_rows[:2])
        numbers = map(ctypes.c_int, plan.computed(problem).shape)
        parameters, keep = arguments([*maps, pointer(c), *numbers])
        sharing = math.prod(step.cluster)
        cluster = plan.units // plan.spread * sharing
        config = configured(step, plan.units * sharing, cluster, pdl=self._overlaps(problem))
        return Launch(self._function(step), config, parameters, keep)

    def _sum(self, plan: Plan, problem: Problem, c: Matrix) -> Launch:
        """Return the launch that adds the parts which a product before it left."""
        step, (m, n, _) = plan.step(problem), problem.shape
        tile_m, tile_n, _ = step.tile
        down, across = (
            -(-size // (tile * shared)) * shared
            for size, tile, shared in zip((m, n), (tile_m, tile_n), step.cluster, strict=True)
        )
        count, fours = plan.units // plan.spread, down * across * tile_m * tile_n // 4
        parts = self._workspace("parts", count * fours * 4 * FLOAT_BYTES)
        groups = adding_groups(fours, count)
        pointers = ctypes.c_void_p(parts.data_ptr()), pointer(c)
        sizes = m, n, tile_m, tile_n, across, fours, count, groups
        parameters, keep = arguments([*pointers, *map(ctypes.c_int, sizes)])
        blocks = -(-fours * groups // ADD_PARTS.threads)
        config = configured(ADD_PARTS, blocks, 0, pdl=self._overlaps(problem))
        return Launch(self._function(ADD_PARTS), config, parameters, [*keep, parts])

    def _sliced(self, plan: Plan, problem: Problem, a: Matrix, b: Matrix, c: Matrix) -> Launch:
        step = plan.step(problem)
        m, n, k = problem.shape
        few_rows = bool(step.macros["D_TRANSPOSED"])
        x, y, wide, narrow = (b, a, n, m) if few_rows else (a, b, m, n)
        y_columns = min(step.tile[1], BOX) if step.macros["Y_MN"] else BOX
        boxes = zip((x, y), step.box_rows, (BOX, y_columns), "xy", strict=False)
        maps = [
            TensorMap(self._element, matrix, rows, columns) if letter in step.maps else None
            for matrix, rows, columns, letter in boxes
        ]
        unused = next((encoded for encoded in maps if encoded), (ctypes.c_byte * 128)())
        apart = plan.apart(wide, step.tile[0])
        tiles = -(-wide // apart) * -(-narrow // step.tile[1])
        shared = plan.spread * tiles * step.tile[0] * step.tile[1] * FLOAT_BYTES
        parts = self._workspace("parts", shared if plan.spread > 1 else 1)
        counters = self._workspace("counters", COUNTERS)
        values = [*(encoded or unused for encoded in maps), *map(pointer, (x, y, c))]
        values += map(ctypes.c_void_p, (parts.data_ptr(), counters.data_ptr()))
        values += [ctypes.c_int64(matrix.pitch) for matrix in (x, y, c)]
        sizes = wide, narrow, k, plan.spread, apart
        parameters, keep = arguments([*values, *map(ctypes.c_int, sizes)])
        blocks = tiles * plan.spread * plan.units
        config = configured(step, blocks, plan.units, pdl=self._overlaps(problem))
        return Launch(self._function(step), config, parameters, [*keep, parts, counters])

    def _dotted(self, plan: Plan, problem: Problem, a: Matrix, b: Matrix, c: Matrix) -> Launch:
        step, (m, n, k) = plan.step(problem), problem.shape
        few_rows = isinstance(plan.config, Dots) and plan.config.few_rows
        x, y, wide, narrow = (b, a, n, m) if few_rows else (a, b, m, n)
        tiles = dots_tiles(x, wide, step, plan.spread)
        strides = (1, c.pitch) if few_rows else (c.pitch, 1)
        values = [*map(pointer, (x, y, c))]
        values += map(ctypes.c_int64, (x.pitch, y.pitch, *strides))
        parameters, keep = arguments([*values, *map(ctypes.c_int, (wide, narrow, k, plan.spread))])
        cluster = plan.units if plan.units > 1 else 0
        config = configured(step, tiles * plan.units, cluster, pdl=self._overlaps(problem))
        config.grid[1] = -(-narrow // step.tile[1])
        return Launch(self._function(step), config, parameters, keep)


def adding_groups(fours: int, count: int) -> int:
    """Return how many threads of add_parts share the ``count`` parts of the same accumulators.

    A power of two: so many that blocks occupy the multiprocessors twice, and a warp stays together.
    """
    groups = 1
    most = min(count, ADD_PARTS.threads // WARP)
    while 2 * groups <= most and fours * groups < 2 * SMS * ADD_PARTS.threads:
        groups *= 2
    return groups


def dots_tiles(x: Matrix, wide: int, step: Step, ways: int) -> int:
    """Return how many blocks of dots cover the wide operand's rows, as dots.cuh counts them.

    Lines whose numbers differ by a multiple of the period begin at the same place within 16 bytes.
    """
    period = CHUNK // math.gcd(x.pitch, CHUNK)
    if not step.macros["X_MN"]:
        rows = period * step.tile[0] * BLOCK_WARPS // ways
        return period * -(-wide // rows)
    even = period == 1 and x.address % (CHUNK * ELEMENT_BYTES) == 0
    return -(-wide // (step.tile[0] if even else step.tile[0] - CHUNK))
