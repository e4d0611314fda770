"""Chooses how sums of products are computed: tiles, what of operands is laid anew, parts of folds.

A tile is of places along two axes of the result, whose sums are in registers: rows of one, along
which one operand lies, and vectors of the other, along which the other operand and the result do.
Where both operands lie along the fold, vectors may do so too. The last tile overlaps the one before
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from gradwire.runtime.engine.compiler.schedule import (
    LoopAxis,
    Nest,
    Order,
    Read,
    Schedule,
    Steps,
    Store,
    Tile,
    merged,
)
from gradwire.runtime.engine.plan.memory import LINE
from gradwire.runtime.engine.plan.native import machine

LATENCY = 4.25
"""Cycles from a step of a sum to the next, at least,"""

EACH, STEP = 0.05, 0.25
"""and more for each vector or number that is read, and for each step."""

ACROSS = 10.0
"""Cycles for adding the elements of a vector."""

WRITTEN_OUT = 8
"""Steps of a fold that are written out at most."""

TURN, WRITE = 6.0, 1.0
"""Cycles for a turn of a loop around others, and for writing a vector."""

TABLE = 1
"""Reads of tables in a step."""

SPILL, POINTERS = 0.5, 10
"""Cycles more for each address from so many on, as there are not more registers for them."""

SHORT, LONG = 16, 28
"""Registers; AVX-512 has 32, of which LLVM's code for long steps needs some."""

LAY = 0.7
"""Cycles for an element that is laid anew."""

AFAR = 1.0
"""Cycles more for a vector that is read where it lies far from the one before."""

FAR, FEW, AGAIN = 128, 4, 2
"""Bytes between steps of the fold, and times of reading, from which an operand is laid anew: more
times if it is in the first-level cache.
"""

PAGE = 1 << 12
"""Bytes between places that share lines of the first-level cache."""

PART = 1 << 14
"""Bytes of a tile's vectors that are in the first-level cache: longer folds go in parts."""

STREAM = 8
"""Terms of a part where a large operand is read as it lies."""

LARGE = 1 << 18
"""Bytes of such an operand."""

CACHE = 1 << 19
"""Bytes that the second-level cache holds."""

ROWS, ROW = 4, 2.0
"""Rows that are written at once as fast as one, and cycles more for a vector of another."""

BLOCK = 192 << 10
"""Bytes of the tiles of rows that are in the second-level cache,"""

BESIDE, ALL = 16, 64
"""and tiles of vectors beside them: few stay there; many are worth it where rows are laid anew."""

BOARD = 1 << 22
"""Bytes of the sums of parts."""


class _Choice(NamedTuple):
    cost: float
    lanes: int
    units: int
    rows: int
    is_along: bool


@lru_cache(maxsize=1024)
def tiled(store: Store, lanes: int) -> Schedule | None:
    """The cheapest way, for registers of so many float32; None if nothing lies as vectors do."""
    if (costs := _costs(store)) is None:
        return None
    return costs.laid_out(min(costs.choices(), key=lambda choice: choice.cost))


def tilings(store: Store) -> Iterator[Schedule]:
    """All ways, the cheapest first."""
    if (costs := _costs(store)) is not None:
        for choice in sorted(costs.choices(), key=lambda choice: choice.cost):
            yield costs.laid_out(choice)


def _costs(store: Store) -> _Products | None:
    """What a store costs: vectors lie along an axis of one operand and the result."""
    if store.row or store.is_gathered:
        wide = 0 if store.is_gathered else 2
        named = (axis for axis, _ in store.steps if axis.name == "v")
        return _Products(store, next(named, LoopAxis("v", 1)), wide)
    store, size = merged(store), np.dtype(store.dtype).itemsize
    reads = _reads(store)
    places = [
        (step, axis, array)
        for array in (2, 0)
        for axis, step in store.steps
        if axis in reads[array] and axis not in reads[2 - array]
    ]
    beside = [(axis, array) for step, axis, array in places if step == size]
    if not places:
        beside = [(LoopAxis("v", 1), 2)]
    return _Products(store, *beside[0]) if beside else None


def _reads(store: Store) -> dict[int, dict[LoopAxis, int]]:
    """How both operands lie."""
    return {read.array: dict(read.steps) for read in store.reads}


