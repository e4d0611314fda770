"""Recurrent layers, each a Scan over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.keras.config import Config
from gradwire.runtime.interchange.importing.keras.layers.activations import by_name
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import Call, Operator

States: TypeAlias = dict[str, Staged]
Step: TypeAlias = Callable[[Staged, Mapping[str, Staged]], States]
"""The states after a step, from its input and the states before; ``h`` is what is given out."""


class _Part:
    """A recurrent layer, or one direction of a bidirectional one, with its variables."""

    def __init__(self, call: Call, config: Config, inside: str, called: str) -> None:
        self.call = call
        self.config = config
        self.units = config.whole("units")
        self._inside = f"{inside}/cell" if inside else "cell"
        self._called = called

    def variable(self, number: int, own: str) -> Staged:
        return self.call.variable(number, own, None, self._inside, self._called)

    def active(self, x: Staged, key: str, default: str) -> Staged:
        name = default if self.config.json(key) is None else _named(self.config.json(key))
        return x if name == "linear" else by_name(self.call, x, name)

    @property
    def has_bias(self) -> bool:
        return self.config.flag("use_bias", True)


def _named(given: Any) -> str:
    """The name of an activation; of no use where it is an object of the user's."""
    name = given.get("config") if isinstance(given, dict) else given
    return name if isinstance(name, str) else "an object"


def _simple(part: _Part) -> Step:
    """``h = f(x K + h R + b)``."""
    kernel, recurrent = part.variable(0, "kernel"), part.variable(1, "recurrent_kernel")
    bias = part.variable(2, "bias") if part.has_bias else None

    def step(x: Staged, states: Mapping[str, Staged]) -> States:
        z = x @ kernel + states["h"] @ recurrent
        return {"h": part.active(z if bias is None else z + bias, "activation", "tanh")}

    return step


def _lstm(part: _Part) -> Step:
    """``c = f c + i g`` and ``h = o tanh(c)``, the gates in the order i, f, g, o."""
    kernel, recurrent = part.variable(0, "kernel"), part.variable(1, "recurrent_kernel")
    bias = part.variable(2, "bias") if part.has_bias else None

    def step(x: Staged, states: Mapping[str, Staged]) -> States:
        z = x @ kernel + states["h"] @ recurrent
        i, f, g, o = _gates(part, z if bias is None else z + bias, 4)
        i, f, o = (part.active(gate, "recurrent_activation", "sigmoid") for gate in (i, f, o))
        c = f * states["c"] + i * part.active(g, "activation", "tanh")
        return {"h": o * part.active(c, "activation", "tanh"), "c": c}

    return step


def _gru(part: _Part) -> Step:
    """``h = z h + (1 - z) g``, the gates in the order z, r, g; r before or after the product."""
    kernel, recurrent = part.variable(0, "kernel"), part.variable(1, "recurrent_kernel")
    bias = part.variable(2, "bias") if part.has_bias else None
    after = part.config.flag("reset_after", True)
    stage = part.call.stage

    def step(x: Staged, states: Mapping[str, Staged]) -> States:
        h = states["h"]
        own = x @ kernel
        if bias is not None:
            own = own + (stage.select(bias, 0, 0) if after else bias)
        own_z, own_r, own_g = _gates(part, own, 3)
        if after:
            past = h @ recurrent
            past = past + stage.select(bias, 0, 1) if bias is not None else past
            past_z, past_r, past_g = _gates(part, past, 3)
            z = part.active(own_z + past_z, "recurrent_activation", "sigmoid")
            r = part.active(own_r + past_r, "recurrent_activation", "sigmoid")
            g = own_g + r * past_g
        else:
            weight_z, weight_r, weight_g = _gates(part, recurrent, 3)
            z = part.active(own_z + h @ weight_z, "recurrent_activation", "sigmoid")
            r = part.active(own_r + h @ weight_r, "recurrent_activation", "sigmoid")
            g = own_g + (r * h) @ weight_g
        return {"h": z * h + (1.0 - z) * part.active(g, "activation", "tanh")}

    return step


def _gates(part: _Part, x: Staged, count: int) -> list[Staged]:
    n = part.units
    return [part.call.stage.cut(x, -1, i * n, (i + 1) * n) for i in range(count)]


