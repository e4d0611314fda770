"""Recurrent layers: cells as pages, run over the steps of a sequence by a Scan.

The variables are called, laid out and ordered as those of PyTorch's RNN, GRU and LSTM with one
layer, so that trained weights fit: ``weight_ih`` (gates · units, features), ``weight_hh``
(gates · units, units), ``bias_ih`` and ``bias_hh`` (gates · units,), each uniform within
± 1/√units at first. They lie on the page of the cell, ``lstm_cell`` for a layer called ``lstm``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.arguments import explained
from gradwire.blocks.formulas.expressions import Expression, block
from gradwire.runtime.page_functions import page, scan

if TYPE_CHECKING:
    from gradwire.blocks.formulas.expressions import Operand


@explained
def rnn(
    x: Operand,
    *,
    steps: int,
    units: int,
    batch: int | None = None,
    h: Operand | None = None,
    reverse: bool = False,
    name: str = "rnn",
) -> Expression:
    """A recurrent layer, ``h[t+1] = tanh(W x[t] + b + V h[t] + d)``, over axis 0 of x.

    x (steps, batch, features), or (steps, features) without ``batch``. The outputs are ``y``, h
    after each step, (steps, batch, units), and ``h_n``, that after the last, (batch, units). The
    initial h is zero unless it is given.
    """

    def cell(x: Expression, h: Expression) -> dict[str, Expression]:
        new = block("Tanh", _sums(x, h, units, 1))
        return {"y": new, "h_n": new}

    body = page(f"{name}_cell")(cell)
    start = _zeros(units, batch) if h is None else h
    return scan(
        body, x, start, steps=steps, carry={"h": "h_n"}, over="x", reverse=reverse, name=name
    )


@explained
def gru(
    x: Operand,
    *,
    steps: int,
    units: int,
    batch: int | None = None,
    h: Operand | None = None,
    reverse: bool = False,
    name: str = "gru",
) -> Expression:
    """A gated recurrent layer over axis 0 of x; its shapes and outputs are those of ``rnn``.

    With the gates r and z, ``n = tanh(W x + b + r (V h + d))``, ``h' = (1 - z) n + z h``. The
    gates are in the order r, z, n. Source: Cho et al. 2014, reset after the product.
    """

    def cell(x: Expression, h: Expression) -> dict[str, Expression]:
        from_x = _parts(_linear(x, "ih", units, 3), units, 3, batch)
        from_h = _parts(_linear(h, "hh", units, 3), units, 3, batch)
        r = block("Sigmoid", from_x[0] + from_h[0], name="r")
        z = block("Sigmoid", from_x[1] + from_h[1], name="z")
        n = block("Tanh", from_x[2] + r * from_h[2], name="n")
        new = n + z * (h - n)
        return {"y": new, "h_n": new}

    body = page(f"{name}_cell")(cell)
    start = _zeros(units, batch) if h is None else h
    return scan(
        body, x, start, steps=steps, carry={"h": "h_n"}, over="x", reverse=reverse, name=name
    )


@explained
def lstm(
    x: Operand,
    *,
    steps: int,
    units: int,
    batch: int | None = None,
    h: Operand | None = None,
    c: Operand | None = None,
    reverse: bool = False,
    name: str = "lstm",
) -> Expression:
    """A layer of long short-term memory over axis 0 of x; its shapes are those of ``rnn``.

    With the gates i, f, g and o, ``c' = f c + i g`` and ``h' = o tanh(c')``. The outputs are
    ``y``, ``h_n`` and ``c_n``. The gates are in the order i, f, g, o.
    Source: Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000.
    """

    def cell(x: Expression, h: Expression, c: Expression) -> dict[str, Expression]:
        parts = _parts(_sums(x, h, units, 4), units, 4, batch)
        i, f, o = (block("Sigmoid", parts[k], name=n) for k, n in ((0, "i"), (1, "f"), (3, "o")))
        g = block("Tanh", parts[2], name="g")
        kept = f * c + i * g
        new = o * block("Tanh", kept)
        return {"y": new, "h_n": new, "c_n": kept}

    body = page(f"{name}_cell")(cell)
    starts = [_zeros(units, batch) if given is None else given for given in (h, c)]
    carry = {"h": "h_n", "c": "c_n"}
    return scan(body, x, *starts, steps=steps, carry=carry, over="x", reverse=reverse, name=name)


def _sums(x: Expression, h: Expression, units: int, gates: int) -> Expression:
    """What all gates get: ``W x + b + V h + d``."""
    return _linear(x, "ih", units, gates) + _linear(h, "hh", units, gates)


def _linear(x: Expression, which: str, units: int, gates: int) -> Expression:
    weight, bias = (
        block("Variable", name=f"{kind}_{which}", initialiser="uniform", scale=units**-0.5)
        for kind in ("weight", "bias")
    )
    return block("Linear", x, weight, bias, units=gates * units)


def _parts(x: Expression, units: int, gates: int, batch: int | None) -> list[Expression]:
    """The gates, one after the other along the last axis."""
    places = [slice(units * i, units * (i + 1)) for i in range(gates)]
    return [x[place] if batch is None else x[:, place] for place in places]


def _zeros(units: int, batch: int | None) -> Expression:
    return block("Broadcast", 0.0, shape=(units,) if batch is None else (batch, units))
