"""What needs no optional package, and what says which one it needs: for ``test_extras``.

As a program, it computes where those of its arguments can't be imported, and writes JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "tests/runtime/interchange/importing/data/perceptron.keras"


class Refusing:
    """A finder in front of all others, for which some packages are not installed."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = frozenset(packages)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Nothing, so that the other finders are asked; raises ModuleNotFoundError."""
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def numbers() -> dict[str, list[float]]:
    """The losses of diagrams, those with a recipe trained, of the others also the gradients."""
    import gradwire as gw

    found = {}
    for path in sorted((ROOT / "assets" / "diagrams").glob("*.gradwire.json")):
        diagram = gw.load(path)
        found[path.name] = (
            _differentiated(diagram) if diagram.training is None else _trained(diagram)
        )
    return found | {name: _differentiated(diagram) for name, diagram in _made().items()}


def plans() -> int:
    """Plan programs with all passes that make machine code where there is a compiler; how many."""
    import gradwire as gw
    from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
    from gradwire.runtime.engine.plan.passes import FAST
    from gradwire.runtime.engine.plan.passes.scalars import WARM
    from tests.runtime.engine.programs import FAMILIES

    engine = NumpyEngine(FAST)
    for family in FAMILIES.values():
        engine.plan(family(0).outputs)
    for diagram in _made().values():
        planned = gw.Session(diagram, engine=engine).prepare()
        for _ in range(WARM + 1 if diagram.main.blocks.get("warm") else 1):
            planned()
    return len(FAMILIES) + len(_made())


def refusals() -> dict[str, str]:
    """What is said by everything that needs an optional package, by the package."""
    import gradwire as gw
    from gradwire.runtime.cli.commands.picture import drawing
    from gradwire.runtime.cli.display import why_no_window
    from gradwire.runtime.cli.processes import joined, run_of
    from gradwire.runtime.cli.programs.fix import fix
    from gradwire.runtime.cli.programs.mcp import mcp
    from gradwire.runtime.interchange.export.source import exported_files
    from gradwire.runtime.interchange.importing.formats import import_here
    from gradwire.runtime.interchange.importing.options import DEFAULTS
    from gradwire.runtime.training.studies.cluster import on_cluster
    from gradwire.runtime.training.studies.task import StudyWork

    diagram = _made()["small products"]
    asked: dict[str, Callable[[], Any]] = {
        "llvmlite": lambda: gw.Session(diagram, fast=True),
        "threadpoolctl": lambda: gw.Session(diagram, threads=1),
        "jax": lambda: gw.Session(diagram, engine="jax"),
        "jax to capture": lambda: gw.capture(lambda x: x, 1.0),
        "jax in processes": lambda: joined(2, "127.0.0.1:1", 0, "jax", "file").__enter__(),
        "jax runs": lambda: run_of(2),
        "onnx": lambda: exported_files(gw.Session(diagram), "onnx", Path("model.onnx")),
        "h5py": lambda: import_here(MODEL, DEFAULTS),
        "distributed": lambda: list(on_cluster(StudyWork.on(diagram), [], "tcp://127.0.0.1:1")),
        "PySide6": lambda: drawing("headless"),
        "libcst": lambda: fix("m.py:make"),
        "mcp": mcp,
    }
    found = {"PySide6 for a window": str(why_no_window())}
    for name, ask in asked.items():
        try:
            ask()
        except gw.GradwireError as error:
            found[name] = str(error)
    return found


def _differentiated(diagram: Any) -> list[float]:
    """The losses, and the root mean square of each gradient."""
    import gradwire as gw

    session = gw.Session(diagram)
    run = session.backward()
    squares = [np.square(g).mean() for g in run.gradients.values() if g is not None]
    losses = [np.mean(run.values[str(loss)]) for loss in session.losses]
    return [float(x) for x in (*losses, *np.sqrt(squares))]


def _trained(diagram: Any) -> list[float]:
    """The losses of three steps."""
    import gradwire as gw

    steps = gw.Trainer(gw.Session(diagram)).run(3)
    return [number for step in steps for number in step.losses.values()]


def _made() -> dict[str, Any]:
    """Diagrams of arrays for which a compiler has ways of its own."""
    import gradwire as gw

    def array(*shape: int) -> Any:
        return np.random.default_rng(0).standard_normal(shape).astype("float32")

    def of(y: Any) -> Any:
        return gw.build(gw.loss(gw.mean(gw.square(y)), name="loss"))

    def product(rows: int, terms: int, columns: int) -> Any:
        x, w = gw.variable("x", array(rows, terms)), gw.variable("w", array(terms, columns))
        return of(gw.mat_mul(x, w))

    scalars = gw.variable("warm", 0.5)
    for _ in range(20):
        scalars = gw.sin(scalars) * 1.5
    return {
        "few rows": product(3, 300, 400),
        "few terms": product(300, 4, 400),
        "tiles": product(100, 120, 140),
        "small products": product(2, 3, 4),
        "convolution": of(
            gw.max_pool2d(
                gw.relu(
                    gw.conv2d(
                        gw.variable("x", array(4, 8, 48, 48)), gw.variable("w", array(16, 8, 3, 3))
                    )
                ),
                window=[2, 2],
            )
        ),
        "softmax": of(gw.softmax(gw.variable("x", array(200, 100)))),
        "softmax of columns": of(gw.exp(gw.softmax(gw.variable("x", array(200, 100)), axis=0))),
        "points": of(gw.sum(gw.exp(gw.variable("x", array(20_000, 3))) * 2.0, axis=-1)),
        "scalars": of(scalars),
        "running sum": of(gw.cumulative_sum(gw.variable("x", array(300, 300)))),
        "solution": of(
            gw.solve(gw.variable("a", array(6, 6) + 9 * np.eye(6, dtype="float32")), array(6, 2))
        ),
        "rows": of(gw.gather(gw.variable("x", array(500, 32)), np.arange(4000) % 77)),
        "elementwise": of(gw.tanh(gw.exp(-gw.variable("x", array(300, 300))) * 2 + 1)),
        "transposed": of(gw.transpose(gw.variable("x", array(200, 300))) * 1.5),
    }


if __name__ == "__main__":
    sys.meta_path.insert(0, Refusing(sys.argv[1:]))
    print(json.dumps([numbers(), plans(), refusals(), sorted(sys.modules)]))
