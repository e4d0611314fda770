"""What people differentiate besides networks: kernels, fields, mechanics, polynomials."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.engine.networks import drawn, normal
from tests.benchmarks.workloads import Workload


def kernel() -> Workload:
    """Sums over a Gaussian kernel of all pairs of points, by broadcasting."""
    points, width = 300, 8
    variables = {"x": normal(points, width, seed=1, scale=0.5)}
    d = drawn(variables, {})
    left = d.add("Reshape", "x", shape=[points, 1, width])
    right = d.add("Reshape", "x", shape=[1, points, width])
    squares = d.add("Sum", d.add("Square", d.add("Sub", left, right)), axis=[2])
    end = d.add("Sum", d.add("Exp", d.add("Neg", squares)))

    def peer(ops: Any, v: Any, _: Any) -> Any:
        x = ops.reshape(v["x"], (points, 1, width)) - ops.reshape(v["x"], (1, points, width))
        return ops.sum(ops.exp(-ops.total(x * x, 2)))

    return Workload(
        "kernel", f"Gaussian kernel of {points} points with {width} coordinates",
        d.diagram(end), variables, {}, peer, 1,
    )  # fmt: skip


def heat() -> Workload:
    """Steps of diffusion on a grid, by differences of neighbours."""
    size, steps = 256, 5
    variables = {"u": normal(size, size, seed=1)}
    d = drawn(variables, {})
    u, inner = "u", size
    for _ in range(steps):
        inner -= 2

        def part(i: int, j: int, u: str = u, inner: int = inner) -> str:
            return d.add("Slice", u, begin=[i, j], size=[inner, inner])

        middle = part(1, 1)
        around = d.add("Add", d.add("Add", part(0, 1), part(2, 1)),
                       d.add("Add", part(1, 0), part(1, 2)))  # fmt: skip
        flow = d.add("Sub", around, d.add("Mul", middle, b=4.0))
        u = d.add("Add", middle, d.add("Mul", flow, b=0.1))

    def peer(ops: Any, v: Any, _: Any) -> Any:
        u = v["u"]
        for _ in range(steps):
            middle = u[1:-1, 1:-1]
            around = (u[:-2, 1:-1] + u[2:, 1:-1]) + (u[1:-1, :-2] + u[1:-1, 2:])
            u = middle + 0.1 * (around - 4 * middle)
        return ops.sum(u * u)

    return Workload(
        "heat", f"{steps} steps of diffusion on {size} × {size}",
        d.diagram(d.add("Sum", d.add("Square", u))), variables, {}, peer, 1,
    )  # fmt: skip


def pendulums() -> Workload:
    """Steps of an integrator on short vectors."""
    count, steps = 64, 100
    variables = {"x": normal(count, seed=1), "k": normal(count, seed=2)}
    d = drawn(variables, {})
    x = "x"
    for _ in range(steps):
        force = d.add("Sin", d.add("Mul", "k", x))
        x = d.add("Add", x, d.add("Mul", force, b=0.01))

    def peer(ops: Any, v: Any, _: Any) -> Any:
        x = v["x"]
        for _ in range(steps):
            x = x + 0.01 * ops.sin(v["k"] * x)
        return ops.sum(x * x)

    return Workload(
        "pendulums", f"{steps} steps of {count} pendulums",
        d.diagram(d.add("Sum", d.add("Square", x))), variables, {}, peer, 1,
    )  # fmt: skip


def powers() -> Workload:
    """A polynomial, as formulas are typed: with ``x**3`` and ``x**2``."""
    shape = 256, 512
    variables = {"x": normal(*shape, seed=1), "w": normal(*shape, seed=2)}
    d = drawn(variables, {})
    both = d.add("Add", d.add("Pow", "x", b=3.0), d.add("Pow", "x", b=2.0))

    def peer(ops: Any, v: Any, _: Any) -> Any:
        return ops.sum((v["x"] ** 3 + v["x"] ** 2) * v["w"])

    return Workload(
        "powers", "x³ + x² of 131,072 elements",
        d.diagram(d.add("Sum", d.add("Mul", both, "w"))), variables, {}, peer, 1,
    )  # fmt: skip
