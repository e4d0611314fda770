"""Compares a captured diagram with what JAX computes: values, gradients, and where none arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.imported import Remark
from gradwire.runtime.interchange.importing.jax.results import named_results

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.runtime.engine import Run
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.jax.arguments import Arguments

VALUES_WITHIN = 1e-5
GRADIENTS_WITHIN = 1e-4
"""Relative to the largest element of an array."""
ROUNDING = 8
"""Differences of so many units in the last place of 1 are none: sums that cancel have them."""


def check_against_jax(
    function: Callable[..., Any], arguments: Arguments, imported: Imported
) -> Remark:
    """What one run of the diagram and one of JAX have in common, or the first difference.

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
        return _remark(
            _differences(imported, run, results, {}), f"the values; it has no gradients: {why}"
        )
    return _remark(_differences(imported, run, results, gradients), _counted(imported, run, loss))


def _is_loss(imported: Imported, port: str) -> bool:
    return imported.diagram.main.blocks[port.partition(".")[0]].type_name() == "Loss"


def _of_jax(
    function: Callable[..., Any], arguments: Arguments, loss: str
) -> tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]:
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


def _differences(
    imported: Imported, run: Run, results: Mapping[str, Any], gradients: Mapping[str, NDArray[Any]]
) -> Iterator[str]:
    for name, port in imported.outputs.items():
        distance = _distance(run.values[port], np.asarray(results[name]), VALUES_WITHIN)
        if distance:
            yield f"the value of {name} by {distance:.1e}"
    for name, theirs in gradients.items():
        ours = run.gradients.get(imported.parameters[name])
        if ours is None:
            if theirs.any():
                yield f"{name} gets no gradient in the diagram, but one in JAX"
            continue
        distance = _distance(ours, theirs, GRADIENTS_WITHIN)
        if distance:
            yield f"the gradient of {name} by {distance:.1e}"


def _distance(ours: NDArray[Any], theirs: NDArray[Any], within: float) -> float:
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


def _unit(array: NDArray[Any]) -> float:
    """The unit in the last place of 1."""
    if array.dtype.name == "bfloat16":
        return 2.0**-7
    return float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else 0.0


def _counted(imported: Imported, run: Run, loss: str) -> str:
    count = len(imported.parameters) if loss else 0
    none = (
        sum(run.gradients.get(path) is None for path in imported.parameters.values())
        if count
        else 0
    )
    compared = "the values" + (f" and {count} gradient{'s' * (count > 1)}" if count else "")
    return f"{compared}, {none} of them None here and zeros there" if none else compared


def _remark(differences: Iterator[str], compared: str) -> Remark:
    found = list(differences)
    if found:
        return Remark("checked", f"Differs from JAX: {'; '.join(found[:5])}.")
    return Remark("checked", f"Agrees with JAX: {compared}.")
