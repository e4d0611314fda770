"""Recurrent layers, and cells by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

from gradwire.runtime.interchange.importing.meanings import recurrent
from gradwire.runtime.interchange.importing.staged import Staged, put
from gradwire.runtime.interchange.importing.torch.operators.products import dropout
from gradwire.runtime.interchange.importing.torch.operators.table import enter

Hidden: TypeAlias = "Staged | Sequence[Staged]"
"""A state as PyTorch has it: h and c of an LSTM, else h."""


def _cell(kind: str, weights: Sequence[Staged | None], has_biases: bool = True) -> recurrent.Cell:
    """From the weights of a layer and direction: of x and h, their biases, and a projection."""
    x, h, *rest = weights
    assert x is not None and h is not None
    biases = (rest.pop(0), rest.pop(0)) if has_biases else (None, None)
    if kind == "lstm":
        return recurrent.Cell("lstm", "ifgo", x, h, *biases, projection=rest[0] if rest else None)
    if kind == "gru":
        return recurrent.Cell("gru", "rzn", x, h, *biases)
    act = "Relu" if kind == "rnn_relu" else "Tanh"
    return recurrent.Cell("rnn", "n", x, h, *biases, act=lambda y: put(act, y))


def _states(hx: Hidden) -> dict[str, Staged]:
    return {"h": hx} if isinstance(hx, Staged) else dict(zip("hc", hx, strict=True))


def _stacked(
    kind: str,
    x: Staged,
    hx: Hidden,
    params: Sequence[Staged],
    has_biases: bool,
    num_layers: int,
    rate: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Staged]:
    """Layers on top of each other, each in one or two directions: outputs and last states."""
    stage, states = x.stage, _states(hx)
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
            cell = _cell(kind, params[at * each : (at + 1) * each], has_biases)
            before = {key: stage.select(s, 0, at) for key, s in states.items()}
            name = f"layer{layer}" + ("_reverse" if way else "")
            done = recurrent.layer(cell, x, before, name, bool(way))
            outputs.append(done["y"])
            for key, values in last.items():
                values.append(done[key])
        x = outputs[0] if ways == 1 else stage.block("Concat", *outputs, axis=-1)
        if layer < num_layers - 1:
            x = dropout(x, rate, train)
    y = stage.reshape(x, (x.shape[0], x.shape[2])) if single else x
    y = stage.transpose(y, (1, 0, 2)) if batch_first and not single else y
    ends = [stage.block("Stack", *values, axis=0) for values in last.values()]
    if single:
        ends = [stage.reshape(s, (s.shape[0], s.shape[2])) for s in ends]
    return [y, *ends]


def _step(
    kind: str,
    x: Staged,
    hx: Hidden,
    from_x: Staged,
    from_h: Staged,
    bias_x: Staged | None = None,
    bias_h: Staged | None = None,
) -> Staged | list[Staged]:
    after = _cell(kind, (from_x, from_h, bias_x, bias_h)).step(x, _states(hx))
    return after["h"] if isinstance(hx, Staged) else list(after.values())


for _kind in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    enter({f"{_kind}.input": partial(_stacked, _kind), f"{_kind}_cell": partial(_step, _kind)})
