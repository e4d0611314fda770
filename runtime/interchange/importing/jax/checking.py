"""Compares a captured diagram with what JAX computes: values, gradients, and where none arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.diagram.comparison import MAX_LINE, Comparison, Disagreement
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.comparing import LEAST, apart, differing, largest
from gradwire.runtime.interchange.importing.jax.arguments import named_results

if TYPE_CHECKING:
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
    function: Callable[..., Any], arguments: TracedArguments, imported: Imported
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
    found = (
        *_values(imported, run, results),
        *_gradients(imported, run, gradients, head),
    )
    paths = {name: imported.parameters[name] for name in gradients}
    pairs = [(run.gradients.get(path), gradients[name]) for name, path in paths.items()]
    least = LEAST * largest(gradients.values())
    values = [(run.values[imported.outputs[name]], results[name]) for name in imported.outputs]
    return Comparison(
        system="JAX",
        losses=(head,) if loss else (),
        gradients=len(paths),
        absent=sum(ours is None for ours, _ in pairs),
        apart=max(
            (
                *(apart(ours, np.asarray(theirs)) for ours, theirs in values),
                *(apart(ours, theirs, least) for ours, theirs in pairs if ours is not None),
            ),
            default=0.0,
        )
        if not found
        else 0.0,
        disagreements=found,
    )


def _is_loss(imported: Imported, port: str) -> bool:
    return imported.diagram.main.blocks[port.partition(".")[0]].type_name() == "Loss"


def _of_jax(
    function: Callable[..., Any], arguments: TracedArguments, loss: str
) -> tuple[Mapping[str, Any], Mapping[str, Array]]:
    """The results by name, and the gradients of the loss by the names of variables."""
    import jax

    arrays = [leaf.array for leaf in arguments.leaves]
    places = [i for i, leaf in enumerate(arguments.leaves) if leaf.is_variable]

    def results(variables: Sequence[Any]) -> tuple[Any, Mapping[str, Any]]:
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


def _values(imported: Imported, run: Run, results: Mapping[str, Any]) -> Iterator[Disagreement]:
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