_CELLS: Mapping[str, tuple[Callable[[_Part], Step], tuple[str, ...]]] = {
    "SimpleRNN": (_simple, ("h",)),
    "LSTM": (_lstm, ("h", "c")),
    "GRU": (_gru, ("h",)),
}
_CELL_NAMES = {"SimpleRNN": "simple_rnn_cell", "LSTM": "lstm_cell", "GRU": "gru_cell"}


def _run(part: _Part, kind: str, x: Staged, given: list[Staged]) -> tuple[Staged, States]:
    """All outputs of a layer over time (batch, time, units), in order of time, and the states."""
    make, names = _CELLS[kind]
    step, stage, config = make(part), part.call.stage, part.config
    if part.call.training and (
        config.number("dropout", 0) or config.number("recurrent_dropout", 0)
    ):
        stage.remark("lost", f"The recurrent layer {part.call.layer.name!r} drops nothing.")
    zeros = stage.constant(np.zeros((x.shape[0], part.units), x.dtype))
    states = dict(zip(names, given or [zeros] * len(names), strict=True))

    def body(inside: Mapping[str, Staged]) -> tuple[States, States]:
        after = step(inside["x"], inside)
        return after, {"y": after["h"]}

    found = stage.scan(
        "steps", x.shape[1], body, states, {"x": stage.transpose(x, (1, 0, 2))},
        config.flag("go_backwards", False),
    )  # fmt: skip
    return stage.transpose(found["y"], (1, 0, 2)), {name: found[name] for name in names}


def _layer(kind: str) -> Operator:
    def recur(call: Call) -> Staged | tuple[Staged, ...]:
        part = _Part(call, call.config, "", _CELL_NAMES[kind])
        y, states = _run(part, kind, call.x(), _initial(call))
        if call.config.flag("return_sequences", False):
            backwards = call.config.flag("go_backwards", False)
            out = call.stage.block("Flip", y, axis=1) if backwards else y
        else:
            out = states["h"]
        return (out, *states.values()) if call.config.flag("return_state", False) else out

    return recur


def _initial(call: Call) -> list[Staged]:
    """The states that the layer is given, as further arguments or by name."""
    if call.keywords.get("mask") is not None:
        raise call.unsupported("it has a mask")
    given: Any = call.keywords.get("initial_state")
    given = [x for x in call.arguments[1:] if x is not None] if given is None else given
    found = given if isinstance(given, list) else [given]
    found = found[0] if len(found) == 1 and isinstance(found[0], list) else found
    if not all(isinstance(x, Staged) for x in found):
        raise call.unsupported("a state that it begins with is no value")
    return found


def _bidirectional(call: Call) -> Staged:
    """Two layers, one of them from the end; their outputs are joined at the same time."""
    ways = [_direction(call, way) for way in ("forward", "backward")]
    mode = call.config.text("merge_mode", "concat")
    if mode == "concat":
        return call.block("Concat", *ways, axis=ways[0].ndim - 1)
    kinds = {"sum": "Add", "mul": "Mul", "ave": "Add"}
    if mode not in kinds:
        raise call.unsupported(f"its merge_mode is {mode[:20]!r}")
    merged = call.block(kinds[mode], *ways)
    return merged * 0.5 if mode == "ave" else merged


def _direction(call: Call, way: str) -> Staged:
    record: Any = call.config.json("backward_layer" if way == "backward" else "layer")
    record = call.config.json("layer") if record is None else record
    if not isinstance(record, dict) or record.get("class_name") not in _CELLS:
        raise call.unsupported("it is not of a recurrent layer")
    kind, settings = str(record["class_name"]), dict(record.get("config") or {})
    backwards = (way == "backward") if call.config.json("backward_layer") is None else (
        bool(settings.get("go_backwards"))
    )  # fmt: skip
    settings["go_backwards"] = backwards
    stem = (
        str(settings.get("name", kind.lower())).removeprefix("forward_").removeprefix("backward_")
    )
    called = f"{way}_{stem}/{_CELL_NAMES[kind]}"
    part = _Part(call, Config(settings), f"{way}_layer", called)
    y, states = _run(part, kind, call.x(), [])
    return y if part.config.flag("return_sequences", False) else states["h"]


LAYERS: dict[str, Operator] = {kind: _layer(kind) for kind in _CELLS}
LAYERS["Bidirectional"] = _bidirectional
