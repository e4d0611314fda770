"""Convolutions of machine code against the kernels in float64, whatever the geometry."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.calculus.primitives.convolution import Geometry
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.native import Kernel, machine
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.windows import native_convolutions
from gradwire.runtime.engine.plan.passes.windows.native_convolutions import (
    ImageGradientTask,
    RowsTask,
)
from gradwire.runtime.engine.plan.plan import Plan

if TYPE_CHECKING:
    from gradwire.runtime.engine.compiler.schedule import Nest

pytest.importorskip("llvmlite")

NATIVE = {RowsTask, ImageGradientTask}
Array = np.ndarray[Any, Any]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(
        "gradwire.runtime.engine.plan.passes.windows.native_convolutions"
    )
    monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setattr(module, "SHORTEST", 1)


class Three:
    """A convolution and its derivatives, of leaves of their own."""

    def __init__(self, n: int, channels: int, filters: int, image: tuple[int, int],
                 geometry: Geometry, groups: int = 1, dtype: str = "float32") -> None:  # fmt: skip
        trace, places = Trace(), geometry.output(image)
        shapes = (
            (n, channels * groups, *image),
            (filters * groups, channels, *geometry.window),
            (n, filters * groups, *places),
        )
        self.leaves = x, w, g = [trace.apply(LEAF, shape=s, dtype=dtype) for s in shapes]
        self.outputs = [
            trace.xp.conv2d_c(x, w, geometry, groups),
            trace.xp.conv2d_x(g, w, x.shape, geometry, groups),
            trace.xp.conv2d_w(x, g, w.shape, geometry, groups),
        ]

    def numbers(self, seed: int) -> list[Array]:
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(x.shape).astype(x.dtype) for x in self.leaves]

    def run(self, plan: Plan, numbers: list[Array]) -> list[Array]:
        for leaf, array in zip(self.leaves, numbers, strict=True):
            plan.leaves[leaf][...] = array
        plan.run()
        return [plan.read(value) for value in self.outputs]

    def exact(self, numbers: list[Array]) -> list[Array]:
        """By the kernels, in float64."""
        x, w, g = (array.astype(np.float64) for array in numbers)
        found = []
        for value, pair in zip(self.outputs, ((x, w), (g, w), (x, g)), strict=True):
            out = np.empty(value.shape)
            with np.errstate(invalid="ignore"):
                value.primitive.kernel(*pair, out=out, **value.attributes)
            found.append(out)
        return found


def some(
    seed: int, dtype: str, least: tuple[int, int] = (7, 7), most: tuple[int, int] = (24, 40)
) -> Three:
    rng = np.random.default_rng(seed)

    def between(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    geometry = Geometry(
        (between(1, 4), between(1, 4)),
        (between(1, 3), between(1, 3)),
        ((between(0, 4), between(0, 3)), (between(0, 4), between(0, 3))),
        (between(1, 2), between(1, 2)),
    )
    image = between(least[0], most[0]), between(least[1], most[1])
    spans = [d * (n - 1) for d, n in zip(geometry.dilation, geometry.window, strict=True)]
    if any(n + sum(geometry.padding[i]) <= spans[i] for i, n in enumerate(image)):
        geometry = geometry._replace(window=(1, 1))
    return Three(between(1, 3), between(1, 4), between(1, 9), image, geometry, between(1, 3), dtype)


def assert_rounded(found: list[Array], exact: list[Array], sizes: list[Array], dtype: str) -> None:
    """Within some roundings of the sum of the sizes of all products."""
    for a, b, size in zip(found, exact, sizes, strict=True):
        assert a.dtype == dtype
        np.testing.assert_array_less(np.abs(a - b), 4 * np.finfo(dtype).eps * size + 1e-7)


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("seed", range(24))
def test_any_geometry(seed: int, dtype: str, eager: None) -> None:
    """Twice with other numbers: nothing is left of the first."""
    agrees(some(seed, dtype), dtype)


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("seed", range(60))
def test_images_smaller_than_strides_and_margins(seed: int, eager: None) -> None:
    """Windows may reach nothing but padding, and a stride may be longer than an image."""
    agrees(some(seed, "float32", (1, 1), (3, 3)), "float32")


@pytest.mark.parametrize(
    ("image", "geometry"),
    [
        ((1, 5), Geometry((1, 2), (2, 1), ((1, 1), (0, 1)))),
        ((1, 9), Geometry((1, 3), (2, 2), ((1, 1), (1, 1)))),
        ((9, 1), Geometry((3, 1), (2, 2), ((1, 1), (0, 0)))),
        ((1, 1), Geometry((1, 1), (2, 2))),
    ],
)
def test_an_image_of_one_row_or_column(
    image: tuple[int, int], geometry: Geometry, eager: None
) -> None:
    agrees(Three(2, 3, 9, image, geometry), "float32")


def agrees(three: Three, dtype: str) -> None:
    plan = Plan(three.outputs, (passes.native_convolutions,))
    assert {type(task) for _, task in plan.parts} == NATIVE
    for numbers in (three.numbers(1), three.numbers(2)):
        sizes = three.exact([np.abs(array) for array in numbers])
        assert_rounded(three.run(plan, numbers), three.exact(numbers), sizes, dtype)


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("columns", [1, 3, 8, 13, 16, 37])
def test_any_length_of_rows_on_any_machine(
    columns: int, lanes: int, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    geometry = Geometry((3, 3), padding=((1, 1), (1, 1)))
    three = Three(2, 3, 5, (6, columns), geometry)
    numbers = three.numbers(1)
    found = three.run(Plan(three.outputs, (passes.native_convolutions,)), numbers)
    sizes = three.exact([np.abs(array) for array in numbers])
    assert_rounded(found, three.exact(numbers), sizes, "float32")


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("what", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [0, 1, 2])
@pytest.mark.parametrize("stride", [1, 2])
def test_what_is_no_number_goes_where_the_kernels_let_it_go(
    stride: int, where: int, what: float, eager: None
) -> None:
    """Also at the edges, where padding is multiplied, and in vectors that overlap."""
    geometry = Geometry((3, 3), (stride, stride), ((1, 1), (1, 1)))
    three = Three(2, 2, 5, (9, 21), geometry)
    plan = Plan(three.outputs, (passes.native_convolutions,))
    for place in (0, 1, -1):
        numbers = three.numbers(1)
        numbers[where].reshape(-1)[place] = what
        for a, b in zip(three.run(plan, numbers), three.exact(numbers), strict=True):
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            np.testing.assert_array_equal(np.isinf(a), np.isinf(b))


def test_results_do_not_depend_on_the_number_of_threads(
    eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WAKE", 1)
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    three = Three(3, 2, 9, (12, 20), Geometry((3, 3), (1, 2), ((1, 1), (1, 1))), groups=2)
    found = []
    for number in (1, 2, 7):
        threads.limit(number)
        try:
            plan = Plan(three.outputs, (passes.native_convolutions,))
            found.append(three.run(plan, three.numbers(1)))
        finally:
            threads.limit(None)
    for others in found[1:]:
        for a, b in zip(others, found[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_images_in_any_order_of_axes(eager: None) -> None:
    """Views with gaps are read as they are."""
    trace, geometry = Trace(), Geometry((2, 3))
    shapes = (10, 12, 3, 2), (3, 2, 4, 3), (9, 10, 4, 2)
    orders = (3, 2, 0, 1), (2, 0, 1, 3), (3, 2, 0, 1)
    leaves = [trace.apply(LEAF, shape=shape, dtype="float64") for shape in shapes]
    x, w, g = map(trace.xp.permute_dims, leaves, orders)
    outputs = [
        trace.xp.conv2d_c(x, w, geometry, 1),
        trace.xp.conv2d_x(g, w, x.shape, geometry, 1),
        trace.xp.conv2d_w(x, g, w.shape, geometry, 1),
    ]
    rng = np.random.default_rng(0)
    numbers = [rng.standard_normal(leaf.shape) for leaf in leaves]
    results = []
    for chosen in ((), (passes.native_convolutions,)):
        plan = Plan(outputs, chosen)
        for leaf, array in zip(leaves, numbers, strict=True):
            plan.leaves[leaf][...] = array
        plan.run()
        results.append([plan.read(value) for value in outputs])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("image", "groups", "compiled"),
    [((64, 64), 1, [True, True, True]), ((8, 8), 1, [False, False, False]),
     ((4096, 5), 1, [False, True, False]), ((4096, 6), 2, [True, True, True]),
     ((4096, 3), 2, [False, False, False])],
)  # fmt: skip
def test_only_what_pays_is_compiled(
    image: tuple[int, int],
    groups: int,
    compiled: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where vectors don't go across filters."""
    monkeypatch.setattr(machine, "lanes", lambda: 8)
    monkeypatch.setattr(native_convolutions, "goes_across", lambda *_: False)
    three = Three(2, 8, 8, image, Geometry((3, 3)), groups)
    for output, expected in zip(three.outputs, compiled, strict=True):
        plan = Plan([output], (passes.native_convolutions,))
        assert {type(task) in NATIVE for _, task in plan.parts} == {expected}


