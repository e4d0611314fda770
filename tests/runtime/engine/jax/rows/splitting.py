"""Compiles rows for arrays that are split along axis 0 over four devices of the processor, and
prints what the devices exchange, one line each.

Run as a program, because the number of devices is chosen before JAX starts.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

DEVICES = 4
EXCHANGES = r"(?:all-gather|all-to-all|all-reduce|collective-permute|reduce-scatter)(?:-start)?\("


def calls(xp: Any, leaf: Any) -> list[Any]:
    """Values of arrays that are split, and of weights that are not: ``leaf(array, split)``."""
    from gradwire.runtime.calculus.primitives.convolution import Geometry

    x, rows = leaf(np.ones((8, 16, 6), "f"), True), leaf(np.ones((8, 16, 3), "f"), True)
    i, one = leaf(np.zeros((8, 16, 3), int), True), leaf(np.zeros((8, 16, 1), int), True)
    column = leaf(np.ones((8, 16, 1), "f"), True)
    some, columns = leaf(np.zeros(4, int), False), leaf(np.ones((8, 16, 4), "f"), True)
    table, w = leaf(np.ones((16, 6), "f"), False), leaf(np.ones((6, 5), "f"), False)
    images, grown = leaf(np.ones((8, 4, 10, 10), "f"), True), leaf(np.ones((8, 6, 9, 9), "f"), True)
    filters, paired = (leaf(np.ones((6, c, 3, 3), "f"), False) for c in (4, 2))
    how = Geometry((3, 3), (1, 1), ((1, 0), (1, 0)))
    squares = xp.einsum("bij,bik->bjk", x, x) + xp.eye(6)
    return [
        xp.take_along_axis(x, i, 2),
        xp.take_along_axis(x, i[:, :3], 2),
        xp.add_along_axis(x, i, rows, 2),
        xp.add_along_axis(x, one, column, 2),
        *(
            getattr(xp, f"{name}_along_axis")(x, i, rows, 2)
            for name in ("set", "multiply", "maximum", "minimum")
        ),
        xp.take(table, i, 0),
        xp.take(x, some, 2),
        xp.scatter_add(x, some, columns, 2),
        xp.one_hot(i, 10),
        xp.sort(x, 2, descending=True),
        xp.argmax(x, 2),
        xp.cumulative_sum(x, 2),
        xp.softmax(x, 2),
        xp.logsumexp(x, (1, 2)),
        *(getattr(xp, name)(x) for name in ("erf", "tanh", "softplus", "sinh", "arctanh")),
        xp.sum(xp.erf(x), (1, 2)),
        xp.power(i, i),
        x[:, ::-2, 1:3],
        xp.embed(x, (8, 40, 6), (slice(0, 8), slice(1, 33, 2), slice(5, None, -1))),
        xp.flip(x, 1),
        xp.concat([x, rows], 2),
        x @ w,
        xp.einsum("bij,bkj->bik", x, x),
        *(getattr(xp, name)(squares) for name in ("cholesky", "inverse", "determinant")),
        xp.solve(squares, xp.permute_dims(x, (0, 2, 1))),
        *(xp.conv2d_c(images, k, how, g) for k, g in ((filters, 1), (paired, 2))),
        *(xp.conv2d_x(grown, k, images.shape, how, g) for k, g in ((filters, 1), (paired, 2))),
        xp.fold(xp.windows(images, how), images.shape, how),
        xp.max_pool(images, (2, 2), (2, 2)),
    ]


def main() -> None:
    """Print the exchanges."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    from tests.runtime.engine.jax.rows.comparing import Sheet, program

    sheet, split = Sheet(), {}

    def leaf(array: Any, divided: bool) -> Any:
        found = sheet.leaf(array)
        split[found] = divided
        return found

    outputs = calls(sheet.trace.xp, leaf)
    mesh = jax.make_mesh((DEVICES,), ("rows",), axis_types=(AxisType.Auto,))
    divided, whole = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("rows",), ()))
    with jax.enable_x64(True):
        given = [
            jax.device_put(array, divided if split[x] else whole)
            for x, array in sheet.bound.items()
        ]
        compiled = jax.jit(program(outputs, list(sheet.bound))).lower(given).compile()
    print(DEVICES == len(jax.devices()), len(outputs))
    for line in compiled.as_text().splitlines():
        if re.search(EXCHANGES, line):
            print(line.strip())


if __name__ == "__main__":
    main()
