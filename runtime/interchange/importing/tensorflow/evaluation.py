"""Puts up the nodes of graphs that are needed, functions where they are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.blocks.names import snake_case
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.progress import advanced
from gradwire.runtime.interchange.importing.scopes import ModuleCall as Use
from gradwire.runtime.interchange.importing.scopes import Part, part_name
from gradwire.runtime.interchange.importing.staged import name_result
from gradwire.runtime.interchange.importing.tensorflow.call import TensorFlowCall
from gradwire.runtime.interchange.importing.tensorflow.graph import (
    MAX_NODES,
    NodeReference,
    TensorFlowGraph,
    TensorFlowNode,
)
from gradwire.runtime.interchange.importing.tensorflow.items import ChangedVariable
from gradwire.runtime.interchange.importing.tensorflow.operators.resources import change
from gradwire.runtime.interchange.importing.tensorflow.operators.table import OPERATORS

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator
    from gradwire.runtime.interchange.importing.tensorflow.items import Item
    from gradwire.runtime.interchange.importing.tensorflow.variables import TensorFlowVariables

MAX_CALLS = 64
"""Functions that call one another, at most."""
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_EFFECTS = CALLS | {"NoOp", "Identity"}
"""Nodes that run before another one if that says so, as do those that change variables; what
others do there is seen by nobody."""
_CHANGE = re.compile(
    r"Assign(Add|Sub)?|Assign(Add|Sub)?VariableOp|(Resource)?(Sparse)?Apply[A-Z]\w*"
    r"|(Resource)?(Scatter(Nd)?(Update|Add|Sub|Mul|Div|Min|Max)|StridedSliceAssign|CountUpTo)"
)
"""Operators that change variables."""
_READS = frozenset({"ReadVariableOp", "ResourceGather"})
_VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
_BRANCHES = frozenset({"If", "While", "Case"})
_CALLED = ("f", "then_branch", "else_branch", "cond", "body")
"""Attributes that name a function."""
_THROUGH = CALLS | {"NoOp", "Identity", "Const", "ReadVariableOp", "Placeholder", "VarHandleOp"}
_GENERATED = re.compile(r"^__(?:inference|forward|backward)_+|(?:_\d+)+$")
_LAYER = re.compile(r"_layer_call_|_wrapped_model")


@dataclass
class GraphFrame:
    """A graph, or one call of a function, with what its nodes gave so far."""

    graph: TensorFlowGraph
    arguments: Mapping[str, Item]
    module: tuple[Part, ...] = ()
    depth: int = 0
    prefix: tuple[str, ...] = ()
    """Scopes in the names of nodes that are not pages: those around the loop whose body it is."""
    done: dict[str, tuple[Item, ...]] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)
    """How often each function was called on this page."""


class GraphEvaluation:
    """Evaluates nodes as far as something needs them, each once in a frame."""

    def __init__(
        self,
        stage: Stage,
        functions: Mapping[str, TensorFlowGraph],
        variables: TensorFlowVariables,
        training: bool = False,
        extra: Mapping[str, Operator] | None = None,
    ) -> None:
        self._stage = stage
        self._functions = functions
        self._variables = variables
        self._training = training
        self._operators = {**OPERATORS, **(extra or {})}
        self._count = 0

    def get(self, frame: GraphFrame, references: Sequence[NodeReference]) -> tuple[Item, ...]:
        """What references name; nodes that they need are put up first."""
        for reference in references:
            if not self._is_argument(frame, reference):
                self.put_up(frame, reference.node)
        return tuple(self._item(frame, reference) for reference in references)

    def put_up(self, frame: GraphFrame, name: str) -> None:
        """Put up one node with all that it needs, for what it does."""
        pending, open_ = [name], set[str]()
        while pending:
            node = self._node(frame, pending[-1])
            if node.name in frame.done:
                pending.pop()
                continue
            before = [name for name in self._before(frame, node) if name not in frame.done]
            if not before:
                frame.done[node.name] = self._applied(frame, node)
                pending.pop()
            elif node.name in open_:
                raise FileError(f"The node {node.name!r} depends on itself.")
            else:
                open_.add(node.name)
                pending += before[::-1]

    def _before(self, frame: GraphFrame, node: TensorFlowNode) -> list[str]:
        """The nodes that must be put up before one."""
        needed = [r.node for r in self._inputs(frame, node) if not self._is_argument(frame, r)]
        nodes = frame.graph.nodes
        read = _READS if _CHANGE.fullmatch(node.operator) else frozenset()
        return needed + [
            name
            for name in node.after
            if (n := nodes.get(name)) is not None
            and (n.operator in _EFFECTS | read or self._changes(n))
        ]

    def _inputs(self, frame: GraphFrame, node: TensorFlowNode) -> Sequence[NodeReference]:
        """What a node reads; of one that changes variables as no diagram does, these alone."""
        if node.operator in self._operators or not _CHANGE.fullmatch(node.operator):
            return node.inputs
        nodes = frame.graph.nodes
        return [
            r
            for r in node.inputs
            if self._is_argument(frame, r)
            or (r.node in nodes and nodes[r.node].operator in _VARIABLES)
        ]

    def _changes(self, node: TensorFlowNode) -> bool:
        """Whether a node changes variables, or a function that it calls does."""
        if _CHANGE.fullmatch(node.operator):
            return True
        return node.operator in _BRANCHES and not self._changing.isdisjoint(_called(node))

    @cached_property
    def _changing(self) -> set[str]:
        """The functions that change variables, or call others that do."""
        callers: dict[str, set[str]] = {}
        found = set()
        for name, function in self._functions.items():
            for node in function.nodes.values():
                if _CHANGE.fullmatch(node.operator):
                    found.add(name)
                for called in _called(node):
                    callers.setdefault(called, set()).add(name)
        pending = list(found)
        while pending:
            new = callers.get(pending.pop(), set()) - found
            found |= new
            pending += new
        return found

    def _applied(self, frame: GraphFrame, node: TensorFlowNode) -> tuple[Item, ...]:
        self._count += 1
        if self._count > MAX_NODES:
            raise FileError(f"The functions of the model make more than {MAX_NODES:,} nodes.")
        advanced("nodes", self._count, len(frame.graph.nodes))
        items = tuple(self._item(frame, reference) for reference in self._inputs(frame, node))
        if node.operator in CALLS:
            return self._call(frame, node.attributes.function("f"), items, node)
        operator = self._operators.get(node.operator)
        if operator is None and _CHANGE.fullmatch(node.operator):
            operator = change
        if operator is None:
            raise UnsupportedError(f"{node.operator} of the node {node.name!r}")

        module = (*frame.module, *_behind(frame.prefix, node.path[:-1]))
        self._variables.module = tuple(map(part_name, frame.module))
        call = TensorFlowCall(
            self._stage, node, node.path[-1], items, self._variables,
            FunctionRunner(self, frame, node), self._training,
        )  # fmt: skip
        with self._stage.at(module):
            made = _guarded(operator, call)
        return made if isinstance(made, tuple) else (made,)

    def _call(
        self, frame: GraphFrame, name: str, items: tuple[Item, ...], node: TensorFlowNode
    ) -> tuple[Item, ...]:
        """Call a function on a page of its own, unless the caller does little else."""
        if all(other.operator in _THROUGH for other in frame.graph.nodes.values()):
            path: tuple[Part, ...] = ()
        elif _LAYER.search(name):
            path = node.path[:-1]
        else:
            path = self.page(frame, _GENERATED.sub("", name) or "function")
        return self.inlined(frame, name, items, path)

    def page(self, frame: GraphFrame, name: str) -> tuple[Part, ...]:
        """The path of a new use of a page with this name."""
        frame.uses[name] += 1
        return (Use(name, frame.uses[name]),)

    def function(self, name: str) -> TensorFlowGraph:
        """A function by its name; raises FileError where there is none."""
        found = self._functions.get(name)
        if found is None:
            raise FileError(f"The model has no function {name!r}.")
        return found

    def inlined(
        self,
        frame: GraphFrame,
        name: str,
        items: Sequence[Item],
        path: tuple[Part, ...],
        only: Sequence[int] | None = None,
        loop: TensorFlowNode | None = None,
    ) -> tuple[Item, ...]:
        """What a function returns, or only some of it; its nodes are put up at a path.

        ``loop`` is the loop whose body it is, on whose page they are instead.
        """
        function = self.function(name)
        if frame.depth >= MAX_CALLS:
            raise FileError(f"More than {MAX_CALLS} functions call one another.")
        if len(items) != len(function.arguments):
            raise FileError(
                f"The function {name!r} is called with other inputs than it has.",
                expected=str(len(function.arguments)),
                got=str(len(items)),
            )
        arguments = dict(zip(function.arguments, items, strict=True))
        module = () if loop else (*frame.module, *path)
        prefix = loop.path if loop else ()
        inner = GraphFrame(function, arguments, module, frame.depth + 1, prefix)
        if only is not None:
            return self.get(inner, [function.returns[number] for number in only])
        with self._variables.in_loop() if loop else nullcontext():
            found = self.get(inner, function.returns)
            for node in function.nodes.values():  # what changes is run, although nothing reads it
                if self._changes(node):
                    self.put_up(inner, node.name)
        return found

    def _node(self, frame: GraphFrame, name: str) -> TensorFlowNode:
        node = frame.graph.nodes.get(name)
        if node is None:
            where = f"The function {frame.graph.name!r}" if frame.graph.name else "The graph"
            raise FileError(f"{where} has no node {name[:200]!r}.")
        return node

    def _is_argument(self, frame: GraphFrame, reference: NodeReference) -> bool:
        return not reference.port and reference.node in frame.arguments

    def _item(self, frame: GraphFrame, reference: NodeReference) -> Item:
        if self._is_argument(frame, reference):
            return frame.arguments[reference.node]
        node, outputs = frame.graph.nodes[reference.node], frame.done[reference.node]
        number = node.output(reference)
        if number >= len(outputs):
            raise UnsupportedError(
                f"Output {reference.port or number} of the node {node.name!r}", node.operator
            )
        return outputs[number]


@dataclass(frozen=True)
class FunctionRunner:
    """Calls functions by their names, for one node."""

    evaluation: GraphEvaluation
    frame: GraphFrame
    node: TensorFlowNode

    def __call__(
        self,
        name: str,
        items: Sequence[Item],
        page: str = "",
        only: Sequence[int] | None = None,
        in_loop: bool = False,
    ) -> tuple[Item, ...]:
        """What a function returns, or only some of it; its nodes are on a page with this name."""
        path = self.evaluation.page(self.frame, page) if page else ()
        loop = self.node if in_loop else None
        found = self.evaluation.inlined(self.frame, name, items, path, only, loop)
        for item in found:
            if isinstance(item, ChangedVariable):
                raise item.error
        return found

    def unchanged(self, name: str) -> frozenset[int]:
        """Which of its arguments a function returns at their own places."""
        function = self.evaluation.function(name)
        pairs = zip(function.arguments, function.returns, strict=False)
        return frozenset(number for number, (a, b) in enumerate(pairs) if _origin(function, b) == a)


def _origin(function: TensorFlowGraph, place: NodeReference) -> str:
    """The argument, or the node, that a reference has its value from through Identities alone."""
    for _ in function.nodes:
        node = function.nodes.get(place.node)
        if node is None or node.operator != "Identity" or not node.inputs:
            break
        place = node.inputs[0]
    return "" if place.node in function.nodes else place.node


def _called(node: TensorFlowNode) -> list[str]:
    """The functions that a node may call."""
    several = node.attributes.functions("branches")
    return [*several, *(name for key in _CALLED if (name := node.attributes.function(key)))]


def _behind(prefix: tuple[str, ...], path: tuple[str, ...]) -> tuple[str, ...]:
    """A path without a prefix, if it has that."""
    return path[len(prefix) :] if path[: len(prefix)] == prefix else path


def _guarded(operator: Operator, call: TensorFlowCall) -> Item | tuple[Item, ...]:
    """What an operator gives; attributes may name axes and lengths that its inputs don't have."""
    try:
        with call.stage.operation(snake_case(call.node.operator)):
            before = len(call.stage.so_far)
            result = operator(call)
            name_result(call.name, result, call.stage.so_far[before:])
            return result
    except (IndexError, ValueError, ArithmeticError) as error:
        raise FileError(
            f"The inputs of the node {call.node.name!r} don't fit {call.node.operator}."
        ) from error
