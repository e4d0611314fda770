"""LSTM, GRU and RNN: a loop over the steps whose body is a readable page."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from gradwire.runtime.interchange.importing.meanings import recurrent
from gradwire.runtime.interchange.importing.meanings.activations import softsign, threshold
from gradwire.runtime.interchange.importing.meanings.shapes import split
from gradwire.runtime.interchange.importing.onnx.operators.node import OperatorNode, rule
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

_KINDS: dict[str, tuple[Literal["lstm", "gru", "rnn"], str, tuple[str, ...]]] = {
    "LSTM": ("lstm", "iofg", ("Sigmoid", "Tanh", "Tanh")),
    "GRU": ("gru", "zrn", ("Sigmoid", "Tanh")),
    "RNN": ("rnn", "n", ("Tanh",)),
}
"""What an operator is, its gates in order, and its activations by default."""
_DEFAULTS = {"HardSigmoid": (0.2, 0.5), "LeakyRelu": (0.01, 0.0), "ScaledTanh": (1.0, 1.0)}
"""Alpha and beta of activations where they are not 1 and 0."""


@rule(*_KINDS)
def _recurrent(node: OperatorNode) -> tuple[Staged | None, ...]:
    """Where ``layout`` is 1, the batch comes first in x, in states and in what is given."""
    stage, batch_first = node.stage, node.integer("layout")
    x = stage.transpose(node.x(), (1, 0, 2)) if batch_first else node.x()
    ends = [_direction(node, x, index) for index in range(node.x(1).shape[0])]
    every = stage.block("Stack", *(end["y"] for end in ends), axis=1)
    states = [key for key in ("h", "c") if key in ends[0]]
    last = [stage.block("Stack", *(end[key] for end in ends), axis=0) for key in states]
    if batch_first:
        every = stage.transpose(every, (2, 0, 1, 3))
        last = [stage.transpose(state, (1, 0, 2)) for state in last]
    return every, *last


def _direction(node: OperatorNode, x: Staged, index: int) -> dict[str, Staged]:
    """What it ends with as ``h`` and ``c``, and all hidden states as ``y``."""
    state, size = {}, node.x(2).shape[-1]
    for key, slot in (("h", 5), ("c", 6))[: 2 if node.operator == "LSTM" else 1]:
        given = _own(node, slot, index, axis=1 if node.integer("layout") else 0)
        state[key] = recurrent.zeros(x, size) if given is None else given
    backwards = index == 1 or node.text("direction", "forward") == "reverse"
    name = node.operator.lower() + ("_back" if backwards else "")
    lengths = node.known_integers(4) if node.has(4) else None
    return recurrent.layer(_cell(node, index), x, state, name, backwards, lengths)


def _own(node: OperatorNode, slot: int, index: int, axis: int = 0) -> Staged | None:
    """What an input has for a direction."""
    return node.stage.select(node.x(slot), axis, index) if node.has(slot) else None


def _cell(node: OperatorNode, index: int) -> recurrent.Cell:
    kind, gates, defaults = _KINDS[node.operator]
    bias, peepholes, size = _own(node, 3, index), _own(node, 7, index), node.x(2).shape[-1]
    bias_x, bias_h = (None, None) if bias is None else split(bias, [bias.size // 2] * 2, 0)
    own = None if peepholes is None else split(peepholes, [size] * 3, 0)
    names = node.texts("activations") or [*defaults] * 2
    first = index * len(defaults)
    if first + len(defaults) > len(names):
        raise node.unsupported(f"{len(names)} activations for {first + len(defaults)}")
    acts = [_activation(node, names[place], place) for place in range(first, first + len(defaults))]
    return recurrent.Cell(
        kind, gates, node.stage.select(node.x(1), 0, index), node.stage.select(node.x(2), 0, index),
        bias_x, bias_h, gate=acts[0], act=acts[min(1, len(acts) - 1)], last=acts[-1],
        reset_after=bool(node.integer("linear_before_reset")),
        coupled=bool(node.integer("input_forget")),
        peepholes=None if own is None else dict(zip("iof", own, strict=True)),
    )  # fmt: skip


def _activation(node: OperatorNode, name: str, place: int) -> recurrent.Activation:
    """The activation at a place in the list of a node, after the clip of what it gets."""
    given = (node.numbers(f"activation_{key}") or () for key in ("alpha", "beta"))
    defaults = _DEFAULTS.get(name, (1.0, 0.0))
    alpha, beta = (
        numbers[place] if place < len(numbers) else default
        for numbers, default in zip(given, defaults, strict=True)
    )
    limit = node.number("clip")
    functions: dict[str, recurrent.Activation] = {
        "Affine": lambda x: x * alpha + beta,
        "Elu": lambda x: put("Elu", x, alpha=alpha),
        "HardSigmoid": lambda x: put("HardSigmoid", x, alpha=alpha, beta=beta),
        "LeakyRelu": lambda x: put("LeakyRelu", x, slope=alpha),
        "ScaledTanh": lambda x: put("Tanh", x * beta) * alpha,
        "Softsign": softsign,
        "ThresholdedRelu": lambda x: threshold(x, alpha),
        **{kind: partial(put, kind) for kind in ("Relu", "Sigmoid", "Softplus", "Tanh")},
    }
    if name not in functions:
        raise node.unsupported(f"its activation {name!r} is unknown")
    function = functions[name]
    return (lambda x: function(put("Clip", x, min=-limit, max=limit))) if limit else function
