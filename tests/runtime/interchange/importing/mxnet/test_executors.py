"""Symbols that MXNet's executors ran: outputs and gradients are theirs, to the last bit or so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.runtime.diagram import check, dumps, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.mxnet.importer import import_mxnet
from tests.runtime.interchange.importing.mxnet.symbols import save

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

GOLDEN = Path(__file__).parents[4] / "golden" / "data" / "mxnet_executor.json"
DOCUMENT = json.loads(GOLDEN.read_text(encoding="utf-8"))
CASES = {case["id"]: case for case in DOCUMENT["cases"]}
DIFFERS = {"stop_after_makeloss_does_not_stop"}
"""A stop behind a loss stops it here, and fails to there."""


def imported(case: dict[str, Any], folder: Path) -> Imported:
    values = {name: np.asarray(value, np.float32) for name, value in case["values"].items()}
    return import_mxnet(save(folder, case["symbol"]), arrays=values)


def backward(case: dict[str, Any]) -> dict[str, Any]:
    """What the first backward of a log gave; empty where it is about the buffers of gradients."""
    buffers = case["prefilled_grads"] or case["grad_req"] not in ("write", "add")
    if buffers or case["id"] in DIFFERS:
        return {}
    entry = next(entry for entry in case["log"] if entry["do"] == "backward")
    found: dict[str, Any] = entry.get("grad_dict", {})
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_outputs_are_those_of_the_executor(name: str, tmp_path: Path):
    case = CASES[name]
    made = imported(case, tmp_path)
    assert not check(made.diagram)
    values = Session(loads(dumps(made.diagram))).run().values
    wanted = next(entry["outputs"] for entry in case["log"] if entry["do"] == "forward")
    heads = [head.removesuffix("_output") for head in case["list_outputs"]]
    for head, expected in zip(heads, wanted, strict=True):
        port = made.outputs.get(head) or made.outputs[f"{head}_output"]
        got = np.broadcast_to(values[port], np.shape(expected))
        np.testing.assert_array_equal(got, np.asarray(expected, np.float32))


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if backward(case)])
def test_the_gradients_are_those_of_the_executor(name: str, tmp_path: Path):
    diagram = imported(CASES[name], tmp_path).diagram
    gradients = Session(diagram).backward(unconnected="zero").gradients
    for variable, expected in backward(CASES[name]).items():
        np.testing.assert_allclose(gradients[variable], expected, rtol=1e-7)


def test_the_stopped_variable_has_no_gradient_and_the_stop_is_remarked(tmp_path: Path):
    made = imported(CASES["mx_seed_example"], tmp_path)
    assert Session(made.diagram).backward().gradients["b"] is None
    (remark,) = made.remarks
    assert (remark.kind, remark.block) == ("cut", "stop_gradient0")
    assert list(made.parameters) == ["b", "a"]


def test_shapes_go_back_through_what_keeps_them(tmp_path: Path):
    case = CASES["mx_seed_example"]
    made = import_mxnet(save(tmp_path, case["symbol"]), arrays={"a": np.ones((1, 2), np.float32)})
    assert made.diagram.main.blocks["b"].open_shape == (1, 2)


def test_without_any_shape_elementwise_symbols_are_of_scalars(tmp_path: Path):
    made = import_mxnet(save(tmp_path, DOCUMENT["seed_symbol_json"]))
    assert Session(made.diagram).backward().gradients["a"].shape == ()
    assert any(r.kind == "specialised" and "'b'" in r.text for r in made.remarks)