def test_other_geometries_share_the_code(eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    computing = importlib.import_module("gradwire.runtime.engine.compiler.computing")
    compiled, nests = computing._compiled, set()

    def noted(nest: Nest) -> Kernel:
        if nest.tile is not None:
            nests.add(nest)
        return compiled(nest)

    monkeypatch.setattr(computing, "_compiled", noted)
    plain = Three(3, 2, 4, (21, 33), Geometry((3, 3)))
    strided = Three(2, 2, 4, (37, 61), Geometry((5, 3), (2, 2), ((2, 2), (1, 1))))
    for three in (plain, strided):
        Plan(three.outputs[:1], (passes.native_convolutions,))
    assert len(nests) == 1


# ---- what follows -----------------------------------------------------------------------------


def tasks_of(plan: Plan) -> list[type]:
    return [type(task) for task in dict.fromkeys(task for _, task in plan.parts)]


def both(outputs: list[Value], numbers: dict[Value, Array]) -> tuple[list[Array], list[Array]]:
    """By machine code and by the kernels."""
    results = []
    for chosen in ((passes.native_convolutions,), ()):
        plan = Plan(outputs, chosen)
        for leaf, array in numbers.items():
            if leaf in plan.leaves:
                plan.leaves[leaf][...] = array
        plan.run()
        results.append([plan.read(value) for value in outputs])
    return results[0], results[1]


class Layer:
    """A convolution of leaves, and a bias for it."""

    def __init__(self, filters: int = 5) -> None:
        trace = Trace()
        self.xp = trace.xp
        shapes = (2, 2, 9, 21), (filters, 2, 3, 3), (filters, 1, 1)
        self.leaves = [trace.apply(LEAF, shape=shape, dtype="float32") for shape in shapes]
        self.x, self.w, self.bias = self.leaves
        self.out = self.xp.conv2d(self.x, self.w, (1, 2), ((1, 1), (0, 1)))

    def numbers(self) -> dict[Value, Array]:
        rng = np.random.default_rng(0)
        return {x: rng.standard_normal(x.shape).astype(x.dtype) for x in self.leaves}


class Below:
    """A convolution of images that a ReLU made, and the gradient of what the ReLU was given."""

    def __init__(self, stride: tuple[int, int], columns: int, dtype: str = "float32") -> None:
        trace = Trace()
        geometry = Geometry((3, 3), stride, ((1, 1), (1, 1)))
        shape, xp = (2, 3, 9, columns), trace.xp
        places = geometry.output(shape[2:])
        shapes = shape, (4, 3, 3, 3), (2, 4, *places)
        self.x, self.w, self.g = (trace.apply(LEAF, shape=s, dtype=dtype) for s in shapes)
        out = xp.conv2d_c(xp.relu(self.x), self.w, geometry, 1)
        self.outputs = [sweep([(out, self.g)], [self.x])[self.x]]

    def numbers(self) -> dict[Value, Array]:
        rng = np.random.default_rng(0)
        return {x: rng.standard_normal(x.shape).astype(x.dtype) for x in (self.x, self.w, self.g)}


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("columns", [4, 7, 8, 40])
@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (1, 2), (2, 2), (3, 3), (1, 3)])
def test_gradients_below_a_relu(
    stride: tuple[int, int], columns: int, dtype: str, eager: None
) -> None:
    below = Below(stride, columns, dtype)
    numbers = below.numbers()
    numbers[below.x][0, 0, 0, :2] = np.nan, 0
    found, expected = both(below.outputs, numbers)
    bound = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-13}[dtype]
    np.testing.assert_allclose(found[0], expected[0], rtol=bound, atol=bound)


