"""TensorFlow: operators and models, with the losses and gradients that it found."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.tensorflow.importer import (
    import_graph_def,
    import_saved_model,
)
from tests.interchange.rows import Row
from tests.runtime.interchange.importing.tensorflow.fixtures import (
    DATA,
    Archive,
    difference,
    graph_file,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

LOSS, GRADIENT = 2e-5, 1e-4
"""How far losses and gradients may be from TensorFlow's, relative to the largest number."""


def rows() -> Iterator[Row]:
    """A row for each model, and one for all operators together."""
    models = Archive("models.npz")
    with tempfile.TemporaryDirectory() as folder:
        yield _agent("SavedModel with a stop", models.case("agent"), None)
        yield _agent("frozen graph with a stop", models.case("agent"), Path(folder))
        for name in ("perceptron", "images"):
            yield _network(name, models.case(name), Path(folder))
        yield from _operators(Path(folder))


def _agent(name: str, case: Mapping[str, Any], folder: Path | None) -> Row:
    inputs = {k.removeprefix("in/"): a for k, a in case.items() if k.startswith("in/")}
    if folder is None:
        made = import_saved_model(DATA / "q_learning", arrays=inputs)
    else:
        made = import_graph_def(graph_file(case, folder), arrays=inputs)
    done = Session(made.diagram).backward()
    (port,) = made.outputs.values()
    wanted = [a for key, a in case.items() if key.startswith("gradient/")]
    gradients = [done.gradients.get(path) for path in made.parameters.values()]
    worst = max(_nearest(gradients, array) for array in wanted)
    return _row(name, difference(done.values[port], case["loss"]), worst)


def _network(name: str, case: Mapping[str, Any], folder: Path) -> Row:
    made = import_graph_def(graph_file(case, folder), arrays={"x": case["x"]})
    (port,) = made.outputs.values()
    done = Session(made.diagram).backward([port], out_gradients={port: 2 * case["y"]})
    gradients = [done.gradients.get(path) for path in made.parameters.values()]
    wanted = [array for key, array in case.items() if key.startswith("gradient")]
    worst = max(_nearest(gradients, array) for array in wanted)
    return _row(f"frozen Keras {name}", difference(done.values[port], case["y"]), worst)


def _nearest(gradients: list[Any], wanted: Any) -> float:
    return min(
        difference(g, wanted) for g in gradients if g is not None and g.shape == wanted.shape
    )


def _operators(folder: Path) -> Iterator[Row]:
    archive = Archive("operators.npz")
    for name in archive.cases:
        case = archive.case(name)
        try:
            made = import_graph_def(graph_file(case, folder))
        except GradwireError as error:
            yield Row(f"operator {name}", False, str(error))
        else:
            yield _operator(name, case, made)


def _operator(name: str, case: Mapping[str, Any], made: Imported) -> Row:
    done = Session(made.diagram).backward()
    (port,) = made.outputs.values()
    worst = 0.0
    for parameter, path in made.parameters.items():
        wanted = case.get("gradient" + parameter.partition("/")[0].removeprefix("x"))
        gradient = done.gradients[path]
        if gradient is None or wanted is None:
            worst = worst if gradient is wanted else float("inf")
        else:
            worst = max(worst, difference(gradient, wanted))
    return _row(f"operator {name}", difference(done.values[port], case["loss"]), worst)


def _row(name: str, loss: float, gradient: float) -> Row:
    passed = loss <= LOSS and gradient <= GRADIENT
    return Row(name, passed, f"loss within {loss:.1g}, gradients within {gradient:.1g}")
