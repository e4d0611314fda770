"""Compares a diagram with the run that it comes from: values, gradients, and which are None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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


def checked(
    imported: Imported,
    outputs: Mapping[str, Any],
    parameters: Mapping[str, Any],
    draws: Mapping[str, NDArray[Any] | None],
) -> Imported:
    """The import, with a remark on whether its loss and gradients are those of PyTorch."""
    remark = _remark(imported, outputs, parameters, draws)
    return replace(imported, remarks=(*imported.remarks, remark)) if remark else imported


def _remark(
    imported: Imported,
    outputs: Mapping[str, Any],
    parameters: Mapping[str, Any],
    draws: Mapping[str, NDArray[Any] | None],
) -> Remark | None:
    singles = [x for x in outputs.values() if x.is_floating_point() and x.numel() == 1]
    loss = next((x for x in singles if x.requires_grad), singles[0] if singles else None)
    heads = [port for port in imported.outputs.values() if _is_loss(imported, port)]
    if loss is None or len(heads) != 1:
        return None
    known = {path: numbers for path, numbers in draws.items() if numbers is not None}
    diagram = with_draws(imported.diagram, known) if len(known) == len(draws) else None
    try:
        run = Session(diagram or imported.diagram).backward(contributions=False)
    except GradwireError as error:
        return Remark("checked", f"The diagram could not be run to compare it: {error}")
    wanted = _gradients(loss, parameters)
    if diagram is None:
        return _compared(imported, run.gradients, wanted, pattern=True)
    value = _apart(np.asarray(run.values[heads[0]]), numbers_of(loss))
    if value > VALUE:
        return Remark("checked", f"The loss differs from that of PyTorch, by {value:.1e} of it.")
    return _compared(imported, run.gradients, wanted)


def _is_loss(imported: Imported, port: str) -> bool:
    block = PortPath(port).block
    return block in imported.diagram.main.blocks and (
        imported.diagram.main.blocks[block].type_name() == "Loss"
    )


def _gradients(loss: Any, parameters: Mapping[str, Any]) -> dict[str, NDArray[Any] | None]:
    """PyTorch's gradients, without a trace in the parameters' own."""
    trained = {name: p for name, p in parameters.items() if p.requires_grad}
    if not loss.requires_grad:
        return dict.fromkeys(trained)
    if not trained:
        return {}
    try:
        found = torch.autograd.grad(
            loss.sum(), list(trained.values()), retain_graph=True, allow_unused=True
        )
    except RuntimeError:  # reentrant checkpoints allow only backward()
        found = _by_backward(loss, list(trained.values()))
    return {
        name: None if g is None else numbers_of(g) for name, g in zip(trained, found, strict=True)
    }


def _by_backward(loss: Any, parameters: Sequence[Any]) -> list[Any]:
    before = [p.grad for p in parameters]
    for p in parameters:
        p.grad = None
    loss.sum().backward(retain_graph=True)
    found = [p.grad for p in parameters]
    for p, gradient in zip(parameters, before, strict=True):
        p.grad = gradient
    return found


def _compared(
    imported: Imported,
    got: Mapping[str, Any],
    wanted: Mapping[str, NDArray[Any] | None],
    pattern: bool = False,
) -> Remark:
    """Whether gradients are alike; with ``pattern``, only whether there are any."""
    most = max(
        (float(np.abs(g).max(initial=0)) for g in wanted.values() if g is not None), default=0
    )
    worst = 0.0
    for name, gradient in wanted.items():
        path = imported.parameters.get(name, "")
        found = got.get(path)
        if (found is None) != (gradient is None):
            has, other = ("PyTorch", "the diagram") if found is None else ("The diagram", "PyTorch")
            text = f"{has} gives {name} a gradient, and {other} gives it none."
            return Remark("checked", text[0].upper() + text[1:], path)
        if gradient is None or found is None or pattern:
            continue
        apart = float(np.abs(found - gradient).max(initial=0)) / max(
            float(np.abs(gradient).max(initial=0)), 1e-2 * most, 1e-30
        )
        if not apart <= GRADIENT:
            return Remark(
                "checked",
                f"The gradient of {name} differs from PyTorch's, by {apart:.1e} of it.",
                path,
            )
        worst = max(worst, apart)
    none = sum(g is None for g in wanted.values())
    if pattern:
        return Remark(
            "checked",
            f"Agrees with PyTorch on which of {len(wanted)} gradients are None, {none} of them; "
            "numbers can't be compared, because they depend on random ones.",
        )
    return Remark(
        "checked",
        f"Agrees with PyTorch: the loss and {len(wanted)} gradients, {none} of them None, differ "
        f"by at most {worst:.1e}.",
    )


def _apart(a: NDArray[Any], b: NDArray[Any]) -> float:
    return float(np.abs(a - b).max(initial=0) / max(float(np.abs(b).max(initial=0)), 1e-30))