def test_gradients_below_a_relu_by_weights_that_are_no_numbers(eager: None) -> None:
    below = Below((1, 2), 8)
    numbers = below.numbers()
    numbers[below.w][1, 1, 0, 1] = np.inf
    found, expected = both(below.outputs, numbers)
    np.testing.assert_array_equal(np.isnan(found[0]), np.isnan(expected[0]))
    np.testing.assert_array_equal(np.isinf(found[0]), np.isinf(expected[0]))
    np.testing.assert_array_equal(found[0] == 0, expected[0] == 0)


def test_what_else_reads_a_convolution_finds_it(eager: None) -> None:
    layer = Layer()
    xp, y = layer.xp, layer.out + layer.bias
    for outputs in (
        [y, xp.relu(y)],
        [layer.out, y],
        [xp.relu(layer.out), xp.tanh(layer.out)],
        [layer.out + layer.out],
        [layer.out + xp.permute_dims(layer.out[:1, :1, :1, :1], (3, 2, 1, 0))],
    ):
        for a, b in zip(*both(outputs, layer.numbers()), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_what_is_no_number_passes_a_relu(eager: None) -> None:
    layer = Layer()
    numbers = layer.numbers()
    numbers[layer.x][0, 0, 2, 3], numbers[layer.x][1, 1, 5, 8] = np.nan, -np.inf
    found, expected = both([layer.xp.relu(layer.out + layer.bias), layer.out * 1], numbers)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        np.testing.assert_array_equal(np.isinf(a), np.isinf(b))


def test_images_are_laid_out_by_whoever_comes_first(eager: None) -> None:
    """The last convolution has a bias that is made of the first."""
    layer = Layer(filters=4)
    xp = layer.xp
    other = xp.conv2d(layer.x, layer.w * 2, (1, 2), ((1, 1), (0, 1)))
    bias = xp.mean(other, (0, 2, 3))
    y = xp.relu(layer.out + xp.reshape(bias, (4, 1, 1)))
    plan = Plan([y], (passes.native_convolutions,))
    assert tasks_of(plan).count(RowsTask) == 2
    found, expected = both([y], layer.numbers())
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-5)


def test_products_of_many_channels_are_left_to_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of single elements, whatever the step; and of short rows, where vectors go along them."""
    monkeypatch.setattr(machine, "lanes", lambda: 8)
    monkeypatch.setattr(native_convolutions, "goes_across", lambda *_: False)
    pointwise = Geometry((1, 1)), Geometry((1, 1), (2, 2))
    for case in (*(Three(2, 64, 64, (28, 28), geometry) for geometry in pointwise),
                 Three(2, 64, 64, (3, 3), Geometry((3, 3), padding=((1, 1), (1, 1))))):  # fmt: skip
        plan = Plan(case.outputs, (passes.native_convolutions,))
        assert NATIVE.isdisjoint(type(task) for _, task in plan.parts)
