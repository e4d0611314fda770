"""What is measured of a training at a step that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult

_FAMILY = "activations"


def measured(result: EvaluationResult) -> dict[str, float]:
    """Numbers of curves: ``gradient/VARIABLE``, the Euclidean norm of its gradient, and
    ``dead/BLOCK``, the share of an activation's units that are 0 for all rows of the batch.

    A variable without a gradient has no number. The last axis is that of units.
    """
    found = {}
    for name, gradient in result.gradients.items():
        if gradient is not None:
            found[f"gradient/{name}"] = float(np.linalg.norm(np.asarray(gradient, dtype=float)))
    if result.flow is None:
        return found
    program = result.flow.program
    for port in program.ports:
        value = result.values.get(port)
        instance = program.instances.get(port.block)
        if value is None or instance is None or instance.block.family != _FAMILY or not value.size:
            continue
        units = np.reshape(value, (-1, value.shape[-1] if value.ndim else 1))
        found[f"dead/{port.block}"] = float(np.mean(~np.any(units, axis=0)))
    return found
