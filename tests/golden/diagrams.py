"""Cases of the golden schema as diagrams: every op is one library block under the same name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradwire.blocks.values import Tensor
from gradwire.runtime.build import Expression, block, build, constant, variable

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

OPS: Mapping[str, str] = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "neg": "Neg",
    "exp": "Exp",
    "log": "Log",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "relu": "Relu",
    "softplus": "Softplus",
    "square": "Square",
    "sqrt": "Sqrt",
    "round": "Round",
    "sign": "Sign",
    "matmul": "MatMul",
    "sum": "Sum",
    "mean": "Mean",
    "max": "Max",
    "logsumexp": "LogSumExp",
    "softmax": "Softmax",
    "log_softmax": "LogSoftmax",
    "reshape": "Reshape",
    "transpose": "Transpose",
    "concat": "Concat",
    "slice": "Slice",
    "gather": "Gather",
    "clip": "Clip",
    "greater": "Greater",
    "less": "Less",
    "argmax": "ArgMax",
    "argmin": "ArgMin",
    "one_hot": "OneHot",
    "cast": "Cast",
    "where": "Where",
    "stop_gradient": "StopGradient",
    "make_loss": "Loss",
    "gradient": "Gradient",
}
"""The block of each op; inputs come in the order of its ports, parameters have its names."""

DEFAULTS: Mapping[str, Mapping[str, Any]] = {"clip": {"min": None, "max": None}}
"""Parameters whose default is the schema's, not the block's."""

RENAMED: Mapping[str, Mapping[str, str]] = {
    "make_loss": {"grad_scale": "scale", "valid_thresh": "threshold"},
}
"""Parameters that the block calls otherwise."""


def diagram_of(case: Mapping[str, Any]) -> Diagram:
    """The diagram of a case; raises ValueError or GradwireError for one that makes none."""
    dtype = case.get("dtype") or "float64"
    made: dict[str, Expression] = {}
    for name, given in (case.get("variables") or {}).items():
        value = Tensor(given["value"])
        made[name] = variable(name, value, dtype=given.get("dtype") or dtype)
    for name, given in (case.get("constants") or {}).items():
        made[name] = _constant(name, given, dtype)
    for node in case.get("nodes") or ():
        if node["name"] in made:
            raise ValueError(f"two nodes are called {node['name']!r}")
        made[node["name"]] = _node(node, made, dtype)
    return build(*made.values(), title=case.get("title") or "")


def out(name: str) -> str:
    """The output port of the block of a variable, constant or node."""
    return f"{name}.out"


def _constant(name: str, given: Mapping[str, Any], dtype: str) -> Expression:
    """Booleans and integers as they are, other numbers in the case's dtype."""
    value = Tensor(given["value"])
    kept = value.dtype if value.array.dtype.kind in "biu" else dtype
    return constant(name, value, dtype=given.get("dtype") or kept)


def _node(node: Mapping[str, Any], made: Mapping[str, Expression], dtype: str) -> Expression:
    name, op = node["name"], node["op"]
    if op not in OPS:
        raise ValueError(f"node {name!r}: there is no op {op!r}")
    unknown = [source for source in node["inputs"] if source not in made]
    if unknown:
        raise ValueError(f"node {name!r} reads {unknown[0]!r}, which does not come before it")
    inputs = [made[source] for source in node["inputs"]]
    parameters = _parameters(op, node.get("params") or {})
    if op == "one_hot":
        parameters = {"dtype": dtype} | parameters
    return block(OPS[op], *inputs, name=name, **parameters)


def _parameters(op: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The block's parameters; one that is null or missing takes its default."""
    names = RENAMED.get(op, {})
    told = {names.get(key, key): value for key, value in given.items() if value is not None}
    return {**DEFAULTS.get(op, {}), **told}
