"""Sums of products by every schedule: any axes, any memory, any vectors; and which are chosen."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.runtime.calculus.primitives.convolution import CONV2D, CONV2D_W, Geometry
from gradwire.runtime.engine.compiler.computing import (
    Computation,
    correlation,
    gathered,
    product,
    product_of,
    taps,
)
from gradwire.runtime.engine.compiler.products import tiled, tilings
from gradwire.runtime.engine.compiler.schedule import Nest, Schedule, Tile
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes.windows.native_convolutions import Rows, forward
from tests.runtime.engine.compiler.products import in_small_parts
from tests.runtime.engine.compiler.stores import BAND, UNTOUCHED

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.jobs import Job

pytest.importorskip("llvmlite")

computing = importlib.import_module("gradwire.runtime.engine.compiler.computing")

ROWS = [1, 2, 3, 5, 8, 13, 16, 17, 31, 64, 100]
TERMS = [1, 3, 4, 7, 8, 9, 16, 33, 64, 100, 257]
COLUMNS = [1, 2, 3, 4, 5, 8, 9, 12, 15, 16, 17, 24, 33, 64, 70, 128]
BOUND = {"float32": 1e-6, "float64": 2e-15}
"""Of the sum of magnitudes."""


class Drawn:
    """Operands that lie in any way, and where the result lies."""

    def __init__(self, chosen: random.Random) -> None:
        self._numbers = np.random.default_rng(chosen.randrange(1 << 30))
        self._chosen = chosen
        self.dtype = chosen.choice(["float32", "float64"])
        rows, terms, columns = (chosen.choice(x) for x in (ROWS, TERMS, COLUMNS))
        batch = chosen.choice([(), (), (chosen.randint(1, 5),), (2, 3)])
        self.left = self._array((*batch, rows, terms))
        part = chosen.choice([batch, batch, batch[1:], ()])
        self.right = self._array((*part, terms, columns))
        if chosen.random() < 0.1:
            self.left, self.right = self.left[..., ::2], self.right[..., ::2, :]
        if chosen.random() < 0.1:
            self.left, self.right = self.left[..., ::-1, ::-1], self.right[..., ::-1, ::-1]
        if chosen.random() < 0.1:
            self.left = np.broadcast_to(self.left[..., :1, :], self.left.shape)
        if chosen.random() < 0.1:
            self.right = np.broadcast_to(self.right[..., :1, :], self.right.shape)
        self.is_turned = chosen.random() < 0.15
        self.shape = (*batch, rows, columns)

    def _array(self, shape: tuple[int, ...]) -> Any:
        if self._chosen.random() < 0.5:
            return self._array_of((*shape[:-2], shape[-1], shape[-2])).swapaxes(-1, -2)
        return self._array_of(shape)

    def _array_of(self, shape: tuple[int, ...]) -> Any:
        gap = self._chosen.choice([0, 0, 0, 3])
        whole = self._numbers.standard_normal((*shape[:-1], shape[-1] + gap)).astype(self.dtype)
        return whole[..., gap:]

    def out(self, memory: Any) -> Any:
        """The result's place in contiguous memory."""
        *batch, rows, columns = self.shape
        if self.is_turned:
            return memory.reshape(*batch, columns, rows).swapaxes(-1, -2)
        return memory.reshape(self.shape)

    def ways(self) -> list[Schedule]:
        """All schedules, the best one first."""
        strides = self.out(np.empty(int(np.prod(self.shape)), self.dtype)).strides
        store = product_of(self.left, self.right, self.shape, strides)
        return list(tilings(store))

    def check(self, schedule: Schedule) -> None:
        """A schedule computes what numpy does, in memory beside which nothing is written."""
        size = int(np.prod(self.shape))
        memory = np.full(size + 2 * BAND, UNTOUCHED, self.dtype)
        out = self.out(memory[BAND : BAND + size])
        out.fill(np.nan)
        Computation(schedule, self.left, size, [self.right])(out)
        left, right = self.left.astype(np.float64), self.right.astype(np.float64)
        sizes = np.abs(left) @ np.abs(right)
        assert (np.abs(out - left @ right) <= BOUND[self.dtype] * sizes).all(), schedule
        beside = np.concatenate([memory[:BAND], memory[BAND + size :]])
        assert (beside == UNTOUCHED).all(), schedule


