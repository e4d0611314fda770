"""Builds diagrams from expressions that read like formulas.

    a, b = variable("a", [[1, 2]]), variable("b", [[0, 1]])
    diagram = build(loss(stop_gradient(3 * b) + a), title="Seed")

Every installed block is a function of this module, in snake case: ``relu(x)``, ``conv2d(x, w,
stride=(2, 2))``, ``mat_mul(a, b)`` or ``matmul(a, b)``. Pass inputs by position or name, and
parameters by name; numbers become literals. ``name=`` names the block; other blocks are named when
the diagram is built: ``mul1``, ``mul2``, ….
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import BuildError, Location
from gradwire.blocks.formulas.array_syntax import block_class
from gradwire.blocks.formulas.expressions import Expression, Operand, OwnVariable, block
from gradwire.blocks.formulas.nodes import FormulaNode, PageScope, reached, require_scope
from gradwire.blocks.importing.kinds import is_dataset
from gradwire.blocks.names import FreshNames, snake_case
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.registry import registry
from gradwire.runtime.data.files.access import allow_data
from gradwire.runtime.diagram.files.models import TRAINING
from gradwire.runtime.diagram.layout.later import arranged_later
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.gc_pause import uncollected
from gradwire.runtime.page_functions import PageFunction, cond, page, scan

if TYPE_CHECKING:
    from gradwire.runtime.diagram.training import Training

__all__ = [
    "Expression",
    "Operand",
    "PageFunction",
    "block",
    "build",
    "cond",
    "constant",
    "input",
    "loss",
    "own",
    "page",
    "scan",
    "stop_gradient",
    "variable",
]


@explained
def variable(name: str, value: object = None, **parameters: object) -> Expression:
    """A Variable: numbers that training changes, with an initial ``value`` or an initialiser.

    They are held as float32, those of a float64 array too, unless ``dtype="float64"`` is given.
    """
    return _source("Variable", name, value, parameters)


@explained
def constant(name: str, value: object, **parameters: object) -> Expression:
    """A Constant: fixed numbers, held as float32, int64 or bool unless a ``dtype`` is given."""
    return _source("Constant", name, value, parameters)


@explained
def input(name: str, value: object = None, **parameters: object) -> Expression:
    """An Input: data that is fed to each run; ``value`` is the default.

    It is held as float32, also what is fed, unless a ``dtype`` is given.
    """
    return _source("Input", name, value, parameters)


@explained
def own(value: object = None, **parameters: object) -> OwnVariable:
    """A variable inside the block that it is passed to.

    ``linear(x, own(seed=1), units=4)`` has a weight of its own, and no bias. Takes what
    ``variable`` does, but no name: it is ``fc.weight`` of a block named ``fc``.
    """
    return OwnVariable({**({} if value is None else {"value": value}), **parameters})


@explained
def stop_gradient(x: Operand, name: str | None = None, **parameters: object) -> Expression:
    """A StopGradient: the value of x, but no gradient flows back to x.

    For a tree, ``only="encoder/*"`` stops only those leaves.
    """
    return block("StopGradient", x, name=name, **parameters)


@explained
def loss(x: Operand, name: str | None = None, **parameters: object) -> Expression:
    """A Loss: marks x as a loss, where backward starts."""
    return block("Loss", x, name=name, **parameters)


@uncollected()
def build(
    *outputs: Expression,
    title: str = "",
    description: str = "",
    contracts: str | Sequence[str] = (),
    training: Training | Mapping[str, object] | None = None,
) -> Diagram:
    """Build a diagram of everything that the outputs depend on, in order of creation.

    ``contracts`` are lines such as ``flows(loss -> w)`` that state what its gradients must do;
    ``training`` is the recipe by which it is trained, a Training or its JSON form.
    Blocks are arranged automatically, once their positions are read: a diagram that only runs needs
    none. Raises BuildError, with both source lines, if two blocks or
    pages have the same name, or if the recipe is not one.
    """
    if not outputs or not all(isinstance(output, Expression) for output in outputs):
        raise BuildError(
            "A diagram is built from expressions.",
            expected="one or more losses or other outputs",
            got=", ".join(type(output).__name__ for output in outputs) or "nothing",
        )
    nodes = [output.node for output in outputs]
    require_scope(nodes, None)
    pages: dict[str, Page] = {}
    scopes: dict[str, PageScope] = {MAIN: PageScope(MAIN, "")}
    pending = [scopes[MAIN]]
    while pending:
        scope = pending.pop(0)
        here = reached([*nodes, *scope.ports] if scope.name == MAIN else scope.ports)
        pages[scope.name] = _page(scope.name, here)
        for node in here:
            inner = node.content
            if inner is not None and scopes.setdefault(inner.name, inner) is not inner:
                raise _clash("pages", inner.name, scopes[inner.name].written, inner.written)
            if inner is not None and inner.name not in pages and inner not in pending:
                pending.append(inner)
    lines = contracts.splitlines() if isinstance(contracts, str) else contracts
    recipe = TRAINING.given(training)
    made = Diagram(pages, title, description, tuple(lines), training=recipe, folder=_data(pages))
    return arranged_later(made)


def _data(pages: Mapping[str, Page]) -> Path | None:
    """The folder that paths of data files refer to, the current one; None if there are none.

    The files are allowed: it is the program, not a file, that names them.
    """
    blocks = (block for page in pages.values() for block in page.blocks.values())
    paths = [block.path for block in blocks if is_dataset(block) and block.path]
    for path in paths:
        allow_data(path)
    return Path.cwd() if paths else None


def __getattr__(name: str) -> Callable[..., Expression]:
    if name.startswith("_"):  # as an import asks for: no reason to import all blocks
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    cls = block_class(name)
    if cls is None:
        near = did_you_mean(name, __dir__()) or ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {near}".strip())
    function: Callable[..., Expression] = partial(block, cls.type_name())
    return function


def __dir__() -> list[str]:
    return sorted({*__all__, *map(snake_case, registry().classes)})


def _source(kind: str, name: str, value: object, parameters: dict[str, object]) -> Expression:
    if isinstance(value, Expression):
        raise BuildError(f"The value of {name!r} must be numbers, not an expression.")
    return block(kind, name=name, **({} if value is None else {"value": value}), **parameters)


def _page(name: str, nodes: Sequence[FormulaNode]) -> Page:
    names = names_of(name, nodes)
    return Page(
        {names[node]: node.block for node in nodes},
        {
            PortName(names[node], port): PortName(names[source], output)
            for node in nodes
            for port, source, output in zip(node.ports, node.sources, node.read, strict=True)
        },
    )


def names_of(
    scope: str, nodes: Sequence[FormulaNode], used: Collection[str] = ()
) -> dict[FormulaNode, str]:
    """The name of each block: its own, or else a fresh one that is not ``used`` either.

    Raises BuildError if two blocks have the same name.
    """
    taken: dict[str, FormulaNode] = {}
    for node in nodes:
        if node.name is not None and taken.setdefault(node.name, node) is not node:
            raise _clash("blocks", node.name, taken[node.name].written, node.written, scope)
    fresh = FreshNames({*used, *taken})
    for node in nodes:
        if node.name is None:
            taken[fresh.of(node.kind)] = node
    return {node: name for name, node in taken.items()}


def _clash(what: str, name: str, first: str, second: str, scope: str = MAIN) -> BuildError:
    return BuildError(
        f"Two {what} are called {name!r}.",
        location=Location(scope, name if what == "blocks" else None),
        got=f"one written at {first}, one at {second}",
        next_step="Give one of them another name.",
    )
