"""Blocks that are being written as expressions; ``runtime.build`` makes diagrams of them."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from blocks.errors import BuildError
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput, PageOutput
from blocks.registry import registry
from blocks.terms import term_name
from blocks.values import PortLiteral, Tensor
from runtime.diagram.model import MAIN
from runtime.diagram.names import NAME_RULE, is_name, snake_case
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from blocks.block import Block

_NO_PORTS = frozenset({"type", *PageBlock.model_fields})
_OURS = (__name__, "runtime.build")
_serial = itertools.count()
_current: ContextVar[Scope | None] = ContextVar("page being written", default=None)


class Expression:
    """One output of a block that is being written; operators and comparisons make blocks.

    ``x["out2"]`` is another output of the same block; a block with several can be unpacked.
    ``x[0]`` and ``x[1:3]`` are parts of x, ``x.T`` is its transpose, ``x.sum(axis=0)`` any block
    that begins with x; functions of numpy that have a block make it.
    """

    __slots__ = ("node", "port")

    def __init__(self, node: Node, port: str) -> None:
        self.node = node
        self.port = port

    def named(self, name: str) -> Expression:
        """The same, its block called ``name``; raises BuildError if it has another name."""
        if self.node.name not in (None, name):
            raise BuildError(f"The block is called {self.node.name!r} already, not {name!r}.")
        self.node.name = _valid(name)
        return self

    def __getitem__(self, port: str | Index) -> Expression:
        if not isinstance(port, str):
            return _part(self, port if isinstance(port, tuple) else (port,))
        if port not in self.node.outputs:
            raise BuildError(
                f"{self!r} has no output {port!r}.",
                expected="one of " + ", ".join(self.node.outputs),
            )
        return Expression(self.node, port)

    def __iter__(self) -> Iterator[Expression]:
        if len(self.node.outputs) < 2:
            raise BuildError(f"{self!r} has one output; there is nothing to unpack.")
        return (Expression(self.node, port) for port in self.node.outputs)

    def __bool__(self) -> bool:
        raise BuildError(
            f"{self!r} has no truth value: it is computed when the diagram runs.",
            next_step="Use where(condition, a, b).",
        )

    def __repr__(self) -> str:
        return str(PortName(self.node.name or self.node.kind, self.port))

    def __add__(self, other: Operand) -> Expression:
        return _operation("Add", self, other)

    def __radd__(self, other: Operand) -> Expression:
        return _operation("Add", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return _operation("Sub", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return _operation("Sub", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return _operation("Mul", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return _operation("Mul", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return _operation("Div", self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return _operation("Div", other, self)

    def __pow__(self, other: Operand) -> Expression:
        return _operation("Pow", self, other)

    def __rpow__(self, other: Operand) -> Expression:
        return _operation("Pow", other, self)

    def __matmul__(self, other: Operand) -> Expression:
        return _operation("MatMul", self, other)

    def __rmatmul__(self, other: Operand) -> Expression:
        return _operation("MatMul", other, self)

    def __neg__(self) -> Expression:
        return block("Neg", self)

    def __abs__(self) -> Expression:
        return block("Abs", self)

    def __gt__(self, other: Operand) -> Expression:
        return _operation("Greater", self, other)

    def __ge__(self, other: Operand) -> Expression:
        return _operation("GreaterEqual", self, other)

    def __lt__(self, other: Operand) -> Expression:
        return _operation("Less", self, other)

    def __le__(self, other: Operand) -> Expression:
        return _operation("LessEqual", self, other)

    @property
    def T(self) -> Expression:
        """The transpose."""
        return block("Transpose", self)

    def __getattr__(self, name: str) -> Callable[..., Expression]:
        cls = None if name.startswith("_") else block_class(name)
        if cls is None or not cls.inputs:
            raise AttributeError(_no_attribute(name))
        return partial(_method, cls, self)

    def __array_ufunc__(
        self, function: np.ufunc, method: str, *inputs: Operand, **options: Any
    ) -> Expression:
        return _of_numpy(function.__name__, method == "__call__", inputs, options)

    def __array_function__(
        self, function: Any, types: Any, inputs: tuple[Any, ...], options: dict[str, Any]
    ) -> Expression:
        return _of_numpy(function.__name__, True, inputs, options)


Operand: TypeAlias = Expression | float | Sequence[Any] | NDArray[Any] | Tensor | PortLiteral
"""What an input takes: an expression, or numbers as a literal."""
Index: TypeAlias = int | slice | tuple[int | slice, ...]
"""What ``x[...]`` takes besides the name of an output."""

_NUMPY = {
    "absolute": "Abs",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "power": "Pow",
    "negative": "Neg",
    "remainder": "Mod",
    "amax": "Max",
    "amin": "Min",
    "rint": "Round",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "logical_not": "Not",
    "var": "Variance",
}
"""Blocks of functions of numpy that have another name."""


def _operation(kind: str, left: Operand, right: Operand) -> Expression:
    """The block of an operator, which takes no None: ``block`` would leave the input unwired."""
    if left is None or right is None:
        raise BuildError(
            f"{kind} needs two operands, and one is None.",
            next_step="A function that returns nothing gives None: return the expression there.",
        )
    return block(kind, left, right)


def _method(cls: type[Block], x: Expression, *given: Any, **parameters: Any) -> Expression:
    """``x.sum(0)``, ``x.reshape(2, 1)``, ``x.matmul(w)``: a block that begins with x."""
    if len(cls.inputs) > 1 or cls.inputs[0].variadic or not given:
        return block(cls.type_name(), x, *given, **parameters)
    names = cls.parameter_names()
    if len(names) == 1 and len(given) > 1:
        given = (given,)
    return block(cls.type_name(), x, **dict(zip(names, given, strict=False)), **parameters)


def _of_numpy(
    name: str, plain: bool, inputs: Sequence[Operand], options: Mapping[str, Any]
) -> Expression:
    """The block of a function of numpy that was called with an expression; raises BuildError."""
    cls = block_class(_NUMPY.get(name, name)) if plain else None
    if cls is None:
        near = get_close_matches(name, map(snake_case, registry().classes), n=3)
        raise BuildError(
            f"There is no block for np.{name}.",
            next_step=f"Did you mean {' or '.join(near)}?"
            if near
            else "`gradwire blocks` lists the blocks there are.",
        )
    return block(cls.type_name(), *inputs, **options)


def _part(x: Expression, index: tuple[Any, ...]) -> Expression:
    """``x[0, 1:3]``: a Slice, and a Squeeze for every axis that has one index; BuildError."""
    begin, size, single = [], [], []
    for axis, entry in enumerate(index):
        span = entry if isinstance(entry, slice) else None
        first, end, step = (span.start or 0, span.stop, span.step) if span else (entry, None, None)
        numbers = [number for number in (first, end) if number is not None]
        if step not in (None, 1) or any(
            not isinstance(number, int | np.integer) or number < 0 for number in numbers
        ):
            raise BuildError(
                f"{x!r} can't be indexed like this.",
                expected="the name of an output, or indices from 0 on, such as x[0] or x[1:3, 2]",
                got=repr(entry),
                next_step="Write gather(x, indices) for others, flip(x) to count from the end.",
            )
        if span is None:
            single.append(axis)
        begin.append(int(first))
        size.append(1 if span is None else -1 if end is None else max(0, int(end) - int(first)))
    part = block("Slice", x, begin=begin, size=size)
    for axis in reversed(single):
        part = block("Squeeze", part, axis=axis)
    return part


def _no_attribute(name: str) -> str:
    """What to do in place of an attribute that an expression lacks."""
    if name in ("shape", "dtype", "ndim", "size"):
        return f"An expression has no {name} yet: Session(build(x)).run() shows the array."
    near = get_close_matches(name, ["named", "T", *map(snake_case, registry().classes)], n=3)
    nearest = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"An expression has no attribute {name!r}.{nearest}"


@dataclass(eq=False)
class Node:
    """A block that is being written; ``serial`` counts all of them, in order of creation."""

    block: Block
    inputs: dict[str, Expression]
    outputs: tuple[str, ...]
    kind: str
    name: str | None
    scope: Scope | None
    written: str
    content: Scope | None = None
    serial: int = field(default_factory=_serial.__next__)


@dataclass(eq=False)
class Scope:
    """A page that is being written, and where."""

    name: str
    written: str
    ports: list[Node] = field(default_factory=list)


def block_class(kind: str) -> type[Block] | None:
    """The class of a type, however its name is spelt: ``MatMul``, ``mat_mul`` or ``matmul``."""
    classes = registry().classes
    if kind in classes:
        return classes[kind]
    return {_bare(name): cls for name, cls in classes.items()}.get(_bare(kind))


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def block(
    kind: str, /, *inputs: Operand | None, name: str | None = None, **parameters: Any
) -> Expression:
    """A block of any installed type, ``block("Mul", a, 3)``; its first output.

    An input that is None stays unwired. Raises BuildError, UnknownBlockError, ParameterError.
    """
    cls = block_class(kind) or registry().get(kind)
    given = dict(_by_port(cls, inputs))
    for key in [key for key in parameters if cls.port(key) and key not in cls.model_fields]:
        if key in given:
            raise BuildError(f"{cls.type_name()} is given its input {key!r} twice.")
        given[key] = parameters.pop(key)
    wires = {port: value for port, value in given.items() if isinstance(value, Expression)}
    literals = {
        port: _literal(value)
        for port, value in given.items()
        if port not in wires and value is not None
    }
    made = cls.from_record(literals | parameters)
    return _first_output(_node(made, wires, made.output_names(), cls.type_name(), name))


class PageFunction:
    """A function made a page: each call is a block that stands for the page.

    The arguments become PageInputs, with their defaults as literals. What is returned becomes
    PageOutputs: one value is called ``out``, a tuple ``out1``, ``out2``, …, a dict by its keys.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        if name == MAIN:
            raise BuildError(f"A page used as a block can't be called {MAIN!r}: that one runs.")
        self.__doc__ = function.__doc__
        self._function = function
        self._scope = Scope(_valid(name), _caller())
        self._signature = inspect.signature(function)
        self._outputs: tuple[str, ...] | None = None
        self._writing = False

    def __call__(
        self,
        *inputs: Operand,
        name: str | None = None,
        independent: bool = False,
        **named: Operand,
    ) -> Expression:
        """Use the page once more, as the block ``name``; its first output.

        All uses share the page's variables, but for one that is ``independent``.
        """
        outputs = self._outputs_of_page()
        try:
            bound = self._signature.bind(*inputs, **named).arguments
        except TypeError as error:
            raise BuildError(f"Page {self._scope.name!r}: {error}.") from None
        given = {port: value for port, value in bound.items() if value is not None}
        wires = {port: value for port, value in given.items() if isinstance(value, Expression)}
        literals = {port: _literal(v) for port, v in given.items() if port not in wires}
        own = {"independent": True} if independent else {}
        made = PageBlock.from_record({"page": self._scope.name, **own, **literals})
        node = _node(made, wires, outputs, self._scope.name, name)
        node.content = self._scope
        return _first_output(node)

    def _outputs_of_page(self) -> tuple[str, ...]:
        """The outputs' names; the page is written when they are first asked for."""
        if self._writing:
            raise BuildError(f"Page {self._scope.name!r} contains itself.")
        if self._outputs is None:
            self._writing = True
            token = _current.set(self._scope)
            try:
                self._outputs = self._write()
            finally:
                _current.reset(token)
                self._writing = False
        return self._outputs

    def _write(self) -> tuple[str, ...]:
        self._scope.ports.clear()
        arguments = [self._argument(argument) for argument in self._signature.parameters.values()]
        results = _named_results(self._function(*arguments), self._scope.name)
        for name, value in results.items():
            self._port(PageOutput(), {"x": value}, name)
        return tuple(results)

    def _argument(self, argument: inspect.Parameter) -> Expression:
        if argument.kind is not argument.POSITIONAL_OR_KEYWORD or argument.name in _NO_PORTS:
            raise BuildError(f"Page {self._scope.name!r}: argument {argument} can't be a port.")
        open_port = argument.default in (argument.empty, None)
        literal = {} if open_port else {"x": _literal(argument.default)}
        return self._port(PageInput.from_record(literal), {}, argument.name)

    def _port(self, made: Block, inputs: dict[str, Expression], name: str) -> Expression:
        node = _node(made, inputs, made.outputs, made.type_name(), name)
        self._scope.ports.append(node)
        return _first_output(node)


