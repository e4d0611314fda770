"""``extras.py EXTRA``: one extra at its work, where none of the others is installed."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import gradwire as gw
from gradwire.runtime import extras
from gradwire.runtime.cli.entry import main as command

OWN = {"fast": "llvmlite", "jax": "jax", "interchange": "onnx", "cluster": "distributed",
       "fix": "libcst", "mcp": "mcp"}  # fmt: skip
"""A package that only this extra brings."""
X = np.arange(6.0).reshape(2, 3)
W = np.ones((3, 2))


def program() -> gw.Diagram:
    """The loss is the sum of relu(x @ w)."""
    x, w = gw.constant("x", X), gw.variable("w", W)
    return gw.build(gw.loss(gw.sum(gw.relu(gw.mat_mul(x, w))), name="loss"))


def check(run: gw.Run, variable: str = "w") -> None:
    """Compare the gradient of w with its formula."""
    np.testing.assert_allclose(run.gradients[variable], X.T @ np.ones((2, 2)))


def fast() -> None:
    """Compute with machine code."""
    check(gw.Session(program(), fast=True).backward())


def jax() -> None:
    """Compute by JAX."""
    check(gw.Session(program(), engine="jax").backward())


def interchange(folder: Path) -> None:
    """Write a model and read it again."""
    source, model = folder / "program.gradwire.json", folder / "program.onnx"
    gw.save(program(), source)
    assert command(["export", str(source), "--to", "onnx", "-o", str(model)]) == 0
    imported = gw.import_model(model)
    values = gw.Session(imported.diagram).run().values
    assert any(np.allclose(value, (X @ W).sum()) for value in values.values())


def cluster(folder: Path) -> None:
    """Train combinations on a cluster of one worker."""
    from distributed import LocalCluster

    example = Path(gw.assets.__path__[0]) / "diagrams" / "training_spirals.gradwire.json"
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as local:
        varied = ["--vary", "seed=0,1", "--steps", "2", "--scheduler", local.scheduler_address]
        assert command(["study", str(example), *varied, "--out", str(folder / "study")]) == 0


def fix() -> None:
    """Find a patch; PyTorch, which would try it, is not here."""
    from gradwire.runtime.programs.patches import at_line

    (patch,) = at_line("m.py", "y = x.detach()\n", 1)
    assert patch.after == "y = x\n"


def mcp() -> None:
    """Ask the server by a client."""
    import asyncio

    from mcp import Client, StdioServerParameters

    example = Path(gw.assets.__path__[0]) / "diagrams" / "mxnet_seed.gradwire.json"

    async def asked() -> str:
        server = StdioServerParameters(command=sys.executable, args=["-Pm", "gradwire", "mcp"])
        async with Client(server) as client:
            question = {"model": str(example), "parameter": "b"}
            return str((await client.call_tool("why", question)).structured_content)

    assert "stops every route to loss" in asyncio.run(asked())


def main() -> None:
    """Try the extra that is named."""
    name = sys.argv[1]
    there = {extra for extra, package in OWN.items() if extras.installed(package)}
    assert there == {name}, f"installed are {there}, not {name} alone"
    with tempfile.TemporaryDirectory() as folder:
        work = {"interchange": interchange, "cluster": cluster}.get(name)
        if work is not None:
            work(Path(folder))
        else:
            {"fast": fast, "jax": jax, "fix": fix, "mcp": mcp}[name]()
    print(f"{name}: all well")


if __name__ == "__main__":
    main()
