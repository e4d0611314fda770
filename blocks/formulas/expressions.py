"""Expressions: blocks written as code. ``gradwire.runtime.build`` turns them into diagrams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import BuildError
from gradwire.blocks.formulas.array_syntax import (
    WRITE_INSTEAD,
    block_class,
    bound_parameters,
    is_in_place,
    missing_attribute,
    named_parameters,
    numpy_block,
    own_parameter_names,
)
from gradwire.blocks.formulas.indices import Index, steps_of
from gradwire.blocks.formulas.nodes import FormulaNode, FormulaOutput, make_node, valid_name
from gradwire.blocks.formulas.unevaluated import Unevaluated
from gradwire.blocks.library.views import ViewBlock
from gradwire.blocks.registry import registry
from gradwire.blocks.terms import term_name
from gradwire.blocks.values import Array, PortLiteral, Tensor

if TYPE_CHECKING:
    from gradwire.blocks.block import Block, Source


class Expression(FormulaOutput, Unevaluated):
    """One output of a block; operators and comparisons create blocks.

    ``x["out2"]`` is another output of the same block; a block with several outputs can be
    unpacked. ``x[0]`` and ``x[1:3]`` are parts of x, ``x.T`` is its transpose, and a method such as
    ``x.sum(axis=0)`` is the block of that name with x as its first input. Functions of numpy create
    the corresponding blocks. ``x == y`` compares numbers; ``x is y`` and dict keys compare
    expressions.
    """

    __slots__ = ()

    def named(self, name: str) -> Expression:
        """Name the block and return self; raises BuildError if it already has another name."""
        if self.node.name not in (None, name):
            raise BuildError(f"The block is already called {self.node.name!r}, not {name!r}.")
        self.node.name = valid_name(name)
        return self

    def __getitem__(self, key: str | Index) -> Expression:
        if not isinstance(key, str):
            return _part(self, key)
        if key not in self.node.outputs:
            raise BuildError(
                f"{self!r} has no output {key!r}.",
                expected="one of " + ", ".join(self.node.outputs),
            )
        return Expression(self.node, key)

    def __iter__(self) -> Iterator[Expression]:
        if len(self.node.outputs) < 2:
            raise BuildError(
                f"{self!r} has one output; there is nothing to unpack.",
                next_step="Its elements are x[0], x[1], …; x.sum() adds them up.",
            )
        return (Expression(self.node, port) for port in self.node.outputs)

    def __len__(self) -> int:
        """How many outputs ``list(x)`` and ``*x`` unpack; arrays have no length until they run."""
        outputs = self.node.outputs
        return len(outputs) if len(outputs) > 1 else super().__len__()

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

    def __mod__(self, other: Operand) -> Expression:
        return _operation("Mod", self, other)

    def __rmod__(self, other: Operand) -> Expression:
        return _operation("Mod", other, self)

    def __and__(self, other: Operand) -> Expression:
        return _operation("And", self, other)

    def __or__(self, other: Operand) -> Expression:
        return _operation("Or", self, other)

    def __xor__(self, other: Operand) -> Expression:
        return _operation("Xor", self, other)

    def __invert__(self) -> Expression:
        return block("Not", self)

    def __neg__(self) -> Expression:
        return block("Neg", self)

    def __pos__(self) -> Expression:
        return self

    def __round__(self, digits: int | None = None) -> Expression:
        if digits is not None:
            raise BuildError(
                "Round has no number of digits.", next_step="Write round(100 * x) / 100."
            )
        return block("Round", self)

    def __floor__(self) -> Expression:
        return block("Floor", self)

    def __ceil__(self) -> Expression:
        return block("Ceil", self)

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

    # object's give a bool; these, as arrays do, one for each element: hence the two overrides.
    def __eq__(self, other: Operand) -> Expression:  # type: ignore[override]
        return _comparison("Equal", self, other)

    def __ne__(self, other: Operand) -> Expression:  # type: ignore[override]
        return _comparison("NotEqual", self, other)

    __hash__ = object.__hash__

    @property
    def T(self) -> Expression:
        """The transpose."""
        return block("Transpose", self)

    def __getattr__(self, name: str) -> Callable[..., Expression]:
        refused = name.startswith("_") or is_in_place(name) or name in WRITE_INSTEAD
        cls = None if refused else block_class(name)
        if cls is None or not cls.inputs:
            raise AttributeError(missing_attribute(name))
        return partial(_method, cls, self)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in FormulaOutput.__slots__:
            raise AttributeError(missing_attribute(name))
        object.__setattr__(self, name, value)

    def __array_ufunc__(
        self, function: np.ufunc, method: str, *inputs: Operand, **options: Any
    ) -> Expression:
        name = function.__name__ if method == "__call__" else f"{function.__name__}.{method}"
        return block(numpy_block(name).type_name(), *inputs, **options)

    def __array_function__(
        self, function: Any, types: Any, inputs: tuple[Any, ...], options: dict[str, Any]
    ) -> Expression:
        cls = numpy_block(function.__name__)
        count = 1 if cls.inputs[0].variadic else len(cls.inputs)
        parameters = bound_parameters(function, inputs, count) | options
        return block(cls.type_name(), *inputs[:count], **parameters)


@dataclass(frozen=True, slots=True)
class OwnVariable:
    """A variable inside the block that it is passed to; ``parameters`` are those of a Variable
    that differ from what the block's input starts with.
    """

    parameters: Mapping[str, Any]


Operand: TypeAlias = Expression | OwnVariable | float | Sequence[Any] | Array | Tensor | PortLiteral
"""What an input accepts: an expression, numbers, which become a literal, or an own variable."""


def _operation(kind: str, left: Operand, right: Operand) -> Expression:
    """The block of an operator. Rejects None, for which ``block`` would leave the input unwired."""
    if left is None or right is None:
        raise BuildError(
            f"{kind} needs two operands, and one is None.",
            next_step="A function without a return value gives None: return the expression there.",
        )
    return block(kind, left, right)


def _comparison(kind: str, left: Expression, right: Operand) -> Expression:
    """``x == y``. Rejects None, which no number equals."""
    if right is None:
        raise BuildError(f"{left!r} is never None.", next_step="Write `x is None` to ask for that.")
    return block(kind, left, right)


def _method(cls: type[Block], x: Expression, *given: Any, **parameters: Any) -> Expression:
    """``x.sum(0)``, ``x.reshape(2, 1)``, ``x.matmul(w)``: a block with x as its first input.

    If it has no other input, positional arguments are parameters, as for methods of arrays.
    """
    if len(cls.inputs) > 1 or cls.inputs[0].variadic or not given:
        return block(cls.type_name(), x, *given, **parameters)
    return block(cls.type_name(), x, **named_parameters(cls, given), **parameters)


def _part(x: Expression, index: Index) -> Expression:
    """``x[0, 1:-1]``."""
    for kind, parameters in steps_of(index, repr(x)):
        x = block(kind, x, **parameters)
    return x


@explained
def block(
    kind: str, /, *inputs: Operand | None, name: str | None = None, **parameters: Any
) -> Expression:
    """Create a block of any installed type, ``block("Mul", a, 3)``; returns its first output.

    An input that is None stays unwired. Where a required input that may own a variable is left
    out, it does, and so do the others that are left out: ``linear(x, units=4)``. Raises
    BuildError, UnknownBlockError, ParameterError.
    """
    cls = block_class(kind) or registry().get(kind)
    given = _by_port(cls, _spread(cls, inputs))
    parameters = own_parameter_names(cls, parameters) if parameters else {}
    for key in [key for key in parameters if cls.port(key) and key not in cls.model_fields]:
        if key in given:
            raise BuildError(f"{cls.type_name()} got its input {key!r} twice.")
        given[key] = parameters.pop(key)
    wires, literals = split_operands(cls, _with_own_variables(cls, given))
    made = cls.from_record(literals | parameters)
    return first_output(make_node(made, wires, made.output_names(), cls.type_name(), name))


def _spread(cls: type[Block], inputs: Sequence[Operand | None]) -> Sequence[Operand | None]:
    """``concat([x, y])`` as ``concat(x, y)``."""
    if cls.inputs and cls.inputs[0].variadic and len(inputs) == 1:
        only = inputs[0]
        if isinstance(only, list | tuple) and any(isinstance(part, Expression) for part in only):
            return only
    return inputs


def _with_own_variables(
    cls: type[Block], given: Mapping[str, Operand | None]
) -> Mapping[str, Operand | None]:
    """The inputs, with own variables for those left out where a required one is left out."""
    if not cls.ownable:
        return given
    left = [port.name for port in cls.inputs if port.name in cls.ownable and port.name not in given]
    if not any(port.required for port in cls.inputs if port.name in left):
        return given
    return {**given, **dict.fromkeys(left, OwnVariable({}))}


def split_operands(
    cls: type[Block], given: Mapping[str, Operand | None]
) -> tuple[dict[str, Expression], dict[str, PortLiteral | Source]]:
    """Expressions, and literals or own variables, by port; without the ports that are None."""
    wires = {port: value for port, value in given.items() if isinstance(value, Expression)}
    literals = {
        port: _own_variable(cls, port, value)
        if isinstance(value, OwnVariable)
        else as_literal(value)
        for port, value in given.items()
        if port not in wires and value is not None
    }
    return wires, literals


def _own_variable(cls: type[Block], port: str, own: OwnVariable) -> Source:
    if port not in cls.ownable:
        raise BuildError(
            f"Input {port!r} of {cls.type_name()} can't own a variable.",
            expected=" or ".join(cls.ownable) if cls.ownable else None,
            next_step="Pass a variable(...) instead.",
        )
    return cls.ownable[port].with_parameters(**own.parameters)


def _by_port(cls: type[Block], inputs: Sequence[Operand | None]) -> dict[str, Operand | None]:
    """Positional inputs with the names of their ports."""
    names, repeated = _input_names(cls)
    found = dict(zip(names, inputs, strict=False))
    rest = inputs[len(names) :]
    if repeated:
        found |= {term_name(repeated, i): value for i, value in enumerate(rest)}
    elif rest:
        raise BuildError(
            f"Too many inputs for {cls.type_name()}.",
            expected=", ".join(names) or "none",
            got=f"{len(inputs)}",
            next_step="Pass parameters by name.",
        )
    return found


@cache
def _input_names(cls: type[Block]) -> tuple[tuple[str, ...], str]:
    """The inputs that positions stand for, and the repeating one behind them; empty without one."""
    repeated = next((port.name for port in cls.inputs if port.variadic), "")
    return tuple(port.name for port in cls.inputs if not port.variadic), repeated


def as_literal(value: object) -> PortLiteral:
    """The literal for some numbers; an array keeps its dtype. Raises BuildError for others."""
    try:
        if isinstance(value, np.ndarray | np.generic):
            plain = Tensor(value).to_json()
            return PortLiteral(plain, None if isinstance(value, np.generic) else value.dtype.name)
        return PortLiteral(value)
    except (TypeError, ValueError) as error:
        raise BuildError(
            f"{value!r:.60} is neither an expression nor numbers: {str(error).rstrip('.')}.",
            next_step="Pass texts by the names of their parameters."
            if isinstance(value, str)
            else None,
        ) from None


def first_output(node: FormulaNode) -> Expression:
    """The first output of a block, or a view as a whole; raises BuildError if it has none."""
    if node.outputs:
        return Expression(node, node.outputs[0])
    if isinstance(node.block, ViewBlock):
        return Expression(node, "")
    raise BuildError(f"{node.kind} has no output to use as an expression.")
