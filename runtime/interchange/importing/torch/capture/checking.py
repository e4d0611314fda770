"""Compares a diagram with the run that it comes from: values, gradients, and which are None."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.imported import Imported, Remark
from gradwire.runtime.interchange.importing.torch.capture.arrays import numbers_of
from gradwire.runtime.interchange.importing.torch.capture.draws import with_draws

if TYPE_CHECKING:
    from numpy.typing import NDArray

VALUE, GRADIENT = 1e-5, 1e-4
"""How far apart numbers of float32 may be, relative to the largest of them."""
_VALUE_STEPS, _GRADIENT_STEPS = 8, 64
"""The same in machine epsilons, of what is computed more coarsely."""


class Theirs(NamedTuple):
    """What PyTorch computed of a loss."""

    loss: str
    """Its name in the import."""
    value: NDArray[Any]
    gradients: Mapping[str, NDArray[Any] | None]
    """The gradients of what is trained, by the model's names."""


def differentiated(
    imported: Imported, results: Mapping[str, Any], trained: Mapping[str, Any]
) -> list[Theirs]:
    """What PyTorch computes of the loss among the results of a program; nothing without one.

    The parameters' own gradients stay as they are. Raises RuntimeError where the program has
    freed what PyTorch needs for it.
    """
    name = next((name for name, port in imported.outputs.items() if _is_loss(imported, port)), None)
    loss = None if name is None else results.get(name, results.get(""))
    if name is None or not isinstance(loss, torch.Tensor):
        return []
    if not loss.requires_grad:
        return [Theirs(name, numbers_of(loss), dict.fromkeys(trained))]
    try:
        found = torch.autograd.grad(
            loss.sum(), list(trained.values()), retain_graph=True, allow_unused=True
        )
    except RuntimeError:  # reentrant checkpoints allow only backward()
        found = _by_backward(loss, list(trained.values()))
    gradients = [None if g is None else numbers_of(g) for g in found]
    return [Theirs(name, numbers_of(loss), dict(zip(trained, gradients, strict=True)))]


def unchecked(imported: Imported, error: RuntimeError) -> Imported:
    """The import, with a remark on why it can't be compared."""
    why = str(error).partition("\n")[0].partition(". ")[0].removesuffix(".")
    remark = Remark("checked", f"Not compared with PyTorch, which can't differentiate it: {why}.")
    return replace(imported, remarks=(*imported.remarks, remark))


def checked(
    imported: Imported,
    theirs: Sequence[Theirs],
    draws: Mapping[str, NDArray[Any] | None],
    epsilon: float,
) -> Imported:
    """The import, with a remark on whether losses and gradients are those of PyTorch.

    ``epsilon`` is that of the coarsest dtype in which PyTorch computed.
    """
    if not theirs:
        return imported
    known = {path: numbers for path, numbers in draws.items() if numbers is not None}
    diagram = with_draws(imported.diagram, known) if len(known) == len(draws) else None
    has_numbers = diagram is not None
    try:
        session = Session(diagram or imported.diagram)
        remark = _remark(imported, session, theirs, has_numbers, epsilon)
    except GradwireError as error:
        remark = Remark("checked", f"The diagram could not be run to compare it: {error}")
    return replace(imported, remarks=(*imported.remarks, remark))


def _remark(
    imported: Imported,
    session: Session,
    theirs: Sequence[Theirs],
    has_numbers: bool,
    epsilon: float,
) -> Remark:
    """The first difference, or how far all agree."""
    apart = 0.0
    for loss in theirs:
        of = f" of {loss.loss}" if len(theirs) > 1 else ""
        port = imported.outputs[loss.loss]
        run = session.backward([port], contributions=False, accumulate=False)
        if has_numbers:
            value = _apart(np.asarray(run.values[port]), loss.value)
            if not value <= max(VALUE, _VALUE_STEPS * epsilon):
                how = f", by {value:.1e} of it" if np.isfinite(value) else ""
                text = f"The loss{of and ' ' + loss.loss} differs from that of PyTorch{how}."
                return Remark("checked", text)
        sizes = [
            np.abs(g[np.isfinite(g)]).max(initial=0)
            for g in loss.gradients.values()
            if g is not None
        ]
        most = float(max(sizes, default=0))
        for name, gradient in loss.gradients.items():
            path = imported.parameters.get(name, "")
            found = run.gradients.get(path)
            if (found is None) != (gradient is None):
                has, other = (
                    ("PyTorch", "the diagram") if found is None else ("The diagram", "PyTorch")
                )
                text = f"{has} gives {name} a gradient{of}, and {other} gives it none."
                return Remark("checked", text, path)
            if found is None or gradient is None or not has_numbers:
                continue
            difference = _apart(found, gradient, 1e-2 * most)
            if not difference <= max(GRADIENT, _GRADIENT_STEPS * epsilon):
                how = f", by {difference:.1e} of it" if np.isfinite(difference) else ""
                text = f"The gradient of {name}{of} differs from PyTorch's{how}."
                return Remark("checked", text, path)
            apart = max(apart, difference)
    count = sum(len(loss.gradients) for loss in theirs)
    none = sum(g is None for loss in theirs for g in loss.gradients.values())
    if not has_numbers:
        return Remark(
            "checked",
            f"Agrees with PyTorch on which of {count} gradients are None, {none} of them; "
            "numbers can't be compared, because they depend on random ones.",
        )
    what = "the loss" if len(theirs) == 1 else f"{len(theirs)} losses"
    return Remark(
        "checked",
        f"Agrees with PyTorch: {what} and {count} gradients, {none} of them None, differ "
        f"by at most {apart:.1e}.",
    )


def _is_loss(imported: Imported, port: str) -> bool:
    block = PortPath(port).block
    return block in imported.diagram.main.blocks and (
        imported.diagram.main.blocks[block].type_name() == "Loss"
    )


def _by_backward(loss: Any, parameters: Sequence[Any]) -> list[Any]:
    before = [p.grad for p in parameters]
    for p in parameters:
        p.grad = None
    try:
        loss.sum().backward(retain_graph=True)
        return [p.grad for p in parameters]
    finally:
        for p, gradient in zip(parameters, before, strict=True):
            p.grad = gradient


def _apart(ours: NDArray[Any], theirs: NDArray[Any], least: float = 0.0) -> float:
    """The largest difference, relative to the largest of their numbers, or to ``least``.

    NaN equals NaN, and ∞ equals ∞; where only one of both is finite, they are ∞ apart.
    """
    if ours.shape != theirs.shape:
        return math.inf
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return math.inf
    difference = np.abs(ours[finite] - theirs[finite]).max(initial=0)
    return float(difference / max(np.abs(theirs[finite]).max(initial=0), least, 1e-30))