@overload
def page(function: Callable[..., Any], /) -> PageFunction: ...
@overload
def page(name: str, /) -> Callable[[Callable[..., Any]], PageFunction]: ...
def page(
    subject: Callable[..., Any] | str, /
) -> PageFunction | Callable[[Callable[..., Any]], PageFunction]:
    """Make a function a page: ``@page``, called like the function, or ``@page("encoder")``."""
    if isinstance(subject, str):
        return partial(PageFunction, name=subject)
    return PageFunction(subject, subject.__name__)


def _by_port(
    cls: type[Block], inputs: Sequence[Operand | None]
) -> Iterator[tuple[str, Operand | None]]:
    """Inputs by the names of the ports they go to."""
    rest = iter(inputs)
    for port in cls.inputs:
        if port.variadic:
            yield from ((term_name(port.name, i), value) for i, value in enumerate(rest))
        else:
            yield from ((port.name, value) for value in itertools.islice(rest, 1))
    if list(rest):
        ports = ", ".join(port.name for port in cls.inputs)
        raise BuildError(
            f"Too many inputs for {cls.type_name()}.",
            expected=ports or "none",
            got=f"{len(inputs)}",
            next_step="Parameters go by name.",
        )


def _literal(value: Any) -> PortLiteral:
    """Numbers as they would stand in a file; an array keeps its dtype."""
    try:
        if isinstance(value, np.ndarray | np.generic):
            plain = Tensor(value).to_json()
            return PortLiteral(plain, None if isinstance(value, np.generic) else value.dtype.name)
        return PortLiteral(value)
    except (TypeError, ValueError) as error:
        raise BuildError(f"{value!r:.60} is neither an expression nor numbers: {error}.") from None


