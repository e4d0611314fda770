"""Nodes of an ONNX graph or function as plain data: nothing here needs the onnx package."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.values import DTYPES

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value

Attribute: TypeAlias = "int | float | str | Sequence[int] | Array | LoopBody"

BLOCK, STOP, SURROGATE, CLIP, LOSS = (
    f"gradwire.{key}" for key in ("block", "stop_gradient", "surrogate", "clip_gradient", "loss")
)
"""Keys of the metadata of nodes."""


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """One call of an operator, or of a function of another domain."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    domain: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for nodes that are alike."""
        attributes = tuple((name, _plain(value)) for name, value in self.attributes.items())
        metadata = tuple(self.metadata.items())
        return self.op, self.inputs, self.outputs, attributes, self.domain, metadata

    def renamed(self, names: Mapping[str, str]) -> OnnxNode:
        """The same with other names of values."""
        metadata = dict(self.metadata)
        if SURROGATE in metadata:
            metadata[SURROGATE] = names.get(metadata[SURROGATE], metadata[SURROGATE])
        inputs = tuple(names.get(name, name) for name in self.inputs)
        outputs = tuple(names.get(name, name) for name in self.outputs)
        attributes = {
            key: x.renamed(names) if isinstance(x, LoopBody) else x
            for key, x in self.attributes.items()
        }
        return replace(
            self, inputs=inputs, outputs=outputs, attributes=attributes, metadata=metadata
        )

    def reads(self) -> Iterator[str]:
        """The names that it may read, those within a step of a loop among them."""
        yield from (*self.inputs, *self.metadata.values())
        for attribute in self.attributes.values():
            if isinstance(attribute, LoopBody):
                for node in attribute.nodes:
                    yield from node.reads()
                yield from attribute.outputs


