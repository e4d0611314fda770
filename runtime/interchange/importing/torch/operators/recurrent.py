"""Recurrent layers: a Scan for each layer and direction, and cells by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.operators.products import dropout
from gradwire.runtime.interchange.importing.torch.operators.table import operator

State: TypeAlias = "dict[str, Staged]"


class Weights(NamedTuple):
    """The weights of a layer for its input and its state, the biases of both, and a projection."""

    x: Staged
    h: Staged
    bias_x: Staged | None = None
    bias_h: Staged | None = None
    projection: Staged | None = None


Cell: TypeAlias = Callable[[Stage, Staged, State, Weights], State]
"""From an element and the state before it to the state after it."""


def _gates(
    stage: Stage, x: Staged, weight: Staged, bias: Staged | None, count: int
) -> list[Staged]:
    y = stage.block("Linear", x, weight, bias)
    width = y.shape[-1] // count
    return [stage.cut(y, -1, i * width, (i + 1) * width) for i in range(count)]


def _lstm(stage: Stage, x: Staged, state: State, weights: Weights) -> State:
    """``c = f * c + i * g``, ``h = o * tanh(c)``."""
    of_x = stage.block("Linear", x, weights.x, weights.bias_x)
    y = of_x + stage.block("Linear", state["h"], weights.h, weights.bias_h)
    width = y.shape[-1] // 4
    i, f, g, o = (stage.cut(y, -1, k * width, (k + 1) * width) for k in range(4))
    c = stage.block("Sigmoid", f) * state["c"] + stage.block("Sigmoid", i) * stage.block("Tanh", g)
    h = stage.block("Sigmoid", o) * stage.block("Tanh", c)
    if weights.projection is not None:
        h = stage.block("Linear", h, weights.projection)
    return {"h": h, "c": c}


def _gru(stage: Stage, x: Staged, state: State, weights: Weights) -> State:
    """``h = (1 - z) * n + z * h``."""
    rx, zx, nx = _gates(stage, x, weights.x, weights.bias_x, 3)
    rh, zh, nh = _gates(stage, state["h"], weights.h, weights.bias_h, 3)
    r, z = stage.block("Sigmoid", rx + rh), stage.block("Sigmoid", zx + zh)
    n = stage.block("Tanh", nx + r * nh)
    return {"h": n + z * (state["h"] - n)}


def _plain(kind: str) -> Cell:
    """``h = tanh(W x + U h)``, or with another function."""

    def cell(stage: Stage, x: Staged, state: State, weights: Weights) -> State:
        of_x = stage.block("Linear", x, weights.x, weights.bias_x)
        of_h = stage.block("Linear", state["h"], weights.h, weights.bias_h)
        return {"h": stage.block(kind, of_x + of_h)}

    return cell


def _weights(given: Sequence[Staged], has_biases: bool) -> Weights:
    """The weights of one layer and direction, from the list that PyTorch has them in."""
    x, h, *rest = given
    bias_x, bias_h = (rest.pop(0), rest.pop(0)) if has_biases else (None, None)
    return Weights(x, h, bias_x, bias_h, rest[0] if rest else None)


def _layer(
    stage: Stage, cell: Cell, name: str, x: Staged, state: State, weights: Weights, reverse: bool
) -> tuple[Staged, State]:
    """All outputs of one layer in one direction, and its last state."""

    def body(inside: Mapping[str, Staged]) -> tuple[State, State]:
        before = {key: inside[key] for key in state}
        after = cell(stage, inside["x"], before, weights)
        return after, {"y": after["h"]}

    done = stage.scan(name, x.shape[0], body, state, {"x": x}, reverse)
    return done["y"], {key: done[key] for key in state}


def _stacked(
    stage: Stage,
    cell: Cell,
    x: Staged,
    states: Mapping[str, Staged],
    params: Sequence[Staged],
    has_biases: bool,
    num_layers: int,
    rate: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Staged]:
    """Layers on top of each other, each in one or two directions."""
    single = x.ndim == 2
    if single:
        x = stage.reshape(x, (x.shape[0], 1, x.shape[1]))
        states = {k: stage.reshape(s, (s.shape[0], 1, s.shape[1])) for k, s in states.items()}
    elif batch_first:
        x = stage.transpose(x, (1, 0, 2))
    ways = 2 if bidirectional else 1
    each = len(params) // (num_layers * ways)  # 4 with biases, 5 with a projection
    last: dict[str, list[Staged]] = {key: [] for key in states}
    for layer in range(num_layers):
        outputs = []
        for way in range(ways):
            at = layer * ways + way
            weights = _weights(params[at * each : (at + 1) * each], has_biases)
            before = {key: stage.select(s, 0, at) for key, s in states.items()}
            name = f"layer{layer}" + ("_reverse" if way else "")
            y, after = _layer(stage, cell, name, x, before, weights, bool(way))
            outputs.append(y)
            for key, value in after.items():
                last[key].append(value)
        x = outputs[0] if ways == 1 else stage.block("Concat", *outputs, axis=-1)
        if layer < num_layers - 1:
            x = dropout(stage, x, rate, train)
    y = stage.reshape(x, (x.shape[0], x.shape[2])) if single else x
    y = stage.transpose(y, (1, 0, 2)) if batch_first and not single else y
    ends = [stage.block("Stack", *values, axis=0) for values in last.values()]
    if single:
        ends = [stage.reshape(s, (s.shape[0], s.shape[2])) for s in ends]
    return [y, *ends]


@operator("lstm.input")
def lstm(
    stage: Stage,
    x: Staged,
    hx: Sequence[Staged],
    params: Sequence[Staged],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Staged]:
    """Long short-term memory: outputs, last h and last c."""
    states = {"h": hx[0], "c": hx[1]}
    return _stacked(
        stage, _lstm, x, states, params, has_biases, num_layers, dropout, train, bidirectional,
        batch_first,
    )  # fmt: skip


def _enter(name: str, cell: Cell) -> None:
    @operator(f"{name}.input")
    def _(
        stage: Stage,
        x: Staged,
        hx: Staged,
        params: Sequence[Staged],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> list[Staged]:
        return _stacked(
            stage, cell, x, {"h": hx}, params, has_biases, num_layers, dropout, train,
            bidirectional, batch_first,
        )  # fmt: skip

    @operator(f"{name}_cell")
    def _cell(
        stage: Stage,
        x: Staged,
        h: Staged,
        from_x: Staged,
        from_h: Staged,
        bias_x: Staged | None = None,
        bias_h: Staged | None = None,
    ) -> Staged:
        return cell(stage, x, {"h": h}, Weights(from_x, from_h, bias_x, bias_h))["h"]


_enter("gru", _gru)
_enter("rnn_tanh", _plain("Tanh"))
_enter("rnn_relu", _plain("Relu"))


@operator("lstm_cell")
def lstm_cell(
    stage: Stage,
    x: Staged,
    hx: Sequence[Staged],
    from_x: Staged,
    from_h: Staged,
    bias_x: Staged | None = None,
    bias_h: Staged | None = None,
) -> list[Staged]:
    """One step: h and c."""
    after = _lstm(stage, x, {"h": hx[0], "c": hx[1]}, Weights(from_x, from_h, bias_x, bias_h))
    return [after["h"], after["c"]]