class _Products:
    """What sums of products cost in different tiles; an axis along which one operand and the result
    lie is that of the vectors.
    """

    def __init__(self, store: Store, v: LoopAxis, wide: int) -> None:
        self.store, self.bytes = store, np.dtype(store.dtype).itemsize
        self.v, self.wide = v, wide
        self.along, self.across = (_reads(store)[x] for x in (wide, 2 - wide))
        self.images, self.k = (LoopAxis("n", 1), LoopAxis("k", 1), *store.term.axes)[-2:]
        self.depth = self.images.extent * self.k.extent
        singles = [axis for axis, _ in store.steps if axis != v]
        own = [axis for axis in singles if axis in self.across and axis not in self.along]
        self.r = max(own, key=lambda axis: axis.extent, default=LoopAxis("r", 1))
        self.batch = [axis for axis in singles if axis != self.r]
        self.has_tables = store.row > 0 or store.is_gathered
        self.registers = LONG if machine.lanes() == 16 else SHORT

    def _extents(self) -> tuple[int, int, int]:
        """Places of both axes of tiles, and of all others."""
        return self.r.extent, self.v.extent, prod(axis.extent for axis in self.batch)

    def choices(self) -> Iterator[_Choice]:
        """All tiles, with what each costs."""
        rows, columns, _ = self._extents()
        is_deep = self.along.get(self.k) == self.across.get(self.k) == self.bytes
        is_free, row = is_deep and not self.store.is_gathered, self.store.row
        ways = [False, True] if is_free else [False]
        if row:
            ways = [len(self.store.term.axes) > 1]
        for is_along in ways:
            length = self.k.extent if is_along else columns
            lanes = machine.vector(self.store.dtype, row or length)
            across = columns if is_along else -(-columns // lanes)
            for units in range(1, min(across, self.registers // 2) + 1):
                for high in range(1, min(rows, self.registers - 2) + 1):
                    if high * units + min(high, units) < self.registers:
                        cost = self._cost(lanes, units, high, is_along)
                        yield _Choice(cost, lanes, units, high, is_along)

    def _cost(self, lanes: int, units: int, high: int, is_along: bool) -> float:
        rows, columns, count = self._extents()
        reads, sums = high + units, high * units
        reads += TABLE * self.has_tables
        own = high if self.across.get(self.r) != self.bytes else 0
        step = max(sums / 2, reads / 2, LATENCY) + EACH * reads + STEP
        step += SPILL * max(0, own + units - POINTERS)
        is_short = self.depth <= WRITTEN_OUT
        if is_along:
            far = rows * self.depth * self.bytes > CACHE
            tiles = -(-rows // high) * -(-columns // units)
            steps = -(-self.depth // lanes)
            each = steps * (step + (AFAR / 2 if far else EACH) * reads) + sums * ACROSS + TURN
            return count * tiles * each
        tiles = -(-rows // high) * -(-columns // (units * lanes))
        lays = self._lays(units * lanes, high)
        elements = [n * x for n, x in ((columns, "v" in lays), (rows, "r" in lays))]
        if self._streams(lays):
            step += sums * (1 / STREAM)
        elif "v" not in lays and self._size() >= PART:
            step += AFAR * units / 2 * (self._step(self.along) >= FAR)
        parts = self.depth * units * lanes * self.bytes // PART
        each = self.depth * step + sums * WRITE * (1 + 2 * parts) + TURN
        if is_short:
            each += ROW * max(0, high - ROWS) * units
        return count * (tiles * each + LAY * self.depth * sum(elements))

    def _step(self, read: dict[LoopAxis, int]) -> int:
        """Bytes from step to step of the fold."""
        return abs(read.get(self.k, 0))

    def _lays(self, width: int, high: int) -> str:
        """The axes whose operands are laid anew."""
        if self.store.row:
            return ""
        rows, columns, _ = self._extents()
        found, is_short = "", self.depth <= WRITTEN_OUT
        step, again = self._step(self.along), -(-rows // high)
        is_one = columns <= width and step <= width * self.bytes
        is_often = again >= (AGAIN if self._size() >= PART else FEW)
        if self.along.get(self.v, self.bytes) != self.bytes or (
            step >= FAR and is_often and not is_one and not is_short
        ):
            found += "v"
        step, again = self._step(self.across), -(-columns // width)
        apart = abs(self.across.get(self.r, 0))
        if step == self.bytes:
            is_bad = apart % PAGE == 0 and apart > 0
        else:
            is_bad = step >= FAR and rows > high
        if is_bad and again >= FEW and not is_short:
            found += "r"
        return found

    def _size(self) -> int:
        """Bytes of the operand along the vectors' axis."""
        return self.depth * self.v.extent * self.bytes

    def _streams(self, lays: str) -> bool:
        """Whether that operand is read once, as it lies."""
        is_far = self._step(self.along) >= FAR and self.depth > WRITTEN_OUT
        return "v" not in lays and is_far and self._size() >= LARGE

    def laid_out(self, choice: _Choice) -> Schedule:
        """The loops of a choice."""
        rows, columns, _ = self._extents()
        size, high, depth = self.bytes, choice.rows, self.depth
        width = choice.units * (1 if choice.is_along else choice.lanes)
        tiles = {"r": -(-rows // high), "v": -(-columns // width)}
        lays = "" if choice.is_along else self._lays(width, high)
        is_out, folded = depth <= WRITTEN_OUT and not choice.is_along, "k"
        numbers = {"extent_v": columns, "extent_r": rows, "tiles_v": tiles["v"]}
        numbers["tiles_r"] = tiles["r"]
        order: list[tuple[str, str]] = []
        part, beside = depth, ALL if "r" in lays else BESIDE
        if len(self.store.term.axes) > 1:
            images = sum(x.get(self.images, 1) for x in (self.along, self.across))
            depth, folded = self.images.extent, "n"
            part, beside = min(depth, max(1, CACHE // images)), tiles["v"]
        elif choice.is_along or is_out or self.store.row:
            pass
        elif self._streams(lays):
            part, beside = STREAM, max(1, PART // (tiles["r"] * high * width * size))
        elif depth * width * size > PART:
            part = -(-depth // -(-depth * width * size // PART))
        beside = min(beside, tiles["v"])
        sums = choice.units * choice.lanes * high * size
        groups = max(1, BOARD // (beside * sums))
        if beside < tiles["v"] and (part < depth or "v" in lays):
            order += [("group", "v")]
        else:
            beside = tiles["v"]
        if part < depth:
            if groups < tiles["r"]:
                order += [("group", "r")]
            order += [("part", folded)]
        groups = min(groups, tiles["r"])
        if "v" in lays:
            order += [("lay", "v")]
        block = max(1, BLOCK // (part * high * size))
        if block < tiles["r"] and not choice.is_along:
            order += [("block", "r")]
        if "r" in lays:
            order += [("lay", "r")]
        each = [("each", axis) for axis in "vr" if tiles[axis] > 1]
        order += each[::-1] if is_out and "v" not in lays else each
        numbers |= {"part": part, "group_v": beside, "group_r": groups, "block_r": block}
        numbers |= {"each_v": (part * width + LINE) * size, "each_r": (part * high + LINE) * size}
        board = beside * groups * sums if part < depth else 0
        numbers["packed_v"] = board = -(-board // LINE) * LINE
        board += beside * numbers["each_v"] if "v" in lays else 0
        numbers["packed_r"] = board = -(-board // LINE) * LINE
        board += min(block, tiles["r"]) * numbers["each_r"] if "r" in lays else 0
        return self._named(choice, tuple(order), numbers, board, is_out)

    def _named(
        self, choice: _Choice, order: Order, numbers: dict[str, int], room: int, is_out: bool
    ) -> Schedule:
        """The loops by the names of axes."""
        rows, columns, count = self._extents()
        cut = "r" if rows > columns else "v"
        if len(self.batch) > 1 or ("each", cut) not in order:
            cut = ""
        names = {axis: LoopAxis(f"o{i}", 0) for i, axis in enumerate(self.batch)}
        names |= {self.v: LoopAxis("v", 0), self.r: LoopAxis("r", 0)}
        names |= {self.images: LoopAxis("n", 0), self.k: LoopAxis("k", self.depth if is_out else 0)}
        lanes = choice.lanes
        numbers |= {"whole": self.k.extent // lanes, "all": -(-self.k.extent // lanes)}
        numbers["skipped"] = -self.k.extent % lanes
        numbers |= {f"extent_{name.name}": axis.extent for axis, name in names.items()}

        def steps(array: int, some: Steps) -> Steps:
            found = []
            for axis, step in some:
                is_beside = step == self.bytes
                if not is_beside:
                    numbers[f"step{array}_{names[axis].name}"] = step
                found.append((names[axis], step if is_beside else 0))
            return tuple(sorted(found))

        def read(x: Read) -> Read:
            return x._replace(steps=steps(x.array, x.steps))

        fold = self.store.term
        assert fold.by is not None, "products are added"
        store = self.store._replace(
            steps=steps(1, self.store.steps),
            term=fold._replace(of=read(fold.of), by=read(fold.by), axes=(names[self.k],)),
            row=min(self.store.row, 1),
        )
        arrays = ["array0", "array1", "array2"]
        arrays += ["table_v", "table_k"] if self.has_tables else []
        is_short = not choice.is_along and columns < choice.units * choice.lanes
        nest = Nest(
            store=store,
            lanes=choice.lanes,
            units=choice.units,
            outer=tuple(names[axis] for axis in self.batch),
            vector=names[self.k if choice.is_along else self.v],
            turned=None,
            in_parts=("part", "k") in order or ("part", "n") in order,
            joined=False,
            frame=(*arrays, *numbers),
            tile=Tile(choice.rows, order, cut, self.wide, is_short),
        )
        turns = (
            count * numbers[f"tiles_{cut}"] if cut else self.batch[0].extent if self.batch else 1
        )
        return Schedule(nest, numbers, turns, room)
