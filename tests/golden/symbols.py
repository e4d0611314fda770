"""MXNet symbols as diagrams: every node is a block under its own name, float32."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.runtime.build import Expression, block, build, variable

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

LOSSES = frozenset({"MakeLoss", "make_loss"})
STOPS = frozenset({"BlockGrad", "stop_gradient"})


@dataclass(frozen=True)
class Symbol:
    """The graph of MXNet's symbol JSON: nodes in topological order, and the heads among them."""

    nodes: Sequence[Mapping[str, Any]]
    heads: tuple[str, ...]

    @classmethod
    def parse(cls, symbol: Mapping[str, Any] | str) -> Symbol:
        """Read symbol JSON, as text or parsed."""
        read = json.loads(symbol) if isinstance(symbol, str) else symbol
        nodes = read["nodes"]
        return cls(nodes, tuple(nodes[head[0]]["name"] for head in read["heads"]))

    def inputs(self, node: Mapping[str, Any]) -> list[str]:
        """The names of the nodes that a node reads."""
        return [self.nodes[source[0]]["name"] for source in node["inputs"]]

    @property
    def stopped_heads(self) -> list[str]:
        """Heads that are stops: probes, read and never differentiated."""
        ops = {node["name"]: node["op"] for node in self.nodes}
        return [head for head in self.heads if ops[head] in STOPS]

    @property
    def stopped_losses(self) -> list[str]:
        """Loss heads that reach the symbol's heads through stops alone."""
        reaching = set(self.heads)
        for node in reversed(self.nodes):
            if node["name"] in reaching and node["op"] not in STOPS:
                reaching.update(self.inputs(node))
        return [n["name"] for n in self.nodes if n["op"] in LOSSES and n["name"] not in reaching]

    def diagram(self) -> Diagram:
        """The diagram: variables of open shape, and a block for every operator.

        Raises ValueError or GradwireError for an operator that no block stands for.
        """
        made: dict[str, Expression] = {}
        for node in self.nodes:
            name, op = node["name"], node["op"]
            if name in made:
                raise ValueError(f"two nodes are called {name!r}")
            if op != "null" and op not in OPERATORS:
                raise ValueError(f"node {name!r}: there is no block for MXNet's {op}")
            attributes = {key: _parsed(text) for key, text in (node.get("attrs") or {}).items()}
            inputs = [made[source] for source in self.inputs(node)]
            made[name] = (
                variable(name) if op == "null" else OPERATORS[op](inputs, attributes).named(name)
            )
        return build(*made.values())


def _parsed(text: Any) -> Any:
    """An attribute, which MXNet writes as text; a word stays one."""
    try:
        return ast.literal_eval(text) if isinstance(text, str) else text
    except (ValueError, SyntaxError):
        return text


Inputs: TypeAlias = Sequence[Expression]
Attributes: TypeAlias = Mapping[str, Any]
Operator: TypeAlias = Callable[[Inputs, Attributes], Expression]


def _operator(kind: str, **names: str) -> Operator:
    """One block; the attributes named become its parameters, under its own names."""
    return lambda inputs, attributes: block(
        kind,
        *inputs,
        **{ours: attributes[theirs] for theirs, ours in names.items() if theirs in attributes},
    )


def _with_scalar(kind: str) -> Operator:
    return lambda inputs, attributes: block(kind, *inputs, attributes["scalar"])


def _of_scalar(kind: str) -> Operator:
    return lambda inputs, attributes: block(kind, attributes["scalar"], *inputs)


def _reduction(kind: str) -> Operator:
    """MXNet has no rank 0: what is reduced to one number has the shape (1,) there."""

    def reduce(inputs: Inputs, attributes: Attributes) -> Expression:
        axis, keepdims = attributes.get("axis") or None, bool(attributes.get("keepdims"))
        reduced = block(kind, *inputs, axis=axis, keepdims=keepdims)
        return reduced if keepdims or axis is not None else block("Reshape", reduced, shape=(1,))

    return reduce


def _loss(inputs: Inputs, attributes: Attributes) -> Expression:
    names = {"grad_scale": "scale", "normalization": "normalization", "valid_thresh": "threshold"}
    given = {names[key]: value for key, value in attributes.items() if value != "null"}
    return block("Loss", *inputs, **given)


def _activation(inputs: Inputs, attributes: Attributes) -> Expression:
    return OPERATORS[attributes["act_type"]](inputs, {})


_ARITHMETIC: Mapping[str, str] = {
    "add": "Add",
    "plus": "Add",
    "sub": "Sub",
    "minus": "Sub",
    "mul": "Mul",
    "div": "Div",
    "power": "Pow",
    "maximum": "Maximum",
    "minimum": "Minimum",
}

OPERATORS: Mapping[str, Operator] = {
    **{
        f"{prefix}{name}": _operator(kind)
        for name, kind in _ARITHMETIC.items()
        for prefix in ("elemwise_", "broadcast_", "_")
    },
    **{f"_{name}_scalar": _with_scalar(kind) for name, kind in _ARITHMETIC.items()},
    "_rminus_scalar": _of_scalar("Sub"),
    "_rdiv_scalar": _of_scalar("Div"),
    "_rpower_scalar": _of_scalar("Pow"),
    "BlockGrad": _operator("StopGradient"),
    "stop_gradient": _operator("StopGradient"),
    "MakeLoss": _loss,
    "make_loss": _loss,
    "_copy": _operator("Display"),
    "identity": _operator("Display"),
    "negative": _operator("Neg"),
    "abs": _operator("Abs"),
    "sign": _operator("Sign"),
    "round": _operator("Round"),
    "floor": _operator("Floor"),
    "ceil": _operator("Ceil"),
    "exp": _operator("Exp"),
    "log": _operator("Log"),
    "sqrt": _operator("Sqrt"),
    "square": _operator("Square"),
    "sin": _operator("Sin"),
    "cos": _operator("Cos"),
    "clip": _operator("Clip", a_min="min", a_max="max"),
    "relu": _operator("Relu"),
    "sigmoid": _operator("Sigmoid"),
    "softrelu": _operator("Softplus"),
    "tanh": _operator("Tanh"),
    "Activation": _activation,
    "softmax": _operator("Softmax", axis="axis"),
    "log_softmax": _operator("LogSoftmax", axis="axis"),
    "dot": _operator("MatMul"),
    "FullyConnected": _operator("Linear", num_hidden="units"),
    "Concat": _operator("Concat", dim="axis"),
    "Flatten": _operator("Flatten"),
    "Reshape": _operator("Reshape", shape="shape"),
    "reshape": _operator("Reshape", shape="shape"),
    "transpose": _operator("Transpose", axes="perm"),
    "sum": _reduction("Sum"),
    "mean": _reduction("Mean"),
    "max": _reduction("Max"),
    "min": _reduction("Min"),
}
"""MXNet's operators by name, and the expressions that stand for them."""
