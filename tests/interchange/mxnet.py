"""MXNet: symbols that its executors ran, with the numbers that they logged."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.mxnet.importer import import_mxnet
from tests.interchange.rows import Row

LOGS = Path(__file__).parents[1] / "golden" / "data" / "mxnet_executor.json"
STOPPED_HERE = "stop_after_makeloss_does_not_stop"


def rows() -> Iterator[Row]:
    """A row for each log with a backward pass from its losses."""
    document = json.loads(LOGS.read_text(encoding="utf-8"))
    for case in document["cases"]:
        entry = next(entry for entry in case["log"] if entry["do"] == "backward")
        plain = case["grad_req"] in ("write", "add") and not case["prefilled_grads"]
        if plain and "grad_dict" in entry and case["id"] != STOPPED_HERE:
            yield _row(case, entry["grad_dict"])


def _row(case: Mapping[str, Any], expected: Mapping[str, Any]) -> Row:
    values = {name: np.asarray(value, np.float32) for name, value in case["values"].items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net-symbol.json"
        path.write_text(json.dumps(case["symbol"]), encoding="utf-8")
        session = Session(import_mxnet(path, arrays=values).diagram)
    gradients = session.backward(unconnected="zero").gradients
    worst = max(float(np.max(np.abs(gradients[name] - array))) for name, array in expected.items())
    return Row(case["id"], worst <= 1e-7, f"gradients within {worst:.1g}")