@pytest.mark.sampled(one_in=9)
@pytest.mark.parametrize("small", [{}, {}, {"PAGE": 1}, {"LARGE": 1}], ids=str)
@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("seed", range(40))
def test_random_shapes(
    seed: int, lanes: int, small: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best schedule and some others; half of them as they are, half in small parts."""
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    chosen = random.Random(f"{seed}{lanes}{small}")
    for is_small in (False, True):
        drawn = Drawn(chosen)
        with in_small_parts(**small if is_small else dict.fromkeys((), 0)):
            ways = drawn.ways() if is_small else []
        ways = ways or drawn.ways()
        for schedule in [*ways[:1], *chosen.sample(ways, min(2, len(ways)))]:
            drawn.check(schedule)


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("seed", range(10))
def test_every_schedule(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: 8)
    drawn = Drawn(random.Random(seed))
    with in_small_parts():
        ways = drawn.ways()
    for schedule in ways:
        drawn.check(schedule)


GEOMETRIES = [
    (Geometry((3, 3), padding=((1, 1), (1, 1))), (9, 13)),
    (Geometry((2, 3), (2, 2), dilation=(1, 2)), (11, 21)),
    (Geometry((1, 1)), (3, 5)),
    (Geometry((5, 4)), (7, 20)),
]


class Drawn3:
    """Images, weights and gradients of a convolution, and what they are multiplied to."""

    def __init__(self, geometry: Geometry, image: tuple[int, int], groups: int, dtype: str) -> None:
        drawn = np.random.default_rng(0)
        shapes = (3, 2 * groups, *image), (5 * groups, 2, *geometry.window)
        self.images, self.weights = (drawn.standard_normal(x).astype(dtype) for x in shapes)
        (rows, (down,)), (columns, (along,)) = (forward(axis, image, geometry) for axis in (0, 1))
        laid = np.zeros((3, 2 * groups, rows.planes, columns.planes, rows.length, columns.length))
        laid = laid.astype(dtype)
        for i, (row, from_row) in enumerate(rows.copies):
            for j, (column, from_column) in enumerate(columns.copies):
                laid[:, :, i, j, row, column] = self.images[:, :, from_row, from_column]
        self.windows = Rows(rows, columns).windows(laid, 2, down, along)
        self.rows = Rows(rows, columns).places(laid, down, along)
        self.places = 3, 5 * groups, down.positions, along.positions
        self.gradients = drawn.standard_normal(self.places).astype(dtype)
        self.dtype, self.attributes = dtype, {"geometry": geometry, "groups": groups}

    def exact(self, primitive: Any, *operands: Any) -> Any:
        """What the kernel computes in float64."""
        more = {"shape": self.weights.shape} if primitive is CONV2D_W else {}
        out = np.empty(more.get("shape", self.places))
        wide = (x.astype(np.float64) for x in operands)
        primitive.kernel(*wide, out=out, **self.attributes, **more)
        return out

    def check(self, compute: Callable[[Any], Job], exact: Any, sizes: Any) -> None:
        """A job computes that, in memory beside which nothing is written."""
        memory = np.full(exact.size + 2 * BAND, UNTOUCHED, self.dtype)
        out = memory[BAND:-BAND].reshape(exact.shape)
        out.fill(np.nan)
        compute(out)()
        assert (np.abs(out - exact) <= BOUND[self.dtype] * sizes).all()
        beside = np.concatenate([memory[:BAND], memory[-BAND:]])
        assert (beside == UNTOUCHED).all()


@pytest.mark.sampled(one_in=13)
@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("geometry", "image"), GEOMETRIES, ids=str)
def test_windows(
    geometry: Geometry,
    image: tuple[int, int],
    dtype: str,
    groups: int,
    lanes: int,
    small: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Convolutions and gradients of weights by some schedules."""
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    monkeypatch.setattr(computing, "tiled", lambda store, _: drawn_from(list(tilings(store))))
    drawn_from, three = random.Random(0).choice, Drawn3(geometry, image, groups, dtype)
    weights = three.weights.reshape(groups, 5, -1)

    def across(x: Any) -> Any:
        """Places of all images, and their filters."""
        return x.transpose(0, 2, 3, 1).reshape(-1, 5)

    y = three.exact(CONV2D, three.images, three.weights)
    sizes = three.exact(CONV2D, np.abs(three.images), np.abs(three.weights))
    dw = three.exact(CONV2D_W, three.images, three.gradients)
    each = three.exact(CONV2D_W, np.abs(three.images), np.abs(three.gradients))
    with in_small_parts() if small else nullcontext():
        for _ in range(2):
            three.check(partial(correlation, three.windows, weights), y, sizes)
            three.check(partial(taps, three.windows, three.gradients, groups=groups), dw, each)
            if groups > 1:
                continue
            gather = partial(gathered, three.windows, three.rows, three.windows.taps, weights[0])
            three.check(gather, across(y), across(sizes))
            factors = across(three.gradients).copy().T
            gather = partial(gathered, three.windows, three.windows.taps, three.rows, factors)
            three.check(gather, *(x.reshape(5, -1).T for x in (dw, each)))


def nest(left: Any, right: Any) -> Nest:
    """The loops of a product, in registers of 8 float32."""
    shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    shape = (*shape, left.shape[-2], right.shape[-1])
    found = tiled(product_of(left, right, shape, np.empty(shape, left.dtype).strides), 8)
    assert found is not None
    return found.nest


def order(left: Any, right: Any) -> Any:
    """The order of the loops of a product."""
    tile = nest(left, right).tile
    assert isinstance(tile, Tile)
    return tile.order


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: 8)