def _node(
    made: Block,
    inputs: dict[str, Expression],
    outputs: tuple[str, ...],
    kind: str,
    name: str | None,
) -> Node:
    scope = _current.get()
    require_scope([value.node for value in inputs.values()], scope)
    name = None if name is None else _valid(name)
    return Node(made, inputs, outputs, kind, name, scope, _caller())


def _first_output(node: Node) -> Expression:
    if not node.outputs:
        raise BuildError(f"{node.kind} has no output that an expression could be.")
    return Expression(node, node.outputs[0])


def require_scope(nodes: Sequence[Node], scope: Scope | None) -> None:
    """Raise BuildError unless the blocks are on this page; None is the main page."""
    for node in nodes:
        if node.scope is not scope:
            here, there = (MAIN if s is None else s.name for s in (scope, node.scope))
            raise BuildError(
                f"{node.name or node.kind!r} is on page {there!r} and can't be read on {here!r}.",
                next_step="Pass it to the page as an argument, or return it.",
            )


def _valid(name: str) -> str:
    if not is_name(name):
        raise BuildError(f"{name!r} is no name.", expected=NAME_RULE)
    return name


def _named_results(result: Any, scope: str) -> dict[str, Expression]:
    if isinstance(result, Expression):
        results = {"out": result}
    elif isinstance(result, tuple):
        results = {f"out{i}": value for i, value in enumerate(result, 1)}
    else:
        results = dict(result) if isinstance(result, Mapping) else {}
    if not results or not all(isinstance(value, Expression) for value in results.values()):
        raise BuildError(
            f"Page {scope!r} must return what it gives out.",
            expected="an expression, or a tuple or dict of them",
            got=type(result).__name__,
        )
    return results


def _caller() -> str:
    """File and line of the user's code that is running."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__") in _OURS and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
