"""Recurrent layers: a Scan for each layer and direction, whose body is a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

State: TypeAlias = "dict[str, Staged]"
Activation: TypeAlias = "Callable[[Staged], Staged]"


@dataclass(frozen=True, eq=False)
class Cell:
    """One direction of a layer: its weights, and what systems vary.

    ``gates`` are those of the weights in order, such as ``ifgo`` of an LSTM, ``rzn`` of a GRU and
    ``n`` of a plain layer; ``turned`` weights are (in, gates * size), others (gates * size, in).
    """

    kind: Literal["lstm", "gru", "rnn"]
    gates: str
    x: Staged
    h: Staged
    bias_x: Staged | None = None
    bias_h: Staged | None = None
    turned: bool = False
    gate: Activation = lambda x: put("Sigmoid", x)
    act: Activation = lambda x: put("Tanh", x)
    last: Activation | None = None
    """What the state of an LSTM goes through on its way out; None for ``act``."""
    reset_after: bool = True
    """Whether the reset gate of a GRU works on the product with the weights."""
    coupled: bool = False
    """Whether an LSTM forgets as much as is new."""
    peepholes: Mapping[str, Staged] | None = None
    projection: Staged | None = None

    def step(self, x: Staged, before: Mapping[str, Staged]) -> State:
        """The state after an element and the state before it; ``h`` is what is given out."""
        if self.kind == "lstm":
            return self._lstm(x, before["h"], before["c"])
        return {"h": (self._gru if self.kind == "gru" else self._plain)(x, before["h"])}

    def _product(self, x: Staged, weight: Staged, bias: Staged | None) -> Staged:
        if not self.turned:
            return put("Linear", x, weight, bias)
        return x @ weight if bias is None else x @ weight + bias

    def _parts(self, y: Staged, axis: int = -1) -> dict[str, Staged]:
        size = y.shape[axis] // len(self.gates)
        return {g: y.stage.cut(y, axis, i * size, (i + 1) * size) for i, g in enumerate(self.gates)}

    def _both(self, x: Staged, h: Staged) -> Staged:
        return self._product(x, self.x, self.bias_x) + self._product(h, self.h, self.bias_h)

    def _plain(self, x: Staged, h: Staged) -> Staged:
        """``tanh(W x + U h)``."""
        return self.act(self._both(x, h))

    def _lstm(self, x: Staged, h: Staged, c: Staged) -> State:
        """``c = f * c + i * g``, ``h = o * tanh(c)``."""
        y = self._parts(self._both(x, h))

        def gate(name: str, c: Staged) -> Staged:
            return self.gate(y[name] + self.peepholes[name] * c if self.peepholes else y[name])

        i = gate("i", c)
        f = 1.0 - i if self.coupled else gate("f", c)
        c = f * c + i * self.act(y["g"])
        h = gate("o", c) * (self.last or self.act)(c)
        return {"h": h if self.projection is None else put("Linear", h, self.projection), "c": c}

    def _gru(self, x: Staged, h: Staged) -> Staged:
        """``(1 - z) * n + z * h``."""
        own = self._parts(self._product(x, self.x, self.bias_x))
        past = self._parts(self._product(h, self.h, self.bias_h))
        r, z = self.gate(own["r"] + past["r"]), self.gate(own["z"] + past["z"])
        if self.reset_after:
            reset = r * past["n"]
        else:
            weight = self._parts(self.h, -1 if self.turned else 0)["n"]
            bias = None if self.bias_h is None else self._parts(self.bias_h)["n"]
            reset = self._product(r * h, weight, bias)
        n = self.act(own["n"] + reset)
        return n + z * (h - n)


def layer(
    cell: Cell,
    x: Staged,
    state: State,
    name: str,
    reverse: bool = False,
    lengths: Sequence[int] | None = None,
) -> State:
    """All outputs of a direction as ``y``, time first, and its last state; rows may be shorter."""
    over = {"x": x}
    if lengths is not None and any(length < x.shape[0] for length in lengths):
        runs = np.arange(x.shape[0])[:, None, None] < np.array(lengths)[:, None]
        over["runs"] = x.stage.constant(runs)

    def body(now: Mapping[str, Staged]) -> tuple[State, State]:
        after = cell.step(now["x"], now)
        y = after["h"]
        if "runs" in over:
            y = put("Where", now["runs"], y, y.like(0))
            after = {k: put("Where", now["runs"], s, now[k]) for k, s in after.items()}
        return after, {"y": y}

    return x.stage.scan(name, x.shape[0], body, state, over, reverse)


def zeros(x: Staged, size: int) -> Staged:
    """The state before the first step of ``x`` (time, batch, in)."""
    return x.stage.constant(np.zeros((x.shape[1], size), x.dtype))
