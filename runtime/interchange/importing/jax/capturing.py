"""Captures a function of JAX as a diagram, and compares it with what JAX computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram.comparison import MAX_LINE, Comparison, Disagreement
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.comparing import (
    LEAST,
    apart,
    differing,
    largest,
    with_comparison,
)
from gradwire.runtime.interchange.importing.jax.arguments import (
    ArgumentLeaf,
    named_results,
    read_arguments,
)
from gradwire.runtime.interchange.importing.jax.jaxprs import (
    LazyBroadcast,
    OpaqueOutput,
    Operand,
    held,
    staged,
)
from gradwire.runtime.interchange.importing.jax.recorded import JaxRegions
from gradwire.runtime.interchange.importing.jax.walking import ProgramWalk
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions, conclude
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.progress_bars import bar

if TYPE_CHECKING:
    from jax import Array as JaxArray

    from gradwire.blocks.values import Array
    from gradwire.runtime.engine import Run
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.jax.arguments import TracedArguments


VALUES_WITHIN = 1e-5
GRADIENTS_WITHIN = 1e-4
"""Relative to the largest element of an array."""
ROUNDING = 8
"""Differences of so many units in the last place of 1 are none: sums that cancel have them."""


def compare_with_jax(
    function: Callable[..., object], arguments: TracedArguments, imported: Imported
) -> Comparison:
    """One run of the diagram and one of JAX, side by side.

    Values are compared relative to the largest of an array. JAX gives zeros where nothing arrives:
    there the diagram must have no gradient, or zeros.
    """
    loss = next((name for name, port in imported.outputs.items() if _is_loss(imported, port)), "")
    session = Session(imported.diagram, fast=False)
    run = session.backward(contributions=False) if loss else session.run()
    try:
        results, gradients = _of_jax(function, arguments, loss)
    except (TypeError, ValueError, NotImplementedError) as error:  # JAX has no derivative here
        if not loss:
            raise
        results, gradients = _of_jax(function, arguments, "")
        why = str(error).partition("\n")[0]
        found = tuple(_values(imported, run, results))
        text = "" if found else f"it has no gradients: {why}"
        return Comparison(system="JAX", unchecked=text[:MAX_LINE], disagreements=found)
    head = imported.outputs.get(loss, "")
    found = (*_values(imported, run, results), *_gradients(imported, run, gradients, head))
    pairs = [(run.gradients.get(imported.parameters[name]), x) for name, x in gradients.items()]
    least = LEAST * largest(gradients.values())
    distances = [
        *(apart(run.values[port], np.asarray(results[n])) for n, port in imported.outputs.items()),
        *(apart(ours, theirs, least) for ours, theirs in pairs if ours is not None),
    ]
    return Comparison(
        system="JAX",
        losses=(head,) if loss else (),
        gradients=len(pairs),
        absent=sum(ours is None for ours, _ in pairs),
        apart=0.0 if found else max(distances, default=0.0),
        disagreements=found,
    )


def _is_loss(imported: Imported, port: str) -> bool:
    return imported.diagram.main.blocks[port.partition(".")[0]].type_name() == "Loss"


def _of_jax(
    function: Callable[..., object], arguments: TracedArguments, loss: str
) -> tuple[Mapping[str, JaxArray], Mapping[str, Array]]:
    """The results by name, and the gradients of the loss by the names of variables."""
    import jax

    arrays = [leaf.array for leaf in arguments.leaves]
    places = [i for i, leaf in enumerate(arguments.leaves) if leaf.is_variable]

    def results(variables: Sequence[JaxArray]) -> tuple[JaxArray, Mapping[str, JaxArray]]:
        given = list(arrays)
        for place, variable in zip(places, variables, strict=True):
            given[place] = variable
        named = named_results(arguments.call(function, given))
        return (named[loss].reshape(()) if loss else 0.0), named

    variables = [arrays[place] for place in places]
    if not loss or not variables:
        return results(variables)[1], {}
    (_, named), found = jax.value_and_grad(results, has_aux=True)(variables)
    names = [arguments.leaves[place].name for place in places]
    return named, {n: np.asarray(g) for n, g in zip(names, found, strict=True)}


def _values(
    imported: Imported, run: Run, results: Mapping[str, JaxArray]
) -> Iterator[Disagreement]:
    for name, port in imported.outputs.items():
        theirs = np.asarray(results[name])
        distance = _distance(run.values[port], theirs, VALUES_WITHIN)
        if distance:
            yield differing("value", port, port, theirs, run.values[port], distance)


def _gradients(
    imported: Imported, run: Run, gradients: Mapping[str, Array], loss: str
) -> Iterator[Disagreement]:
    for name, theirs in gradients.items():
        path = imported.parameters[name]
        ours, at = run.gradients.get(path), f"{path}.out"
        if ours is None:
            if theirs.any():
                yield differing("gradient", loss, at, theirs, None)
            continue
        distance = _distance(ours, theirs, GRADIENTS_WITHIN)
        if distance:
            yield differing("gradient", loss, at, theirs, ours, distance)


def _distance(ours: Array, theirs: Array, within: float) -> float:
    """The largest difference, relative to the largest element; 0 for one that rounding explains.

    NaN and infinities must be at the same places.
    """
    same = ours.shape == theirs.shape and np.array_equal(np.isfinite(ours), np.isfinite(theirs))
    if not same:
        return float("inf")
    finite = np.isfinite(theirs)
    a, b = ours[finite].astype(np.float64), theirs[finite].astype(np.float64)
    if not a.size:
        return 0.0
    rounding = ROUNDING * _unit(theirs)
    difference, largest = float(np.abs(a - b).max()), float(np.abs(b).max())
    allowed = max(within, rounding) * largest + rounding
    return 0.0 if difference <= allowed else difference / max(largest, rounding)


def _unit(array: Array) -> float:
    """The unit in the last place of 1."""
    if array.dtype.name == "bfloat16":
        return 2.0**-7
    return float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else 0.0


def capture_jax(
    function: Callable[..., object],
    *arguments: object,
    options: ImportOptions = DEFAULTS,
    check: bool = True,
) -> Imported:
    """The diagram of ``function(*arguments)``, as JAX traces it.

    The first argument is a tree of parameters: its float arrays become variables, named by their
    paths. Arrays of the other arguments become inputs, with their numbers as examples. Everything
    else is fixed. If the result is a single float, or the first of several results is one, it is
    the loss. With ``check``, JAX runs the function once, and a remark compares the results.
    """
    import jax

    with bar(f"Capturing {_title(function)}") as shown:
        read = read_arguments(function, arguments)
        stage = Stage(_title(function), shown)
        arrays = [leaf.array for leaf in read.leaves]
        trace = jax.make_jaxpr(lambda arrays: read.call(function, arrays), return_shape=True)
        program, shape = trace(arrays)
        leaves = [_leaf(stage, leaf) for leaf in read.leaves]
        regions = JaxRegions(stage)
        results = ProgramWalk(stage, regions).run(program, leaves)
        stage.settle()
        names = list(named_results(shape))
        outputs = {
            name: x.wide(stage)
            for name, x in zip(names, results, strict=True)
            if isinstance(x, LazyBroadcast)
        }
        for name, x in zip(names, results, strict=True):
            if isinstance(x, OpaqueOutput):
                stage.remark("lost", f"{name} is complex: no block carries it.")
        chosen = options.loss or ("loss" if "loss" in names else "")
        regions.finish(program, arrays, names.index(chosen) if chosen in names else None)
        imported = conclude(stage, outputs, replace(options, loss=chosen))
        if not check:
            return imported
        shown.move(note="operations, compared with JAX")
        try:
            found = compare_with_jax(function, read, imported)
        except RunError as error:
            found = Comparison(system="JAX", unchecked=str(error)[:MAX_LINE])
        return with_comparison(imported, found)


def _title(function: Callable[..., object]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "" if name == "<lambda>" else str(name)


def _leaf(stage: Stage, leaf: ArgumentLeaf) -> Operand:
    if leaf.array.dtype.name == "bfloat16":
        stage.remark("note", f"{leaf.name} has bfloat16 numbers, which are computed in float32.")
    constant = held(stage, leaf.array)
    if not isinstance(constant, LazyBroadcast):
        return constant
    array = constant.narrow.array
    if leaf.is_variable:
        return staged(stage.variable(leaf.name, array))
    return staged(stage.input(leaf.name, array))