@dataclass(frozen=True, eq=False)
class LoopBody:
    """What a loop computes in each step: a graph, which may read what is outside by its name.

    ``inputs`` and ``outputs`` have a value of the dtype and shape that each has.
    """

    inputs: Mapping[str, Value]
    outputs: Mapping[str, Value]
    nodes: tuple[OnnxNode, ...]

    def renamed(self, names: Mapping[str, str]) -> LoopBody:
        """The same with other names of values from outside."""
        return replace(self, nodes=tuple(node.renamed(names) for node in self.nodes))

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for steps that are alike."""
        return tuple(self.inputs), tuple(self.outputs), tuple(node.key for node in self.nodes)


def _plain(value: Attribute) -> object:
    if isinstance(value, LoopBody):
        return value.key
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value if isinstance(value, int | float | str) else tuple(value)


class NodeList:
    """The nodes of a graph or function, in order; every value in it has a name of its own."""

    def __init__(self, taken: Sequence[str] = ()) -> None:
        self.nodes: list[OnnxNode] = []
        self._names = {"", *taken}
        self._constants: dict[object, str] = {}

    def inside(self) -> NodeList:
        """A body for the steps of a loop in this one: no name is in both."""
        found = NodeList()
        found._names = self._names
        return found

    def fresh(self, stem: str) -> str:
        """A name like ``stem`` that nothing else has."""
        name, number = stem, 1
        while name in self._names:
            number += 1
            name = f"{stem}_{number}"
        self._names.add(name)
        return name

    def node(self, op: str, *inputs: str, **attributes: Attribute) -> str:
        """The output of a new node."""
        name = self.fresh(op.lower())
        self.nodes.append(OnnxNode(op, inputs, (name,), attributes))
        return name

    def several(
        self, op: str, count: int, *inputs: str, **attributes: Attribute
    ) -> tuple[str, ...]:
        """The outputs of a new node that has several."""
        names = tuple(self.fresh(op.lower()) for _ in range(count))
        self.nodes.append(OnnxNode(op, inputs, names, attributes))
        return names

    def copy(self, name: str, output: str) -> None:
        """``name`` again, as an output of the graph."""
        self.nodes.append(OnnxNode("Identity", (name,), (output,)))

    def constant(self, array: Array) -> str:
        """An array that is known; the same one is there once."""
        key = _plain(array)
        if key not in self._constants:
            name = self.fresh("constant")
            self.nodes.append(OnnxNode("Constant", (), (name,), {"value": array}))
            self._constants[key] = name
        return self._constants[key]

    def integers(self, *numbers: int) -> str:
        """A list of integers, which operators take as axes, shapes or places."""
        return self.constant(np.array(numbers, np.int64))

    def number(self, number: float, dtype: str) -> str:
        """A number of a dtype."""
        return self.constant(np.array(number).astype(dtype))

    def cast(self, x: str, dtype: str) -> str:
        """``x`` in another dtype."""
        return self.node("Cast", x, to=dtype)

    def named(self, output: str, name: str, metadata: Mapping[str, str]) -> str:
        """The output of the last node by another name; it gets what is known about it."""
        last = self.nodes[-1]
        if last.outputs != (output,):
            return output
        self._names.discard(output)
        metadata = {**last.metadata, **metadata}
        self.nodes[-1] = replace(last, outputs=(self.fresh(name),), metadata=metadata)
        return self.nodes[-1].outputs[0]

    def rename(self, names: Mapping[str, str]) -> None:
        """Call values otherwise, wherever they are written and read."""
        self.nodes = [node.renamed(names) for node in self.nodes]

    def remark(self, key: str, text: str) -> None:
        """Say something about the last node in its metadata."""
        last = self.nodes[-1]
        self.nodes[-1] = replace(last, metadata={**last.metadata, key: text})


Write: TypeAlias = Callable[[NodeList, "Value", Sequence[str]], str]
"""Writes a value with the names of its inputs, and gives its own."""


@cache
def spelled(text: str) -> Write:
    """The row of a primitive that is spelled as operators; numbers, also those of attributes, are
    of the value's dtype, or where that is bool, of the first input's.

    Lines before the last one give names to what is read more than once. The names of dtypes cast,
    and ``dtype`` to that of the value; other names are attributes of the value, and its ``shape``,
    which are int64 where they are lists.
    """
    lines = ast.parse(dedent(text)).body

    def write(body: NodeList, value: Value, operands: Sequence[str]) -> str:
        known = dict(zip("abc", operands, strict=False))
        own = value.inputs[0].dtype if value.dtype == "bool" else value.dtype

        def number(part: ast.expr, dtype: str) -> str:
            if not isinstance(part, ast.Name):
                return body.number(ast.literal_eval(part), dtype)
            given = value.shape if part.id == "shape" else value.attributes[part.id]
            if isinstance(given, int | float):
                return body.number(given, dtype)
            return body.constant(np.array(given, np.int64))

        def name(part: ast.expr) -> str:
            if isinstance(part, ast.Name) and part.id in known:
                return known[part.id]
            if not isinstance(part, ast.Call):
                return number(part, own)
            op = ast.unparse(part.func)
            if op in DTYPES and isinstance(part.args[0], ast.Name) and part.args[0].id not in known:
                return number(part.args[0], op)
            inputs = [*map(name, part.args)]
            if op in (*DTYPES, "dtype"):
                return body.cast(inputs[0], value.dtype if op == "dtype" else op)
            more = {
                str(key.arg): value.attributes[key.value.id]
                if isinstance(key.value, ast.Name)
                else ast.literal_eval(key.value)
                for key in part.keywords
            }
            return body.node(op, *inputs, **more)

        for line in lines:
            match line:
                case ast.Assign([ast.Name(key)], part):
                    known[key] = name(part)
                case ast.Expr(part):
                    found = name(part)
        return found

    return write


def chosen(choose: Callable[[Value], str]) -> Write:
    """A row whose spelling depends on the value."""
    return lambda body, value, operands: spelled(choose(value))(body, value, operands)


Rows: TypeAlias = Mapping[str, Write]


@dataclass(frozen=True)
class Function:
    """What the use of a page, or a large block, is: a function that the model defines."""

    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[OnnxNode, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for functions that are alike but for their names."""
        return self.domain, self.inputs, self.outputs, tuple(node.key for node in self.nodes)
