"""Cells and layers against PyTorch, in the layouts that systems have for their weights."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.interchange.importing.meanings import recurrent
from tests.runtime.interchange.importing.meanings.differing import agrees

SIZE, X = 4, np.random.default_rng(0).standard_normal((5, 2, 3)).astype("f4")
GATES = {"lstm": "ifgo", "gru": "rzn", "rnn": "n"}
"""In PyTorch's order."""


def weights(kind: str) -> list[np.ndarray]:
    draw, rows = np.random.default_rng(1), SIZE * len(GATES[kind])
    shapes = [(rows, 3), (rows, SIZE), (rows,), (rows,)]
    return [draw.standard_normal(shape).astype("f4") / 2 for shape in shapes]


@pytest.mark.parametrize(
    ("kind", "gates"),
    [("lstm", "ifgo"), ("lstm", "iofg"), ("gru", "rzn"), ("gru", "zrn"), ("rnn", "n")],
)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_a_layer_agrees_whatever_the_layout(kind, gates, turned, back):
    torch = pytest.importorskip("torch")

    def layer(x, *given):
        order = [GATES[kind].index(gate) for gate in gates]
        parts = [np.arange(SIZE) + at * SIZE for at in order]
        own = [w.stage.take(w, np.concatenate(parts), 0) for w in given]
        own[:2] = [w.stage.transpose(w, (1, 0)) if turned else w for w in own[:2]]
        cell = recurrent.Cell(kind, gates, *own, turned=turned)
        state = {name: recurrent.zeros(x, SIZE) for name in ("hc" if kind == "lstm" else "h")}
        done = recurrent.layer(cell, x, state, "layer", back)
        return [done["y"], *(done[name] for name in state)]

    def reference(x, *given):
        net = getattr(torch.nn, kind.upper())(3, SIZE)
        named = dict(zip([name for name, _ in net.named_parameters()], given, strict=True))
        y, last = torch.func.functional_call(net, named, (x.flip(0) if back else x,))
        states = last if kind == "lstm" else [last]
        return [y.flip(0) if back else y, *(state[0] for state in states)]

    agrees(f"{kind} {gates}", layer, reference, [X, *weights(kind)])


def test_rows_that_are_shorter_keep_their_state_and_give_zeros():
    torch = pytest.importorskip("torch")

    def layer(x, *given):
        cell = recurrent.Cell("rnn", "n", *given)
        done = recurrent.layer(cell, x, {"h": recurrent.zeros(x, SIZE)}, "layer", lengths=[2, 5])
        return [done["y"], done["h"]]

    def reference(x, *given):
        net = torch.nn.RNN(3, SIZE)
        named = dict(zip([name for name, _ in net.named_parameters()], given, strict=True))
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, [2, 5], enforce_sorted=False)
        y, last = torch.func.functional_call(net, named, (packed,))
        return [torch.nn.utils.rnn.pad_packed_sequence(y)[0], last[0]]

    agrees("shorter", layer, reference, [X, *weights("rnn")])
