"""Recurrent layers: shapes, and values and gradients as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import BuildError

STEPS, BATCH, FEATURES, UNITS = 5, 2, 3, 4
LAYERS = {"rnn": gw.rnn, "gru": gw.gru, "lstm": gw.lstm}


def drawn(*shape: int, seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape)


def session(kind: str, batch: int | None, reverse: bool = False) -> gw.Session:
    """The loss weighs every number that the layer gives out differently."""
    rows = () if batch is None else (batch,)
    x = gw.variable("x", drawn(STEPS, *rows, FEATURES, seed=1), dtype="float64")
    outputs = LAYERS[kind](x, steps=STEPS, units=UNITS, batch=batch, reverse=reverse)
    parts = [
        (outputs[name] * drawn(*shape, seed=i)).sum()
        for i, (name, shape) in enumerate(
            {"y": (STEPS, *rows, UNITS), "h_n": (*rows, UNITS), "c_n": (*rows, UNITS)}.items()
        )
        if name in outputs.node.outputs
    ]
    diagram = gw.build(gw.loss(sum(parts[1:], start=parts[0])))
    made = gw.Session(diagram)
    for name, array in weights(kind).items():
        made.set(f"{kind}/0/{name}", array.astype(np.float32))
    return made


def weights(kind: str) -> dict[str, np.ndarray[Any, Any]]:
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind] * UNITS
    shapes = {"weight_ih": (gates, FEATURES), "weight_hh": (gates, UNITS),
              "bias_ih": (gates,), "bias_hh": (gates,)}  # fmt: skip
    return {name: drawn(*shape, seed=9 + i) for i, (name, shape) in enumerate(shapes.items())}


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("batch", [None, BATCH])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_is_that_of_pytorch(kind: str, batch: int | None) -> None:
    torch = pytest.importorskip("torch")
    module = getattr(torch.nn, kind.upper())(FEATURES, UNITS).double()
    with torch.no_grad():
        for name, array in weights(kind).items():
            getattr(module, f"{name}_l0").copy_(torch.tensor(array.astype(np.float32)))
    rows = () if batch is None else (batch,)
    x = torch.tensor(drawn(STEPS, *rows, FEATURES, seed=1), requires_grad=True)
    y, states = module(x)
    states = states if kind == "lstm" else (states,)
    parts = [y, *(state.reshape(*rows, UNITS) for state in states)]
    loss = sum((part * torch.tensor(drawn(*part.shape, seed=i))).sum()
               for i, part in enumerate(parts))  # fmt: skip
    loss.backward()
    run = session(kind, batch).backward()
    np.testing.assert_allclose(run.values[f"{kind}.y"], y.detach(), rtol=1e-5, atol=1e-6)
    assert run.values["loss.out"] == pytest.approx(loss.item(), rel=1e-5)
    np.testing.assert_allclose(run.gradients["x"], x.grad, rtol=1e-4, atol=1e-5)
    for name in weights(kind):
        wanted = getattr(module, f"{name}_l0").grad
        np.testing.assert_allclose(run.gradients[f"{kind}/0/{name}"], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.night
@pytest.mark.parametrize("kind", LAYERS)
def test_a_reversed_layer_is_one_over_the_reversed_sequence(kind: str) -> None:
    run = session(kind, BATCH, reverse=True).run()
    forward = session(kind, BATCH)
    forward.set("x", drawn(STEPS, BATCH, FEATURES, seed=1)[::-1])
    np.testing.assert_allclose(run.values[f"{kind}.y"], forward.run().values[f"{kind}.y"][::-1])


def test_variables_are_drawn_within_the_inverse_root_of_the_units() -> None:
    x = gw.constant("x", np.zeros((STEPS, FEATURES)))
    found = gw.Session(gw.build(gw.gru(x, steps=STEPS, units=16).sum())).values
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        assert 0 < np.abs(found[f"gru/0/{name}"]).max() <= 0.25


@pytest.mark.night
def test_states_can_be_given_and_layers_stacked() -> None:
    x = gw.constant("x", np.ones((STEPS, FEATURES)))
    h = gw.variable("h", np.ones(UNITS))
    below = gw.lstm(x, steps=STEPS, units=UNITS, h=h, name="below")
    above = gw.rnn(below, steps=STEPS, units=2, name="above")
    run = gw.Session(gw.build(gw.loss(above.sum()))).backward()
    assert run.gradients["h"].any()
    assert run.gradients["below/0/weight_hh"].any()
    twice = gw.rnn(gw.rnn(x, steps=STEPS, units=2), steps=STEPS, units=2)
    with pytest.raises(BuildError, match="called 'rnn"):
        gw.build(twice)
