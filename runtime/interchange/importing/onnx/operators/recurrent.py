"""LSTM, GRU and RNN: a loop over the steps whose body is a readable page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.onnx.operators.node import Node, rule

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
ACTIVATIONS = {
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
    "GRU": ("Sigmoid", "Tanh"),
    "RNN": ("Tanh",),
}
_PLAIN = ("Relu", "Sigmoid", "Softplus", "Tanh")
_DEFAULTS = {
    "Affine": (1.0, 0.0),
    "Elu": (1.0, 0.0),
    "HardSigmoid": (0.2, 0.5),
    "LeakyRelu": (0.01, 0.0),
    "ScaledTanh": (1.0, 1.0),
    "Softsign": (0.0, 0.0),
    "ThresholdedRelu": (1.0, 0.0),
}


@dataclass(frozen=True, eq=False)
class Direction:
    """One direction of a recurrent operator: its weights and what it starts from.

    ``weight`` (gates * hidden, in), ``recurrent`` (gates * hidden, hidden), biases of the gates.
    """

    node: Node
    index: int
    weight: Staged
    recurrent: Staged
    bias: Staged | None
    recurrent_bias: Staged | None
    peepholes: Staged | None
    hidden: int

    def part(self, x: Staged, gate: int) -> Staged:
        """The numbers of a gate, among those of all gates along the last axis."""
        return x.stage.cut(x, -1, gate * self.hidden, (gate + 1) * self.hidden)

    def activated(self, which: int, x: Staged) -> Staged:
        """An activation of this direction, after the clip of its argument."""
        limit = self.node.number("clip")
        if limit:
            x = x.stage.block("Clip", x, min=-limit, max=limit)
        each = len(ACTIVATIONS[self.node.operator])
        place = self.index * each + which
        names = self.node.texts("activations") or [*ACTIVATIONS[self.node.operator]] * 2
        if place >= len(names):
            raise self.node.unsupported(f"{len(names)} activations for {place + 1}")
        return activation(self.node, names[place], place, x)

    def from_input(self, x: Staged) -> Staged:
        """What the gates get from the input of a step."""
        return x.stage.block("Linear", x, self.weight, self.bias)

    def from_hidden(self, h: Staged) -> Staged:
        """What the gates get from the hidden state."""
        return h.stage.block("Linear", h, self.recurrent, self.recurrent_bias)


def lstm_step(way: Direction, x: Staged, h: Staged, c: Staged) -> tuple[Staged, Staged]:
    """Hidden state and cell after a step; gates in the order i, o, f, c."""
    gates = way.from_input(x) + way.from_hidden(h)
    i, o, f, new = (way.part(gates, gate) for gate in range(4))
    if way.peepholes is not None:
        i = i + way.part(way.peepholes, 0) * c
        f = f + way.part(way.peepholes, 2) * c
    i = way.activated(0, i)
    f = 1.0 - i if way.node.integer("input_forget") else way.activated(0, f)
    c = f * c + i * way.activated(1, new)
    if way.peepholes is not None:
        o = o + way.part(way.peepholes, 1) * c
    return way.activated(0, o) * way.activated(2, c), c


def gru_step(way: Direction, x: Staged, h: Staged) -> Staged:
    """Hidden state after a step; gates in the order z, r, h."""
    given, kept = way.from_input(x), way.from_hidden(h)
    z = way.activated(0, way.part(given, 0) + way.part(kept, 0))
    r = way.activated(0, way.part(given, 1) + way.part(kept, 1))
    if way.node.integer("linear_before_reset"):
        recurrent = r * way.part(kept, 2)
    else:
        stage, first, last = h.stage, 2 * way.hidden, 3 * way.hidden
        weight = stage.cut(way.recurrent, 0, first, last)
        bias = None
        if way.recurrent_bias is not None:
            bias = stage.cut(way.recurrent_bias, 0, first, last)
        recurrent = stage.block("Linear", r * h, weight, bias)
    new = way.activated(1, way.part(given, 2) + recurrent)
    return (1.0 - z) * new + z * h


def rnn_step(way: Direction, x: Staged, h: Staged) -> Staged:
    """Hidden state after a step."""
    return way.activated(0, way.from_input(x) + way.from_hidden(h))


@rule("LSTM", "GRU", "RNN")
def _recurrent(node: Node) -> tuple[Staged | None, ...]:
    stage, batch_first = node.stage, node.integer("layout")
    x = stage.transpose(node.x(), (1, 0, 2)) if batch_first else node.x()
    ends = [_run(node, x, index) for index in range(node.x(1).shape[0])]
    every = stage.block("Stack", *(end["y"] for end in ends), axis=1)
    last = [
        stage.block("Stack", *(end[state] for end in ends), axis=0) if state in ends[0] else None
        for state in ("h", "c")
    ]
    if batch_first:
        every = stage.transpose(every, (2, 0, 1, 3))
        last = [None if s is None else stage.transpose(s, (1, 0, 2)) for s in last]
    return every, *last


def _run(node: Node, x: Staged, index: int) -> dict[str, Staged]:
    """All hidden states of a direction as ``y``, and what it ends with as ``h`` and ``c``."""
    stage, way = node.stage, _direction(node, index)
    carry = {"h": _start(node, 5, index, x, way.hidden)}
    if node.operator == "LSTM":
        carry["c"] = _start(node, 6, index, x, way.hidden)
    over = {"x": x}
    lengths = node.known_integers(4) if node.has(4) else None
    if lengths is not None and any(length < x.shape[0] for length in lengths):
        runs = np.arange(x.shape[0])[:, None, None] < np.array(lengths)[:, None]
        over["runs"] = stage.constant(runs)

    def body(now: Mapping[str, Staged]) -> tuple[dict[str, Staged], dict[str, Staged]]:
        after = _step(way, now)
        y = after["h"]
        if "runs" in over:
            y = stage.block("Where", now["runs"], y, y.like(0))
            after = {k: stage.block("Where", now["runs"], s, now[k]) for k, s in after.items()}
        return after, {"y": y}

    backwards = index == 1 or node.text("direction", "forward") == "reverse"
    name = node.operator.lower() + ("_back" if backwards else "")
    return stage.scan(name, x.shape[0], body, carry, over, backwards)


def _step(way: Direction, now: Mapping[str, Staged]) -> dict[str, Staged]:
    if way.node.operator == "LSTM":
        h, c = lstm_step(way, now["x"], now["h"], now["c"])
        return {"h": h, "c": c}
    step = gru_step if way.node.operator == "GRU" else rnn_step
    return {"h": step(way, now["x"], now["h"])}


def _direction(node: Node, index: int) -> Direction:
    gates, stage = GATES[node.operator], node.stage
    hidden = node.x(2).shape[-1]
    bias = stage.select(node.x(3), 0, index) if node.has(3) else None
    halves: list[Staged | None] = [None, None]
    if bias is not None:
        size = gates * hidden
        halves = [stage.cut(bias, 0, 0, size), stage.cut(bias, 0, size, 2 * size)]
    return Direction(
        node,
        index,
        stage.select(node.x(1), 0, index),
        stage.select(node.x(2), 0, index),
        halves[0],
        halves[1],
        stage.select(node.x(7), 0, index) if node.has(7) else None,
        hidden,
    )


def _start(node: Node, slot: int, index: int, x: Staged, hidden: int) -> Staged:
    """The state before the first step; zeros unless the model gives it."""
    if not node.has(slot):
        return node.stage.constant(np.zeros((x.shape[1], hidden), x.dtype))
    given = node.x(slot)
    if node.integer("layout"):
        given = node.stage.transpose(given, (1, 0, 2))
    return node.stage.select(given, 0, index)


def activation(node: Node, name: str, place: int, x: Staged) -> Staged:
    """The activation at a place in the list of a node, with its alpha and beta."""
    stage = node.stage
    if name in _PLAIN:
        return stage.block(name, x)
    if name not in _DEFAULTS:
        raise node.unsupported(f"its activation {name!r} is unknown")
    alpha, beta = (
        _number(node, which, place, default)
        for which, default in zip(
            ("activation_alpha", "activation_beta"), _DEFAULTS[name], strict=True
        )
    )
    if name == "Affine":
        return x * alpha + beta
    if name == "Elu":
        return stage.block("Elu", x, alpha=alpha)
    if name == "HardSigmoid":
        return stage.block("Clip", x * alpha + beta, min=0.0, max=1.0)
    if name == "LeakyRelu":
        return stage.block("LeakyRelu", x, slope=alpha)
    if name == "ScaledTanh":
        return stage.block("Tanh", x * beta) * alpha
    if name == "Softsign":
        return x / (stage.block("Abs", x) + 1.0)
    return stage.block("Where", x > alpha, x, x.like(0))


def _number(node: Node, which: str, place: int, default: float) -> float:
    given = node.numbers(which)
    return given[place] if given is not None and place < len(given) else default
