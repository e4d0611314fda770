"""Rows of systems that are not installed: PyTorch computes what each is said to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gradwire.runtime.interchange.importing.staged import Staged
from tests.runtime.interchange.importing.rows.comparing import (
    Case,
    Found,
    Given,
    by_row,
    flat,
    random,
)
from tests.runtime.interchange.importing.rows.of_torch import slopes_of


class Formula(NamedTuple):
    """What a row gives for inputs: names of arrays, arrays, and numbers that are constants."""

    reference: Callable[..., Any]
    inputs: Sequence[Any]
    attributes: Mapping[str, Any] = {}
    variables: Sequence[NDArray[Any]] = ()
    """Of a layer; the reference gets them behind its inputs."""


def of(reference: Callable[..., Any], *inputs: Any, **attributes: Any) -> Formula:
    """A formula of inputs and attributes."""
    return Formula(reference, inputs, attributes)


Call = Callable[[Given, list[Staged], Formula], Any]
"""Puts up a row for inputs."""


def cases(row: str, formulas: Sequence[Formula], call: Call) -> Iterator[Case]:
    """Each formula, with variables alone and with some constants."""
    for number, formula in enumerate([*formulas, *formulas]):
        given = Given(random(row, number))
        inputs = [_put(given, x, False if number < len(formulas) else None) for x in formula.inputs]
        yield Case(
            f"{[getattr(x, 'shape', x) for x in formula.inputs]} {formula.attributes}",
            lambda given=given, inputs=inputs, formula=formula: by_row(
                given, lambda: call(given, inputs, formula)
            ),
            lambda found, given=given, inputs=inputs, formula=formula: _by_torch(
                given, inputs, formula, found
            ),
        )


def _put(given: Given, x: Any, constant: bool | None) -> Staged:
    if isinstance(x, str):
        return given(x, constant)
    if isinstance(x, np.ndarray):
        return given.of(x, f"y{len(given.arrays)}", constant=x.dtype.kind != "f")
    array = np.asarray(x)
    return given.of(array.astype("i4") if array.dtype == np.int64 else array, constant=True)


def _by_torch(given: Given, inputs: Sequence[Staged], formula: Formula, found: Found) -> Found:
    leaves: dict[int, Any] = {}

    def tensor(x: Any, number: int) -> Any:
        if not isinstance(formula.inputs[number], str | np.ndarray):
            return formula.inputs[number]
        return leaves.setdefault(id(x), torch.from_numpy(np.array(given.arrays[id(x)])))

    tensors = [tensor(x, number) for number, x in enumerate(inputs)]
    own = [torch.from_numpy(np.array(array)) for array in formula.variables]
    leaves |= {id(x): y for x, y in zip(given.made, own, strict=True)}
    wanted = [leaves[id(x)].requires_grad_() for x in given.variables]
    results = flat(formula.reference(*tensors, *own))
    kept = [y for y, value in zip(results, found.values, strict=False) if value is not None]
    slopes = slopes_of(kept, wanted)
    for place, x in enumerate(given.variables):
        turned = given.turned.get(id(x))
        if turned is not None and slopes.get(place) is not None:
            slopes[place] = turned(slopes[place])
    return Found([None if y is None else y.detach().numpy() for y in results], slopes)