@pytest.mark.usefixtures("short")
class TestChoices:
    """Which loops are chosen."""

    def test_long_sums_go_in_parts_of_operands_that_are_laid_anew(self) -> None:
        found = order(zeros(512, 1024), zeros(1024, 512))
        assert ("part", "k") in found
        assert ("lay", "v") in found
        assert order(zeros(512, 64), zeros(64, 16)) == (("each", "r"),)

    def test_a_large_operand_of_few_rows_is_read_as_it_lies(self) -> None:
        found = order(zeros(4, 2048), zeros(2048, 2048))
        assert ("part", "k") in found
        assert ("lay", "v") not in found

    def test_vectors_lie_along_the_fold_where_both_operands_of_few_rows_do(self) -> None:
        assert nest(zeros(4, 2048), zeros(2048, 2048).T).is_along
        assert not nest(zeros(512, 512), zeros(512, 512).T).is_along

    def test_few_terms_are_written_out_along_rows(self) -> None:
        assert nest(zeros(500, 4), zeros(4, 600)).store.term.axes[0].extent == 4
        assert order(zeros(500, 4), zeros(4, 600)) == (("each", "r"), ("each", "v"))

    def test_stacks_of_matrices_with_one_matrix_are_one_product(self) -> None:
        assert nest(zeros(20, 30, 40), zeros(40, 50)).outer == ()
        assert len(nest(zeros(20, 30, 40), zeros(20, 40, 50)).outer) == 1

    def test_one_code_serves_all_lengths(self) -> None:
        first, second = (nest(zeros(192, n), zeros(n, 192)) for n in (200, 232))
        assert first == second


def test_a_result_of_which_no_neighbours_lie_side_by_side_is_left_to_numpy() -> None:
    assert product(zeros(20, 30), zeros(30, 40), (20, 40), (640, 8)) is None
