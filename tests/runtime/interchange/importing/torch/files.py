"""Exported programs written by hand, so that tests need no torch and can damage them."""

from __future__ import annotations

import copy
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

WEIGHT = np.array([1.0, 2.0, 3.0], np.float32)


def tensor(name: str) -> dict[str, Any]:
    return {"as_tensor": {"name": name}}


def meta(shape: tuple[int, ...], dtype: int = 7, trained: bool = False) -> dict[str, Any]:
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    return {
        "dtype": dtype,
        "sizes": [{"as_int": n} for n in shape],
        "requires_grad": trained,
        "device": {"type": "cpu", "index": None},
        "strides": [{"as_int": n} for n in strides],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def node(target: str, inputs: list[Any], *outputs: str, line: int = 7) -> dict[str, Any]:
    trace = f'File "/home/me/model.py", line {line}, in forward\n    y = x * self.w'
    return {
        "target": f"torch.ops.aten.{target}",
        "inputs": [{"name": f"a{i}", "arg": arg, "kind": 1} for i, arg in enumerate(inputs)],
        "outputs": [tensor(name) for name in outputs],
        "metadata": {"stack_trace": trace, "nn_module_stack": "L__self__,,model.Net"},
    }


PROGRAM: dict[str, Any] = {
    "graph_module": {
        "graph": {
            "inputs": [tensor("p_w"), tensor("x")],
            "outputs": [tensor("total")],
            "nodes": [
                node("mul.Tensor", [tensor("x"), tensor("p_w")], "y"),
                node("sum.default", [tensor("y")], "total", line=8),
            ],
            "tensor_values": {"x": meta((2, 3)), "y": meta((2, 3)), "total": meta(())},
            "sym_int_values": {},
            "sym_bool_values": {},
        },
        "signature": {
            "input_specs": [
                {"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
                {"user_input": {"arg": tensor("x")}},
            ],
            "output_specs": [{"user_output": {"arg": tensor("total")}}],
        },
        "module_call_graph": [],
    },
    "opset_version": {"aten": 10},
    "range_constraints": {},
    "schema_version": {"major": 8, "minor": 20},
}
CONFIG: dict[str, Any] = {
    "config": {
        "w": {
            "path_name": "weight_0",
            "is_param": True,
            "use_pickle": False,
            "tensor_meta": meta((3,), trained=True),
        }
    }
}


def program() -> Any:
    return copy.deepcopy(PROGRAM)


def config() -> Any:
    return copy.deepcopy(CONFIG)


def write(
    path: Path,
    model: Any = PROGRAM,
    weights: Any = CONFIG,
    data: bytes = WEIGHT.tobytes(),
    **more: bytes,
) -> Path:
    """An archive of a program, a list of its weights, if any, and the numbers of the one weight."""
    texts = {
        "models/model.json": model if isinstance(model, bytes) else json.dumps(model).encode(),
        "data/weights/model_weights_config.json": json.dumps(weights).encode(),
        "data/weights/weight_0": data,
        "archive_format": b"pt2",
    }
    if weights is None:
        del texts["data/weights/model_weights_config.json"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**texts, **more}.items():
            archive.writestr(f"net/{name}", text)
    return path
