"""Functions as pages: ``@page`` turns a function of expressions into a reusable page."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, overload

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import BuildError
from gradwire.blocks.formulas.expressions import (
    Expression,
    as_literal,
    block,
    first_output,
    split_operands,
)
from gradwire.blocks.formulas.nodes import PageScope, caller, current_scope, make_node, valid_name
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.runtime.diagram.model import MAIN

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.formulas.expressions import Operand

_NO_PORTS = frozenset({"type", *PageBlock.model_fields})
"""Names of arguments that can't be ports: a use stores other things under them."""


class PageFunction:
    """A function that defines a page; each call creates a use of the page.

    The arguments become PageInputs, with their defaults as literals. The results become
    PageOutputs: one expression is called ``out``, those of a tuple ``out1``, ``out2``, …, those of
    a dict like its keys.
    """

    def __init__(self, function: Callable[..., object], name: str) -> None:
        if name == MAIN:
            raise BuildError(f"A page used as a block can't be called {MAIN!r}: that page runs.")
        self.__doc__ = function.__doc__
        self._function = function
        self._scope = PageScope(valid_name(name), caller())
        self._signature = inspect.signature(function)
        self._outputs: tuple[str, ...] | None = None
        self._running = False

    def __call__(
        self,
        *inputs: Operand,
        name: str | None = None,
        independent: bool = False,
        **named: Operand,
    ) -> Expression:
        """Create a use of the page, a block called ``name``; returns its first output.

        Uses share the page's variables, except for those that are ``independent``.
        """
        own = {"independent": True} if independent else {}
        return self.use(PageBlock, own, name, *inputs, **named)

    @property
    def arguments(self) -> list[inspect.Parameter]:
        """The inputs of the page, in order."""
        return list(self._signature.parameters.values())

    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs; the first call runs the function."""
        if self._running:
            raise BuildError(f"Page {self._scope.name!r} contains itself.")
        if self._outputs is None:
            self._running = True
            token = current_scope.set(self._scope)
            try:
                self._outputs = self._run_function()
            finally:
                current_scope.reset(token)
                self._running = False
        return self._outputs

    def use(
        self,
        kind: type[PageBlock],
        parameters: Mapping[str, object],
        name: str | None,
        *inputs: Operand,
        **named: Operand,
    ) -> Expression:
        """Create a block of that kind for the page; returns its first output."""
        outputs = self.outputs()
        try:
            bound = self._signature.bind(*inputs, **named).arguments
        except TypeError as error:
            raise BuildError(f"Page {self._scope.name!r}: {error}.") from None
        wires, literals = split_operands(kind, bound)
        if taken := [port for port in literals if port in kind.model_fields]:
            raise BuildError(
                f"Page {self._scope.name!r}: a number for {taken[0]!r} would be a parameter of "
                f"{kind.type_name()}.",
                next_step="Name the argument otherwise, or pass a constant.",
            )
        made = kind.from_record({"page": self._scope.name, **parameters, **literals})
        node = make_node(made, wires, outputs, self._scope.name, name)
        node.content = self._scope
        return first_output(node)

    def _run_function(self) -> tuple[str, ...]:
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
        literal = {} if open_port else {"x": as_literal(argument.default)}
        return self._port(PageInput.from_record(literal), {}, argument.name)

    def _port(self, made: Block, inputs: dict[str, Expression], name: str) -> Expression:
        node = make_node(made, inputs, made.outputs, made.type_name(), name)
        self._scope.ports.append(node)
        return first_output(node)


@overload
def page(function: Callable[..., object], /) -> PageFunction: ...
@overload
def page(name: str, /) -> Callable[[Callable[..., object]], PageFunction]: ...
@explained
def page(
    subject: Callable[..., object] | str, /
) -> PageFunction | Callable[[Callable[..., object]], PageFunction]:
    """Turn a function into a page: ``@page``, or ``@page("encoder")`` to choose its name."""
    if isinstance(subject, str):
        return partial(PageFunction, name=subject)
    return PageFunction(subject, subject.__name__)


@explained
def scan(
    function: PageFunction,
    /,
    *inputs: Operand,
    steps: int,
    carry: Mapping[str, str] | None = None,
    over: str | Sequence[str] = (),
    reverse: bool = False,
    condition: str = "",
    name: str | None = None,
    independent: bool = False,
    **named: Operand,
) -> Expression:
    """Run a page once per step: a Scan block called ``name``; returns its first output.

    ``carry`` maps arguments of the page to the output whose value they get in the next step, and
    ``over`` lists those that get one element along axis 0 per step. See the block Scan.
    """
    if not isinstance(function, PageFunction):
        raise BuildError(
            "A scan runs a page.",
            expected="a function with @page above it",
            got=type(function).__name__,
        )
    parameters: dict[str, object] = {
        "steps": steps,
        "carry": carry or {},
        "over": over,
        "reverse": reverse,
        "condition": condition,
        "independent": independent,
    }
    return function.use(Scan, parameters, name, *inputs, **named)


@explained
def cond(
    condition: Operand,
    then: PageFunction,
    otherwise: PageFunction,
    /,
    *inputs: Operand,
    name: str = "cond",
) -> Expression:
    """The outputs of one of two pages, as a single boolean says; returns the first output.

    It is a page called ``name`` with an input ``condition``, those of ``then`` and the outputs that
    both have. Both run on the same inputs, and a Where chooses each output, so what is not taken
    gets the gradient 0, not None, and the condition has none.
    """
    for branch in (then, otherwise):
        if not isinstance(branch, PageFunction):
            raise BuildError(
                "A choice is between pages.",
                expected="functions with @page above them",
                got=type(branch).__name__,
            )
    outputs, others = then.outputs(), otherwise.outputs()
    if set(outputs) != set(others):
        raise BuildError(
            f"The pages of {name!r} have different outputs.",
            expected=", ".join(outputs),
            got=", ".join(others),
            next_step="Return the same outputs from both.",
        )

    def branches(condition: Expression, *given: Expression) -> dict[str, Expression]:
        one, other = then(*given, name="then"), otherwise(*given, name="otherwise")
        return {out: block("Where", condition, one[out], other[out]) for out in outputs}

    first = inspect.Parameter("condition", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    branches.__signature__ = inspect.Signature([first, *then.arguments])  # type: ignore[attr-defined]  # as inspect reads it
    return page(name)(branches)(condition, *inputs, name=name)


def _named_results(result: object, scope: str) -> dict[str, Expression]:
    if isinstance(result, Expression):
        results = {"out": result}
    elif isinstance(result, tuple):
        results = {f"out{i}": value for i, value in enumerate(result, 1)}
    else:
        results = dict(result) if isinstance(result, Mapping) else {}
    if not results or not all(isinstance(value, Expression) for value in results.values()):
        raise BuildError(
            f"Page {scope!r} must return its outputs.",
            expected="an expression, or a tuple or dict of them",
            got=type(result).__name__,
        )
    return results
