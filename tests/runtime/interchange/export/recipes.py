"""Recipes of all kinds for one diagram, which exports must follow step by step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gradwire.runtime.diagram import loads
from gradwire.runtime.engine import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

METHODS = [
    {"kind": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    {"kind": "sgd", "momentum": 0.5, "dampening": 0.2, "maximize": True},
    {"kind": "adam", "weight_decay": 0.1, "amsgrad": True},
    {"kind": "adamw"},
    {"kind": "nadam"},
    {"kind": "radam", "betas": [0.9, 0.5]},
    {"kind": "adamax"},
    {"kind": "rmsprop", "centered": True, "momentum": 0.5},
    {"kind": "adagrad", "lr_decay": 0.1, "initial_accumulator_value": 0.1},
    {"kind": "adadelta"},
    {"kind": "lion", "weight_decay": 0.1},
]
GROUPS = [{"variables": ["w"], "lr": 0.01, "weight_decay": 0.2}]
AVERAGE = {"name": "ema", "of": "w", "into": "kept", "decay": 0.9}
RECIPES = [
    *({"optimisers": [{"name": "opt", "method": method}]} for method in METHODS),
    {"optimisers": [{"name": "opt", "clip": {"by": "norm", "limit": 0.1}, "groups": GROUPS}]},
    {"optimisers": [{"name": "opt", "clip": {"by": "value", "limit": 0.1}, "accumulate": 2}]},
    {"optimisers": [{"name": "opt", "schedule": {"kind": "cosine", "t_max": 3, "eta_min": 0.01}}]},
    {
        "optimisers": [
            {"name": "one", "variables": ["w"], "losses": ["first"], "steps": 2},
            {"name": "two", "variables": ["v"], "every": 2},
        ],
        "order": "simultaneous",
        "averages": [AVERAGE | {"start": "zero_debiased"}],
    },
    {"optimisers": [{"name": "opt"}], "averages": [AVERAGE | {"start": "first_update"}]},
]


def session_of(recipe: Mapping[str, Any]) -> Session:
    """A diagram with that recipe: two variables, a frozen one, two losses."""
    floats = {"type": "Variable", "dtype": "float64"}
    blocks = {
        "w": floats | {"value": [0.5, -1.5]},
        "v": floats | {"value": [2.0, 0.25]},
        "kept": floats | {"value": [1.0, 1.0], "trainable": False},
        "product": {"type": "Mul"},
        "wave": {"type": "Sin"},
        "sum": {"type": "Sum"},
        "square": {"type": "Square"},
        "size": {"type": "Mean"},
        "first": {"type": "Loss"},
        "second": {"type": "Loss"},
    }
    wires = {
        "product.a": "w.out", "product.b": "v.out", "wave.x": "product.out", "sum.x": "wave.out",
        "first.x": "sum.out", "square.x": "product.out", "size.x": "square.out",
        "second.x": "size.out",
    }  # fmt: skip
    record = {
        "gradwire": 3,
        "pages": {"main": {"blocks": blocks, "wires": wires}},
        "training": recipe,
    }
    return Session(loads(json.dumps(record)))
