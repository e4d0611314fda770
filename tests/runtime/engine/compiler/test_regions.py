"""Values of regions of rows and columns, in memory whose surroundings are watched."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.engine.compiler.regions import (
    FOLDS,
    MemoryPlace,
    Recipe,
    Regions,
    scratch_bytes,
)
from gradwire.runtime.engine.plan.native import Operation, machine

pytest.importorskip("llvmlite")

BAND = 64
UNTOUCHED = 777
LENGTHS = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 100]
ARITHMETIC = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
NUMPY = {
    "sum": np.sum,
    "short_sum": np.sum,
    "max": np.max,
    "min": np.min,
    "squares": lambda x, **how: np.sum(x * x, **how),
}


class Drawn:
    """A recipe that was drawn, the values that it computes, and the arrays of its frame."""

    def __init__(self, seed: int) -> None:
        self.chosen = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.across = self.chosen.random() < 0.4
        self.rows = self.chosen.randint(1, 3)
        self.lines = self.chosen.choice([2, 3, 9]) if self.across else self.chosen.choice([1, 1, 3])
        self.columns = self.chosen.choice(LENGTHS)
        self.dtype = self.chosen.choice(["float32", "float64"])
        self.values: list[Any] = []
        self.wide: list[bool] = []
        self.arrays: list[tuple[Any, Any]] = []
        self.watched: list[tuple[Any, Any]] = []
        operands = [self._operand() for _ in range(self.chosen.randint(1, 3))]
        self.operations: list[Operation] = []
        self._computes(len(operands))
        results, first = [], len(operands)
        for i in range(first, len(self.values)):
            if self.operations[i - first].dtype == self.dtype and self.chosen.random() < 0.6:
                results.append((i, self._result(self.values[i].shape)))
        totals = () if self.across else self._totals(first)
        self.recipe = Recipe(
            self.columns, tuple(operands), tuple(self.operations), tuple(self.wide[first:]),
            tuple(results), totals, (), self.lines, frozenset(), self.across,
        )  # fmt: skip
        self.expected = [self.values[i] for i in (*(i for i, _ in results), *totals)]

    def _memory(self, shape: tuple[int, ...], dtype: Any = None) -> Any:
        """An array in the middle of memory, all of which is watched."""
        size = int(np.prod(shape))
        memory = np.full(size + 2 * BAND, UNTOUCHED, dtype or self.dtype)
        out = memory[BAND : BAND + size].reshape(shape)
        self.watched.append((memory, out))
        return out

    def _operand(self) -> tuple[str, MemoryPlace]:
        """One that lies along rows, or has one element for a row, a line or a column; elements may
        be some apart.
        """
        ways = ["along", "along", "once", "line"]
        ways += ["column", "apart"] if self.across or self.lines == 1 else []
        how = self.chosen.choice(ways) if self.values else "along"
        shape = [self.rows, self.lines, self.columns]
        if how in ("once", "column"):
            shape[1] = 1
        if how in ("once", "line"):
            shape[2] = 1
        apart = self.chosen.choice([2, 3, 8, 11, -1]) if how == "apart" else 1
        whole = self._memory((*shape[:2], shape[2] * abs(apart)))
        whole[...] = self.numbers.standard_normal(whole.shape)
        x = whole[..., ::apart]
        self.values.append(x)
        self.wide.append(how not in ("once",))
        at = len(self.arrays)
        self.arrays.append((x[:1, :1, :1], whole.strides[0]))
        step = 0 if shape[2] == 1 else apart
        depth = 0 if shape[1] == 1 else x.strides[1] // x.itemsize
        return self.dtype, MemoryPlace(at, step, 0, depth)

    def _computes(self, first: int) -> None:
        """Arithmetic, and folds of what is wide."""
        axis = 1 if self.across else (1, 2)
        for _ in range(self.chosen.randint(2, 9)):
            wide = [i for i, x in enumerate(self.wide) if x and self._is_whole(i)]
            if wide and self.chosen.random() < 0.4:
                i = self.chosen.choice(wide)
                name = self.chosen.choice(list(NUMPY))
                made = NUMPY[name](self.values[i].astype("float64"), axis=axis, keepdims=True)
                self._put(name, (i,), made.astype(self.dtype), is_wide=False)
                continue
            name = self.chosen.choice(list(ARITHMETIC))
            pair = self.chosen.choices(range(len(self.values)), k=2)
            if not any(self._is_whole(i) for i in pair) and any(self.wide[i] for i in pair):
                continue
            made = ARITHMETIC[name](*(self.values[i] for i in pair))
            self._put(name, tuple(pair), made, is_wide=any(map(self._is_whole, pair)))
        if not self.operations:
            self._put("add", (0, 0), self.values[0] * 2, is_wide=True)

    def _is_whole(self, i: int) -> bool:
        return bool(self.values[i].shape[1:] == (self.lines, self.columns))

    def _put(self, name: str, operands: tuple[int, ...], made: Any, *, is_wide: bool) -> None:
        self.operations.append(Operation(name, self.dtype, operands))
        self.values.append(made)
        self.wide.append(is_wide)

    def _result(self, shape: tuple[int, ...]) -> MemoryPlace:
        out = self._memory((self.rows, *shape[1:]))
        out.fill(np.nan)
        self.arrays.append((out, out.strides[0]))
        return MemoryPlace(len(self.arrays) - 1, 1, 0, out.strides[1] // out.itemsize)

    def _totals(self, first: int) -> tuple[int, ...]:
        found = []
        for operation in list(self.operations):
            if operation.name == "sum" and self.chosen.random() < 0.5:
                self.operations.append(Operation("sum", "float64", operation.operands))
                source = self.values[operation.operands[0]].astype("float64")
                self.values.append(source.sum((1, 2), keepdims=True))
                self.wide.append(False)
                out = self._memory((self.rows, 1, 1), "float64")
                out.fill(np.nan)
                self.arrays.append((out, out.strides[0]))
                found.append(first + len(self.operations) - 1)
        return tuple(found)

    def run(self) -> list[Any]:
        """What the machine code writes. Checks that it writes nothing else."""
        kernel = machine.function(Regions(self.recipe).text(), "region")
        frame = np.array([(machine.address(x), step) for x, step in self.arrays])
        room = np.full(scratch_bytes(self.recipe) + 2 * BAND, 77, np.uint8)
        kernel(machine.address(frame), machine.address(room) + BAND, 0, self.rows)
        assert (room[:BAND] == 77).all()
        assert (room[-BAND:] == 77).all()
        for memory, out in self.watched:
            beside = np.concatenate([memory[:BAND], memory[BAND + out.size :]])
            assert (beside == UNTOUCHED).all()
        return [out for _, out in self.watched[len(self.recipe.operands) :]]


@pytest.mark.sampled(one_in=10)
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("seed", range(100))
def test_random_recipes(seed: int, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    drawn = Drawn(seed)
    for found, expected in zip(drawn.run(), drawn.expected, strict=True):
        bound = 1e-4 if drawn.dtype == "float32" else 1e-11
        np.testing.assert_allclose(found, expected, rtol=bound, atol=bound * np.abs(expected).max())


@pytest.mark.parametrize("lanes", [8, 16])
def test_no_number_wins_largest_elements_wherever_it_is(
    lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    for columns in (5, 8, 33, 77):
        x = np.arange(columns * columns, dtype=np.float32).reshape(columns, columns)
        np.fill_diagonal(x, np.nan)
        found = np.empty((2, columns, 1), np.float32)
        folds = tuple(Operation(name, "float32", (0,)) for name in ("max", "min"))
        recipe = Recipe(
            columns, (("float32", MemoryPlace(0)),), folds, (False, False),
            tuple((1 + i, MemoryPlace(1 + i)) for i in (0, 1)),
        )  # fmt: skip
        assert {x.name for x in folds} <= FOLDS
        kernel = machine.function(Regions(recipe).text(), "region")
        arrays = [(x, x.strides[0]), *((row, 4) for row in found)]
        frame = np.array([(machine.address(a), step) for a, step in arrays])
        kernel(machine.address(frame), 0, 0, columns)
        assert np.isnan(found).all()


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_later_loops_need_has_room(
    dtype: str, across: bool, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    for columns in (2, 7, 8, 100):
        x, y = np.random.default_rng(columns).standard_normal((2, 9, columns)).astype(dtype)
        larger, out = np.maximum(x, y), np.empty_like(x)
        place = MemoryPlace(0, depth=columns)
        operations = (
            Operation("maximum", dtype, (0, 1)),
            Operation("max", dtype, (2,)),
            Operation("subtract", dtype, (2, 3)),
        )
        recipe = Recipe(
            columns, ((dtype, place), (dtype, place._replace(array=1))), operations,
            (True, False, True), ((4, place._replace(array=2)),), (), (), 9, frozenset(), across,
        )  # fmt: skip
        kernel = machine.function(Regions(recipe).text(), "region")
        frame = np.array([(machine.address(a), 0) for a in (x, y, out)])
        room = np.full(scratch_bytes(recipe) + 9 * 8 * columns + 4096, 77, np.uint8)
        kernel(machine.address(frame), machine.address(room), 0, 1)
        np.testing.assert_array_equal(out, larger - larger.max(0 if across else None))
        assert scratch_bytes(recipe) > 0
        assert (room[scratch_bytes(recipe) :] == 77).all()
