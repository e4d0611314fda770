"""What people differentiate besides layers: kernels, fields, mechanics, mixtures, solvers."""

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


def mixture() -> Workload:
    """The likelihood of points in a mixture of Gaussians, as EM has it."""
    points, clusters, width = 4000, 8, 2
    variables = {
        "means": normal(clusters, width, seed=1),
        "scales": normal(clusters, width, seed=2, scale=0.1),
        "weights": normal(clusters, seed=3),
    }
    data = {"x": normal(points, 1, width, seed=4)}
    d = drawn(variables, data)
    away = d.add("Mul", d.add("Sub", "x", "means"), d.add("Exp", "scales"))
    costs = d.add("Sub", d.add("Mul", d.add("Square", away), b=0.5), "scales")
    scores = d.add("Sub", d.add("LogSoftmax", "weights"), d.add("Sum", costs, axis=[2]))
    end = d.add("Neg", d.add("Mean", d.add("LogSumExp", scores, axis=[1])))

    def peer(ops: Any, v: Any, data: Any) -> Any:
        away = (data["x"] - v["means"]) * ops.exp(v["scales"])
        weights = v["weights"] - ops.log_sum_exp(v["weights"], 0)
        scores = weights - ops.total(away * away * 0.5 - v["scales"], 2)
        return -ops.mean(ops.log_sum_exp(scores, 1))

    return Workload(
        "mixture", f"mixture of {clusters} Gaussians for {points:,} points in the plane",
        d.diagram(end), variables, data, peer, 1,
    )  # fmt: skip


def solver() -> Workload:
    """A neural differential equation, by Runge and Kutta's method."""
    rows, width, hidden, steps, step = 64, 2, 50, 10, 0.1
    variables = {
        "w": normal(width, hidden, seed=1, scale=0.5), "b": normal(hidden, seed=2, scale=0.1),
        "u": normal(hidden, width, seed=3, scale=0.2),
    }  # fmt: skip
    data = {"x": normal(rows, width, seed=4)}
    d = drawn(variables, data)

    def slope(x: str) -> str:
        inner = d.add("Tanh", d.add("Add", d.add("MatMul", x, "w"), "b"))
        return d.add("MatMul", inner, "u")

    def ahead(x: str, change: str, by: float) -> str:
        return d.add("Add", x, d.add("Mul", change, b=by))

    x = "x"
    for _ in range(steps):
        k1 = slope(x)
        k2 = slope(ahead(x, k1, step / 2))
        k3 = slope(ahead(x, k2, step / 2))
        k4 = slope(ahead(x, k3, step))
        middle = d.add("Add", d.add("Mul", k2, b=2.0), d.add("Mul", k3, b=2.0))
        x = ahead(x, d.add("Add", d.add("Add", k1, middle), k4), step / 6)

    def peer(ops: Any, v: Any, data: Any) -> Any:
        def slope(x: Any) -> Any:
            return ops.matmul(ops.tanh(ops.matmul(x, v["w"]) + v["b"]), v["u"])

        x = data["x"]
        for _ in range(steps):
            k1 = slope(x)
            k2 = slope(x + step / 2 * k1)
            k3 = slope(x + step / 2 * k2)
            k4 = slope(x + step * k3)
            x = x + step / 6 * (k1 + (2 * k2 + 2 * k3) + k4)
        return ops.mean(x * x)

    return Workload(
        "solver", f"neural differential equation, {steps} steps of Runge and Kutta's, batch {rows}",
        d.diagram(d.add("Mean", d.add("Square", x))), variables, data, peer, 1,
    )  # fmt: skip


def bodies() -> Workload:
    """Bodies that attract each other."""
    count, steps = 32, 10
    variables = {"p": normal(count, 3, seed=1), "q": normal(count, 3, seed=2, scale=0.1)}
    d = drawn(variables, {})
    p, q = "p", "q"
    for _ in range(steps):
        to, at = (d.add("Reshape", p, shape=shape) for shape in ([1, count, 3], [count, 1, 3]))
        away = d.add("Sub", to, at)
        squares = d.add("Sum", d.add("Square", away), axis=[2], keepdims=True)
        squares = d.add("Add", squares, b=0.05)
        forces = d.add("Div", away, d.add("Mul", squares, d.add("Sqrt", squares)))
        q = d.add("Add", q, d.add("Mul", d.add("Sum", forces, axis=[1]), b=0.01))
        p = d.add("Add", p, d.add("Mul", q, b=0.01))

    def peer(ops: Any, v: Any, _: Any) -> Any:
        p, q = v["p"], v["q"]
        for _ in range(steps):
            away = ops.reshape(p, (1, count, 3)) - ops.reshape(p, (count, 1, 3))
            squares = ops.total(away * away, 2, keepdims=True) + 0.05
            forces = away / (squares * ops.root(squares))
            q = q + 0.01 * ops.total(forces, 1)
            p = p + 0.01 * q
        return ops.sum(p * p)

    return Workload(
        "bodies", f"{steps} steps of {count} bodies that attract each other",
        d.diagram(d.add("Sum", d.add("Square", p))), variables, {}, peer, 1,
    )  # fmt: skip
