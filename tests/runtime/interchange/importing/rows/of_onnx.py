"""Nodes of ONNX: guessed ones by its reference, and those of the standard's own cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.onnx.operators.node import OperatorNode
from gradwire.runtime.interchange.importing.onnx.rules import RULES
from tests.interchange import onnx as suite
from tests.runtime.interchange.importing.rows.comparing import (
    ARRAYS,
    Case,
    Found,
    Given,
    Refused,
    by_row,
    flat,
    pick,
    random,
)

ROWS = sorted(RULES)
UNREACHED: dict[str, str] = {}
"""Why rows are reached by no call."""
_VALUES = ("matrix", "matrix", "other", "shares", "cube", "cube", "four", "whole", "truth",
           "image", "deep", "ones", "equal", "single", "int32", "square", "double")  # fmt: skip
_PARAMETERS = ("four", "positive", "positive too", "three", "rising")
_NUMBERS: dict[str, Any] = {
    "[0]": np.array([0]), "[1]": np.array([1]), "[-1]": np.array([-1]), "[0, 1]": np.array([0, 1]),
    "[2, 6]": np.array([2, 6]), "[0, -1]": np.array([0, -1]), "[4, 3]": np.array([4, 3]),
    "[2, 3, 4]": np.array([2, 3, 4]), "1": np.int64(1), "2": np.int64(2), "[]": np.zeros(0, "i8"),
    "[1, 0, 0, 2]": np.array([1, 0, 0, 2]), "[0, 1, -1, 0]": np.array([0, 1, -1, 0]),
    "[1, 1]": np.array([1, 1]), "0.5": np.float32(0.5), "[2, -1]": np.array([2, -1]),
    "[0, 1, 0, 1, 0, 2]": np.array([0, 1, 0, 1, 0, 2]), "[1, 2, 3, 1]": np.array([1, 2, 3, 1]),
}  # fmt: skip
"""Lengths, axes and the like, which are constants."""
_ATTRIBUTES: dict[str, Sequence[Any]] = {
    "axis": (0, 1, -1, 2), "axes": ([0], [1], [0, 1], [-1], [0, 2, 3]), "keepdims": (0, 1),
    "noop_with_empty_axes": (0, 1), "perm": ([1, 0], [0, 2, 1], [2, 0, 1]), "largest": (0, 1),
    "select_last_index": (0, 1), "reverse": (0, 1), "exclusive": (0, 1), "epsilon": (1e-3, 1e-5),
    "num_groups": (1, 2, 4), "size": (3, 1), "alpha": (0.01, 0.5), "beta": (0.5,), "p": (1, 2),
    "mode": ("constant", "reflect", "edge", "wrap", "DCR", "CRD"), "allowzero": (0, 1),
    "start": (0, 1, -1), "end": (1, 2, -1), "blocksize": (2,), "time_axis": (0, 1),
    "batch_axis": (0, 1), "upper": (0, 1), "num_outputs": (2, 3), "batch_dims": (0, 1),
    "reduction": ("none", "add", "mul", "max", "min", "mean", "sum"), "to": (1, 7, 9, 11),
    "dtype": (1, 7, 11), "sorted": (1,), "equation": ("ij,ij->i", "ij->j"), "fmod": (0, 1),
    "direction": ("LEFT", "RIGHT"), "kernel_shape": ([2, 2], [3, 2]), "strides": ([1, 2], [2, 2]),
    "pads": ([1, 0, 0, 1], [0, 0, 0, 0]), "ceil_mode": (0, 1), "count_include_pad": (0, 1),
    "transA": (0, 1), "transB": (0, 1), "gamma": (2.0,), "lambd": (0.3,), "bias": (0.5,),
    "approximate": ("none", "tanh"), "ignore_index": (1,),
}  # fmt: skip


_WRONG = {
    "Div": "it divides whole numbers by 0",
    "GlobalMaxPool": "it takes axes away from signals",
    "LRN": "it mixes up examples and channels",
    "LpNormalization": "it adds up numbers with their signs",
    "ReduceSumSquare": "it makes int32 int64",
}
"""Operators whose guessed nodes the reference itself gets wrong."""


class Written(NamedTuple):
    """A node with what it gives; None for what the reference gives, in the domain for learning."""

    inputs: Sequence[Any]
    attributes: Mapping[str, Any]
    expected: Any
    outputs: int = 1
    drawn: bool = False


_A, _B = ARRAYS["matrix"], ARRAYS["other"]
_LINEAR = {"coefficients": [0.5, -1.0, 2.0, 1.5, 1.0, 0.0, -2.0, 1.0], "intercepts": [0.5, -1.0]}
_IMAGE = ARRAYS["image"]
WRITTEN: dict[str, list[Written]] = {
    "SequenceEmpty": [Written([], {}, [])],
    "SequenceConstruct": [Written(["matrix", "other"], {}, [_A, _B])],
    "SequenceAt": [Written([["matrix", "other"], np.array(at)], {}, _B) for at in (1, -1)],
    "SequenceErase": [Written([["matrix", "other"], np.array(0)], {}, [_B]),
                      Written([["matrix", "other"]], {}, [_A])],
    "SequenceLength": [Written([["matrix", "other"]], {}, np.int64(2))],
    "ConcatFromSequence": [
        Written([["matrix", "other"]], {"axis": 1}, np.concatenate([_A, _B], 1)),
        Written([["matrix", "other"]], {"axis": -1, "new_axis": 1}, np.stack([_A, _B], -1)),
    ],
    "Optional": [Written(["matrix"], {}, _A)],
    "Normalizer": [Written(["matrix"], {"norm": norm}, None) for norm in ("MAX", "L1", "L2")],
    "Scaler": [Written(["matrix"], {"offset": [1.0, 0, 2, 3], "scale": [2.0, 1, 1, 0.5]}, None)],
    "Imputer": [Written(["equal"], {"imputed_value_floats": [7.0, 8, 9, 6],
                                    "replaced_value_float": 0.0}, None)],
    "LinearRegressor": [Written(["matrix"], {**_LINEAR, "targets": 2}, None)],
    "LinearClassifier": [Written(["matrix"], {**_LINEAR, "classlabels_ints": [4, 7],
                                              "post_transform": "SOFTMAX"}, None, 2)],
    "OneHotEncoder": [Written(["order"], {"cats_int64s": [0, 2, 5]}, None)],
    "FeatureVectorizer": [
        Written(["matrix", "other"], {}, np.concatenate([_A, _B], 1))
    ],
    "ZipMap": [Written(["matrix"], {}, _A)],
    "GlobalLpPool": [Written(["image"], {"p": p}, (np.abs(_IMAGE) ** p).sum((2, 3), keepdims=True)
                             ** (1 / p)) for p in (1, 2, 3)],
    "SimplifiedLayerNormalization": [
        Written(["matrix", "rising"], {"epsilon": 1e-5}, _A / np.sqrt(
            (_A**2).mean(-1, keepdims=True) + 1e-5
        ) * ARRAYS["rising"]),
    ],
    "BitCast": [Written([_A.copy()], {"to": 6}, _A.view(np.int32))],
    **{name: [Written([], {"shape": [2, 3], "dtype": 1}, np.zeros((2, 3), "f4"), drawn=True)]
       for name in ("RandomNormal", "RandomUniform")},
    **{name: [Written(["matrix"], {}, np.zeros((3, 4), "f4"), drawn=True)]
       for name in ("RandomNormalLike", "RandomUniformLike")},
}  # fmt: skip
"""Nodes that the standard has no case of."""


def cases(row: str, count: int) -> Iterator[Case]:
    """The cases of the standard for an operator, and guessed nodes."""
    for case in _standard().get(row, ()):
        near = max(case.rtol, 1e-4)
        yield Case(case.name, partial(_run, case), partial(_recorded, case), tolerance=near)
    for number, written in enumerate(WRITTEN.get(row, ())):
        yield _written(row, number, written)
    for number in range(count if onnx.defs.has(row) and row not in _WRONG else 0):
        yield _guess(row, number)


@cache
def _standard() -> Mapping[str, list[suite.Case]]:
    """The cases of the standard by the operators in them; each is of one."""
    found: dict[str, list[suite.Case]] = defaultdict(list)
    for case in suite.node_cases():
        for operator in {node.op_type for node in case.model.graph.node}:
            found[operator].append(case)
    return found


def _run(case: suite.Case) -> Found:
    try:
        imported = suite.imported_case(case)
        ports = list(imported.outputs.values())
        values = Session(imported.diagram, fast=False).run(ports=ports).values
    except GradwireError as error:
        raise Refused(str(error)) from error
    drawn = any(remark.kind == "lost" for remark in imported.remarks)
    return Found([None if drawn else np.asarray(values[port]) for port in ports], {})


def _recorded(case: suite.Case, found: Found) -> Found:
    outputs = [x for y in case.outputs for x in (y if isinstance(y, list) else [y])]
    arrays = [np.asarray(x) for x in outputs]
    if found.values and found.values[0] is None:
        arrays = arrays[: len(found.values)]
    return Found(arrays, {})


def _guess(row: str, number: int) -> Case:
    draw = random("onnx", row, number)
    given, schema = Given(draw), onnx.defs.get_schema(row)
    arrays: list[NDArray[Any] | None] = []
    inputs: list[Any] = []
    shown: list[Any] = []
    least, most = schema.min_input, min(schema.max_input, 5)
    for place in range(int(draw.integers(least, max(least, most) + 1))):
        chance = draw.random() if place else 1.0
        if chance < 0.08 and place >= least:
            arrays.append(None)
            inputs.append(None)
            shown.append(None)
            continue
        several = _NUMBERS if chance < 0.5 else _PARAMETERS if chance < 0.7 else _VALUES
        name = pick(draw, list(several))
        arrays.append(np.asarray(_NUMBERS[name] if name in _NUMBERS else ARRAYS[name]))
        inputs.append(given.stage.constant(_NUMBERS[name]) if name in _NUMBERS else given(name))
        shown.append(name)
    attributes = {
        name: value
        for name in schema.attributes
        if name in _ATTRIBUTES and draw.random() < 0.5
        for value in [_fitting(schema.attributes[name].type.name, pick(draw, _ATTRIBUTES[name]))]
        if value is not None
    }
    several = int(draw.integers(1, max(schema.min_output, 1) + 1))
    outputs = [f"y{i}" for i in range(attributes.get("num_outputs", several))]
    opset = max(int(pick(draw, [13, 18, 21])), schema.since_version)
    graphs = SimpleNamespace(array=numpy_helper.to_array)
    made = {name: helper.make_attribute(name, value) for name, value in attributes.items()}
    # Of the graphs a guessed node asks for arrays alone.
    node = OperatorNode(row, given.stage, graphs, inputs, made, outputs, opset, False, "node")  # type: ignore[arg-type]  # as above

    def put_up() -> Any:
        found = RULES[row](node)
        if found is NotImplemented:
            raise Refused("by the operator's body in the standard")
        results = found if isinstance(found, tuple) else (found,)
        return list(results[: len(outputs)])

    return Case(
        f"{shown} {attributes} opset {opset}",
        lambda: by_row(given, put_up, slopes=False, known=not row.startswith("Random")),
        lambda _: _by_reference(row, arrays, attributes, outputs, opset),
        drawn=row.startswith("Random"),
    )


def _written(row: str, number: int, written: Written) -> Case:
    given = Given(random("onnx", row, number))

    def put(x: Any) -> Any:
        return [put(each) for each in x] if isinstance(x, list) else _input(given, x)

    inputs = [put(x) for x in written.inputs]
    made = {name: helper.make_attribute(name, x) for name, x in written.attributes.items()}
    graphs: Any = SimpleNamespace(array=numpy_helper.to_array)
    outputs = [f"y{i}" for i in range(written.outputs)]
    node = OperatorNode(row, given.stage, graphs, inputs, made, outputs, 21, False, "node")

    def put_up() -> Any:
        found: Any = RULES[row](node)
        return list(found)[: written.outputs] if isinstance(found, tuple) else found

    def wanted(_: Found) -> Found:
        if written.expected is None:
            arrays = [given.arrays[id(x)] for x in inputs]
            return _by_reference(row, arrays, written.attributes, outputs, 3, domain="ai.onnx.ml")
        return Found([np.asarray(y) for y in flat(written.expected)], {})

    return Case(
        f"{written.inputs} {written.attributes}",
        lambda: by_row(given, put_up, slopes=False, known=not written.drawn),
        wanted,
        drawn=written.drawn,
    )


def _input(given: Given, x: Any) -> Any:
    return given(x) if isinstance(x, str) else given.of(x, f"x{len(given.arrays)}", constant=True)


def _fitting(kind: str, value: Any) -> Any:
    """A value as an attribute of a kind; None where it is of another."""
    if kind in ("INT", "INTS"):
        several = value if isinstance(value, list) else [value]
        whole = all(isinstance(x, int) for x in several)
        return (several if kind == "INTS" else several[0]) if whole else None
    fits = {"FLOAT": float, "STRING": str}.get(kind, tuple)
    return value if isinstance(value, fits) else None


def _by_reference(
    row: str,
    arrays: Sequence[NDArray[Any] | None],
    attributes: Mapping[str, Any],
    outputs: Sequence[str],
    opset: int,
    domain: str = "",
) -> Found:
    names = ["" if x is None else f"x{i}" for i, x in enumerate(arrays)]
    given = {name: x for name, x in zip(names, arrays, strict=True) if x is not None}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in given.items()
    ]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    node = helper.make_node(row, names, list(outputs), domain=domain, **attributes)
    graph = helper.make_graph([node], "g", inputs, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)])
    try:
        onnx.shape_inference.infer_shapes(model, True, True)  # it checks what the reference doesn't
        found = ReferenceEvaluator(model).run(None, given)
    except Exception as error:  # the reference raises what NumPy does, and more
        raise Refused(str(error)) from error
    return Found([np.asarray(y) for y in flat(found)], {})
