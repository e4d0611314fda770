"""Operators of one node each: values against numpy, and codes that are MXNet's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.mxnet.importer import import_mxnet
from gradwire.runtime.interchange.importing.mxnet.operators import OPERATORS, reshaped
from tests.runtime.interchange.importing.mxnet.symbols import SymbolWriter

X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)
Y = np.linspace(1, 2, 24, dtype=np.float32).reshape(2, 3, 4)


def value(folder: Path, operator: str, attributes: dict[str, Any], *arrays: Any) -> Any:
    """What one node gives for arrays, its first output."""
    net = SymbolWriter()
    inputs = [net.argument(f"x{i}") for i in range(len(arrays))]
    path = net.save(folder, net.node(operator, "node", inputs, attributes))
    made = import_mxnet(path, arrays={f"x{i}": array for i, array in enumerate(arrays)})
    (port,) = made.outputs.values()
    return Session(made.diagram).run().values[port]


@pytest.mark.parametrize(
    ("operator", "attributes", "expected"),
    [
        ("_rminus_scalar", {"scalar": "1"}, 1 - X),
        ("_RDivScalar", {"scalar": "2"}, 2 / X),
        ("_plus_scalar", {"scalar": "2.5"}, X + 2.5),
        ("_greater_scalar", {"scalar": "0"}, (X > 0).astype("f")),
        ("clip", {"a_min": "-1", "a_max": "1"}, np.clip(X, -1, 1)),
        ("round", {}, np.sign(X) * np.floor(np.abs(X) + 0.5)),
        ("reciprocal", {}, 1 / X),
        ("sum", {"axis": "(0, 2)", "keepdims": "True"}, X.sum((0, 2), keepdims=True)),
        ("mean", {"axis": "1", "exclude": "1"}, X.mean((0, 2))),
        ("max", {"axis": "()"}, X.max()),
        ("argmax", {"axis": "2"}, X.argmax(2).astype("f")),
        ("Reshape", {"shape": "(-3, 0)"}, X.reshape(6, 4)),
        ("transpose", {"axes": "(2, 0, 1)"}, X.transpose(2, 0, 1)),
        ("SwapAxis", {"dim1": "0", "dim2": "2"}, X.swapaxes(0, 2)),
        ("slice", {"begin": "(None, 1)", "end": "(None, 3)"}, X[:, 1:3]),
        ("slice", {"begin": "(0, 2)", "end": "(2, None)", "step": "(1, -1)"}, X[:2, 2::-1]),
        ("slice_axis", {"axis": "2", "begin": "1", "end": "None"}, X[:, :, 1:]),
        ("tile", {"reps": "(2, 1, 2)"}, np.tile(X, (2, 1, 2))),
        ("repeat", {"repeats": "3", "axis": "1"}, X.repeat(3, 1)),
        ("flip", {"axis": "1"}, np.flip(X, 1)),
        ("expand_dims", {"axis": "1"}, X[:, None]),
        *(
            (
                "Pad", {"mode": mode, "pad_width": "(0, 0, 1, 2, 2, 0)"},
                np.pad(X, ((0, 0), (1, 2), (2, 0)), mode),
            )
            for mode in ("constant", "edge", "reflect")
        ),
        ("SliceChannel", {"num_outputs": "3", "squeeze_axis": "True"}, X[:, 0]),
        ("softmax", {"axis": "1", "temperature": "2"}, None),
        ("LeakyReLU", {"act_type": "leaky", "slope": "0.1"}, np.where(X > 0, X, 0.1 * X)),
        ("L2Normalization", {"mode": "channel"}, X / np.sqrt((X**2).sum(1, keepdims=True))),
        ("Dropout", {"p": "0.9"}, X),
        ("Pooling", {"kernel": "(2,)", "pool_type": "avg"}, (X[..., :-1] + X[..., 1:]) / 2),
        ("smooth_l1", {"scalar": "1"}, np.where(abs(X) < 1, X**2 / 2, abs(X) - 0.5)),
        ("norm", {"ord": "1", "axis": "1"}, np.abs(X).sum(1)),
        ("logical_not", {}, (X == 0).astype("f")),
    ],
)  # fmt: skip
def test_a_node_gives_what_its_operator_says(
    tmp_path: Path, operator: str, attributes: dict[str, Any], expected: Any
):
    if expected is None:
        raised = np.exp(X / 2)
        expected = raised / raised.sum(1, keepdims=True)
    got = value(tmp_path, operator, attributes, X)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("operator", "attributes", "arrays", "expected"),
    [
        ("broadcast_hypot", {}, (X, Y), np.hypot(X, Y)),
        ("_power", {}, (Y, X), Y**X),
        ("dot", {"transpose_b": "True"}, (X, Y[0]), X @ Y[0].T),
        ("batch_dot", {"transpose_a": "True"}, (X, Y), X.transpose(0, 2, 1) @ Y),
        ("take", {"axis": "1"}, (X, np.array([2, 9], "f")), X[:, [2, 2]]),
        ("pick", {"axis": "2"}, (X, np.array([[0, 1, 2], [3, 0, 1]], "f")),
         np.take_along_axis(X, np.array([[[0], [1], [2]], [[3], [0], [1]]]), 2)[..., 0]),
        ("where", {}, (np.array([1, 0], "f"), X, Y), np.stack([X[0], Y[1]])),
        ("add_n", {}, (X, Y, X), X + Y + X),
        ("Concat", {"dim": "2"}, (X, Y), np.concatenate([X, Y], 2)),
        ("one_hot", {"depth": "3", "off_value": "-1"}, (np.array([0, 2], "f"),),
         np.array([[1, -1, -1], [-1, -1, 1]])),
    ],
)  # fmt: skip
def test_a_node_of_several_inputs(
    tmp_path: Path, operator: str, attributes: dict[str, Any], arrays: Any, expected: Any
):
    got = value(tmp_path, operator, attributes, *arrays)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((0, 0, -1), (2, 3, 20)),
        ((-2,), (2, 3, 4, 5)),
        ((-3, -3), (6, 20)),
        ((-4, 1, -1, -2), (1, 2, 3, 4, 5)),
        ((0, -4, -1, 3, -2), (2, 1, 3, 4, 5)),
        ((0, -3, -2), (2, 12, 5)),
    ],
)
def test_the_codes_of_reshape(wanted: tuple[int, ...], expected: tuple[int, ...]):
    assert reshaped((2, 3, 4, 5), wanted) == expected


def test_an_unknown_operator_is_refused_by_name(tmp_path: Path):
    with pytest.raises(UnsupportedError, match=r"_contrib_Proposal of the node 'node'"):
        value(tmp_path, "_contrib_Proposal", {}, X)


def test_most_operators_of_networks_are_there():
    assert len(OPERATORS) > 150
