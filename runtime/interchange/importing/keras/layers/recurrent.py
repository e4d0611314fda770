"""Recurrent layers, each a Scan over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from gradwire.runtime.interchange.importing.keras.config import Config
from gradwire.runtime.interchange.importing.keras.layers.activations import by_name
from gradwire.runtime.interchange.importing.meanings import recurrent
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator

_KINDS: dict[str, tuple[Literal["lstm", "gru", "rnn"], str, str]] = {
    "SimpleRNN": ("rnn", "n", "simple_rnn_cell"),
    "LSTM": ("lstm", "ifgo", "lstm_cell"),
    "GRU": ("gru", "zrn", "gru_cell"),
}
"""What a layer is, its gates in order, and what its cell is called."""


def _active(call: LayerCall, config: Config, key: str, default: str) -> recurrent.Activation:
    """The activation that a setting names; of no use where it is an object of the user's."""
    given: Any = config.json(key)
    given = given.get("config") if isinstance(given, dict) else given
    name = default if config.json(key) is None else given if isinstance(given, str) else "an object"
    return lambda x: x if name == "linear" else by_name(call, x, name)


def _run(
    call: LayerCall, config: Config, kind: str, given: list[Staged], inside: str, called: str
) -> tuple[Staged, list[Staged]]:
    """All outputs of a layer over time (batch, time, units), in order of time, and the states.

    ``inside`` is the part of the layer that has its variables, ``called`` its name.
    """
    stage, x = call.stage, call.stage.transpose(call.x(), (1, 0, 2))
    if call.training and (config.number("dropout", 0) or config.number("recurrent_dropout", 0)):
        stage.remark("lost", f"The recurrent layer {call.layer.name!r} drops nothing.")
    own, gates, _name = _KINDS[kind]
    kernel, state = (
        call.variable(number, name, None, inside, called)
        for number, name in enumerate(("kernel", "recurrent_kernel"))
    )
    biases: tuple[Staged | None, Staged | None] = None, None
    after = config.flag("reset_after", True)
    if config.flag("use_bias", True):
        bias = call.variable(2, "bias", None, inside, called)
        both = kind == "GRU" and after
        select = stage.select
        biases = (select(bias, 0, 0), select(bias, 0, 1)) if both else (bias, None)
    cell = recurrent.Cell(
        own, gates, kernel, state, *biases, turned=True, reset_after=after,
        gate=_active(call, config, "recurrent_activation", "sigmoid"),
        act=_active(call, config, "activation", "tanh"),
    )  # fmt: skip
    names = ("h", "c") if kind == "LSTM" else ("h",)
    zeros = recurrent.zeros(x, config.whole("units"))
    states = dict(zip(names, given or [zeros] * len(names), strict=True))
    found = recurrent.layer(cell, x, states, "steps", config.flag("go_backwards", False))
    return stage.transpose(found["y"], (1, 0, 2)), [found[name] for name in names]


def _layer(kind: str) -> Operator:
    def recur(call: LayerCall) -> Staged | tuple[Staged, ...]:
        y, states = _run(call, call.config, kind, _initial(call), "cell", _KINDS[kind][2])
        if call.config.flag("return_sequences", False):
            backwards = call.config.flag("go_backwards", False)
            out = call.stage.block("Flip", y, axis=1) if backwards else y
        else:
            out = states[0]
        return (out, *states) if call.config.flag("return_state", False) else out

    return recur


def _initial(call: LayerCall) -> list[Staged]:
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


def _bidirectional(call: LayerCall) -> Staged:
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


def _direction(call: LayerCall, way: str) -> Staged:
    record: Any = call.config.json("backward_layer" if way == "backward" else "layer")
    record = call.config.json("layer") if record is None else record
    if not isinstance(record, dict) or record.get("class_name") not in _KINDS:
        raise call.unsupported("it is not of a recurrent layer")
    kind, settings = str(record["class_name"]), dict(record.get("config") or {})
    backwards = (way == "backward") if call.config.json("backward_layer") is None else (
        bool(settings.get("go_backwards"))
    )  # fmt: skip
    settings["go_backwards"] = backwards
    stem = (
        str(settings.get("name", kind.lower())).removeprefix("forward_").removeprefix("backward_")
    )
    called, config = f"{way}_{stem}/{_KINDS[kind][2]}", Config(settings)
    y, states = _run(call, config, kind, [], f"{way}_layer/cell", called)
    return y if config.flag("return_sequences", False) else states[0]


LAYERS: dict[str, Operator] = {kind: _layer(kind) for kind in _KINDS}
LAYERS["Bidirectional"] = _bidirectional
