"""Random numbers: blocks draw them, others than the system that the model is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.onnx.operators.node import (
    RULES,
    OperatorNode,
    Rule,
    rule,
)
from gradwire.runtime.interchange.importing.onnx.operators.shapes import require_small

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def _remark(node: OperatorNode) -> None:
    node.stage.remark(
        "lost", f"{node.operator}: its random numbers are drawn by another generator."
    )


@rule("Dropout")
def _dropout(node: OperatorNode) -> tuple[Staged, Staged | None]:
    """A block also where nothing is dropped, so that it can be set to training."""
    x, stage = node.x(), node.stage
    ratio = float(node.known(1).item()) if node.has(1) else node.number("ratio", 0.5)
    training = bool(node.known(2).item()) if node.has(2) else node.training
    if node.wants(1):
        if training and ratio:
            raise node.unsupported("its choice is an output")
        return x, stage.constant(np.ones(require_small(node, x.shape), bool))
    if training:
        _remark(node)
    rate = round(ratio, 9)
    return stage.block("Dropout", x, rate=rate, mode="train" if training else "eval"), None


def _random(kind: str, first: tuple[str, str, float], second: tuple[str, str, float]) -> Rule:
    """A block that draws; its parameters are named by the attribute, with a default."""

    def drawn(node: OperatorNode) -> Staged:
        like = node.operator.endswith("Like")
        shape = node.x().shape if like else node.integers("shape") or ()
        dtype = node.dtype("dtype", node.x().dtype if like else "float32")
        given: dict[str, Any] = {
            name: node.number(key, default) for name, key, default in (first, second)
        }
        seed = int(node.number("seed")) if "seed" in node.attributes else None
        _remark(node)
        return node.stage.block(
            kind, None, shape=require_small(node, shape), dtype=dtype, seed=seed, **given
        )

    return drawn


_UNIFORM = _random("RandomUniform", ("low", "low", 0.0), ("high", "high", 1.0))
_NORMAL = _random("RandomNormal", ("mean", "mean", 0.0), ("std", "scale", 1.0))
RULES.update(dict.fromkeys(("RandomUniform", "RandomUniformLike"), _UNIFORM))
RULES.update(dict.fromkeys(("RandomNormal", "RandomNormalLike"), _NORMAL))
