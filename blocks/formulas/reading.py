"""Reads formulas such as ``loss = mean((x @ W + b - t) ** 2)`` as expressions.

The syntax is Python's, parsed by its own parser and never executed: assignments and expressions,
one on a line or separated by semicolons; operators, comparisons, numbers and lists of numbers;
every block as a function in snake case; ``.T``, methods such as ``.sum(axis=0)``, and indices.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, cast

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.formulas.array_syntax import block_class, is_function, nearest_functions
from gradwire.blocks.formulas.expressions import Expression, OwnVariable, block
from gradwire.blocks.formulas.literals import Literals
from gradwire.blocks.formulas.places import FormulaError, blamed, offset_of
from gradwire.blocks.library.pages import Page, Scan
from gradwire.blocks.names import is_name

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.formulas.nodes import FormulaNode
    from gradwire.blocks.formulas.page_calls import PageUse

MAX_CHARACTERS = 20_000
"""Length of a formula."""
DATA = ("x", "t", "y", "input", "inputs", "target", "targets", "label", "labels", "data")
"""Names, alone or before a number or an underscore, that stand for data instead of a variable."""

_FORMULA_SIGNS = re.compile(r"[=()\[*/@+%<>;]|\w\s*-\s*\w|^-")
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "Add",
    ast.Sub: "Sub",
    ast.Mult: "Mul",
    ast.Div: "Div",
    ast.Pow: "Pow",
    ast.MatMult: "MatMul",
    ast.Mod: "Mod",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Gt: "Greater",
    ast.GtE: "GreaterEqual",
    ast.Lt: "Less",
    ast.LtE: "LessEqual",
    ast.Eq: "Equal",
    ast.NotEq: "NotEqual",
}
_LOGIC: dict[type[ast.boolop], str] = {ast.And: "And", ast.Or: "Or"}
_SOURCES = {"variable": "Variable", "constant": "Constant", "input": "Input"}
_MATRICES = frozenset({"MatMul", "Linear"})
_USES: dict[str, type[Page]] = {"page": Page, "scan": Scan}
"""The functions that use the page of their argument ``page``."""


class ParsedFormula:
    """What was read.

    ``results`` are the expressions of the statements, in order. ``free`` has by name the sources
    of names that nothing was assigned to; those among ``data`` stand for data. ``factors`` has the
    names that are multiplied as matrices, and whether they stand on the left. ``places`` has the
    syntax that a block was read from.
    """

    def __init__(self) -> None:
        self.results: list[Expression] = []
        self.free: dict[str, Expression] = {}
        self.data: set[str] = set()
        self.factors: dict[str, bool] = {}
        self.places: dict[FormulaNode, ast.AST] = {}


def read(
    text: str,
    known: Mapping[str, Expression] | None = None,
    pages: Mapping[str, PageUse] | None = None,
) -> ParsedFormula:
    """Read the statements of a formula. ``known`` has expressions for names that exist already,
    ``pages`` the pages that can be called, by identifier and by name.

    A name that nothing was assigned to becomes a Variable, or an Input if it is one of ``DATA``.
    Its shape stays open. Raises FormulaError with the place in the text.
    """
    if len(text) > MAX_CHARACTERS:
        raise FormulaError(
            "The formula is too long.",
            MAX_CHARACTERS,
            expected=f"at most {MAX_CHARACTERS:,} characters",
            got=f"{len(text):,}",
        )
    try:
        tree = ast.parse(text.strip())
    except SyntaxError as error:
        raise _syntax_error(text, error) from None
    except (MemoryError, RecursionError):
        raise FormulaError("The formula is nested too deeply.", 0) from None
    except ValueError as error:
        raise FormulaError(f"This is no formula: {error}.", 0) from None
    reader = _Reader(text, known or {}, pages or {})
    try:
        for statement in tree.body:
            reader.statement(statement)
    except RecursionError:
        raise FormulaError("The formula is nested too deeply.", 0) from None
    return reader.formula


def looks_like_formula(text: str) -> bool:
    """Whether a text is meant as a formula, which may still be wrong or unfinished.

    It has a sign that names of blocks don't have, and is no JSON.
    """
    body = text.strip()
    return (
        len(body) <= MAX_CHARACTERS
        and body[:1] not in ("{", '"', "`")
        and bool(_FORMULA_SIGNS.search(body))
    )


def is_data(name: str) -> bool:
    """Whether a name that nothing was assigned to stands for data by convention."""
    return name.rstrip("0123456789_").partition("_")[0] in DATA


def is_loss(name: str) -> bool:
    """Whether what is assigned to a name is a loss by convention."""
    return name == "loss" or name.startswith("loss_") or name.endswith("_loss")


class _Reader(Literals):
    """Turns syntax into expressions."""

    def __init__(
        self, text: str, known: Mapping[str, Expression], pages: Mapping[str, PageUse]
    ) -> None:
        super().__init__(text)
        self._pages = pages
        self._names: dict[str, Expression] = dict(known)
        self.formula = ParsedFormula()

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value):
                self.formula.results.append(self._block_of(value))
            case ast.Assign([ast.Name(name)], value):
                self.formula.results.append(self._assigned(node, name, value))
            case ast.AugAssign() | ast.Assign():
                raise self.error(
                    "Only one name can be assigned to.", node, next_step="Write name = expression."
                )
            case _:
                raise self.error(
                    "This statement is not part of a formula.",
                    node,
                    expected="name = expression, or an expression",
                )

    def _assigned(self, node: ast.Assign, name: str, value: ast.expr) -> Expression:
        """The block that an assignment names; ``loss = …`` adds the Loss."""
        target = node.targets[0]
        if not is_name(name):
            raise self.error(f"{name!r} can't be the name of a block.", target)
        if name in self._names:
            raise self.error(f"{name!r} exists already.", target, next_step="Take another name.")
        made = self._source(value, name)
        if made is None:
            made = self._block_of(value)
        if is_loss(name) and made.node.kind not in ("Loss", "PageOutput"):
            made = self._at(value, lambda: block("Loss", made))
        self._names[name] = self._at(target, lambda: made.named(name))
        return self._names[name]

    def _source(self, value: ast.expr, name: str) -> Expression | None:
        """The source of ``w = variable([1, 2])`` or ``c = 2``; None for other values."""
        match value:
            case ast.Call(ast.Name(function), given, keywords) if function in _SOURCES:
                parameters = self._parameters(keywords)
                if given:
                    parameters["value"] = self.literal(given[0])
                return self._at(value, lambda: block(_SOURCES[function], name=name, **parameters))
        number = self.number(value)
        if number is None:
            return None
        return self._at(value, lambda: block("Constant", value=number, name=name))

    def _block_of(self, node: ast.expr) -> Expression:
        made = self._expression(node)
        if not isinstance(made, Expression):
            made = self._at(node, lambda: block("Constant", value=made))
        return made

    def _expression(self, node: ast.expr) -> Any:
        """An expression, or a number or nested lists of numbers."""
        number = self.number(node)
        if number is not None:
            return number
        match node:
            case ast.Name(name):
                return self._named(node, name)
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                return self._block(node, _OPERATORS[type(operator)], left, right)
            case ast.UnaryOp(ast.USub(), operand):
                return self._block(node, "Neg", operand)
            case ast.UnaryOp(ast.UAdd(), operand):
                return self._expression(operand)
            case ast.UnaryOp(ast.Not(), operand):
                return self._block(node, "Not", operand)
            case ast.BoolOp(operator, values):
                return self._folded(node, _LOGIC[type(operator)], values)
            case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARISONS:
                return self._block(node, _COMPARISONS[type(operator)], left, right)
            case ast.IfExp(test, body, orelse):
                return self._block(node, "Where", test, body, orelse)
            case ast.Call(ast.Name("own"), [], keywords) if "own" not in self._names:
                return OwnVariable(self._parameters(keywords))
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value, "T"):
                return self._block(node, "Transpose", value)
            case ast.Subscript(value, index):
                return self._part(node, value, index)
        raise self.error(
            "This is not part of a formula.", node, next_step="Write where(condition, a, b), "
            "gather(x, indices) and so on for what no operator does."
        )  # fmt: skip

    def _named(self, node: ast.expr, name: str) -> Expression:
        if name not in self._names:
            if not is_name(name):
                raise self.error(f"{name!r} can't be the name of a block.", node)
            kind = "Input" if is_data(name) else "Variable"
            made = self._at(node, lambda: block(kind, name=name))
            self._names[name] = self.formula.free[name] = made
            if kind == "Input":
                self.formula.data.add(name)
        return self._names[name]

    def _block(self, node: ast.AST, kind: str, *operands: ast.expr) -> Expression:
        inputs = [self._expression(operand) for operand in operands]
        if kind in _MATRICES:
            self._note_factors(operands)
        return self._at(node, lambda: block(kind, *inputs))

    def _folded(self, node: ast.AST, kind: str, operands: Iterable[ast.expr]) -> Expression:
        """``a and b and c``: one block after the other."""
        made = [self._expression(operand) for operand in operands]
        return self._at(node, lambda: reduce(partial(block, kind), made))

    def _call(self, node: ast.Call) -> Expression:
        if (page := self._page_called(node)) is not None:
            return self._use(node, page)
        given = node.args
        match node.func:
            case ast.Name(name) if name not in self._names:
                kind = self._function(node.func, name)
            case ast.Attribute(value, name):
                kind, given = self._function(node.func, name), [value, *node.args]
            case _:
                raise self.error("This is not a function.", node.func)
        parameters = self._parameters(node.keywords)
        if kind.type_name() in _MATRICES:
            self._note_factors(given)
        if isinstance(node.func, ast.Attribute) and len(kind.inputs) == 1:
            return self._method(node, given[0], node.func.attr, parameters)
        inputs = [self._operand(operand) for operand in given]
        return self._at(node, lambda: block(kind.type_name(), *inputs, **parameters))

    def _operand(self, node: ast.expr) -> Any:
        """An argument of a call; None leaves the input unwired."""
        return None if _is_none(node) else self._expression(node)

    def _page_called(self, node: ast.Call) -> str | None:
        """The page of ``encoder(x)``, ``page(x, page="my encoder")`` or ``scan(x, page="cell")``;
        None for other calls.
        """
        if not isinstance(node.func, ast.Name) or node.func.id in self._names:
            return None
        for keyword in node.keywords:
            if node.func.id in _USES and keyword.arg == "page":
                name = getattr(keyword.value, "value", None)
                if not isinstance(name, str) or name not in self._pages:
                    near = nearest_functions(str(name), *self._pages)
                    raise self.error(f"There is no page {name!r}.", keyword, next_step=near)
                return name
        name = node.func.id
        return name if name in self._pages and not is_function(name) else None

    def _use(self, node: ast.Call, name: str) -> Expression:
        """A block that uses a page, with inputs by position or name."""
        given = [self._operand(argument) for argument in node.args]
        named = self._parameters(keyword for keyword in node.keywords if keyword.arg != "page")
        kind = _USES.get(getattr(node.func, "id", ""), Page)
        return self._at(node, lambda: self._pages[name].call(given, named, kind))

    def _method(
        self, node: ast.Call, value: ast.expr, name: str, parameters: dict[str, Any]
    ) -> Expression:
        """``x.sum(0)``: positional arguments are parameters, as for methods of arrays."""
        x = self._block_of(value)
        given = [self.literal(argument) for argument in node.args]
        return self._at(node, lambda: cast("Expression", getattr(x, name)(*given, **parameters)))

    def _function(self, node: ast.expr, name: str) -> type[Block]:
        kind = None if name.startswith("_") else block_class(name)
        if kind is None:
            near = nearest_functions(name, *self._pages) or "The palette lists all blocks."
            raise self.error(f"There is no block {name!r}.", node, next_step=near)
        return kind

    def _parameters(self, keywords: Iterable[ast.keyword]) -> dict[str, Any]:
        """Inputs and parameters by name; the values of parameters are literals."""
        found: dict[str, Any] = {}
        for keyword in keywords:
            if keyword.arg is None:
                raise self.error("Write each parameter by its name.", keyword.value)
            if isinstance(keyword.value, ast.Constant):
                found[keyword.arg] = keyword.value.value
            elif isinstance(keyword.value, ast.Dict):
                found[keyword.arg] = self.record(keyword.value)
            elif (listed := self.try_literal(keyword.value)) is not None:
                found[keyword.arg] = listed
            elif (texts := self.texts(keyword.value)) is not None:
                found[keyword.arg] = texts
            else:
                found[keyword.arg] = self._expression(keyword.value)
        return found

    def _part(self, node: ast.Subscript, value: ast.expr, index: ast.expr) -> Expression:
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            key: Any = index.value
        else:
            entries = index.elts if isinstance(index, ast.Tuple) else [index]
            key = tuple(self.index(entry) for entry in entries)
        x = self._block_of(value)
        return self._at(node, lambda: x[key])

    def _note_factors(self, operands: Iterable[ast.expr]) -> None:
        for number, operand in enumerate(operands):
            inner = operand.value if isinstance(operand, ast.Attribute) else operand
            if isinstance(inner, ast.Name):
                self.formula.factors.setdefault(inner.id, number == 0)

    def _at(self, node: ast.AST, make: Callable[[], Expression]) -> Expression:
        """What ``make`` returns; its errors get the place of a node."""
        try:
            made = make()
        except FormulaError:
            raise
        except (GradwireError, AttributeError, TypeError) as error:
            place = blamed(node, str(error))
            raise FormulaError(str(error), offset_of(self.text, place)) from error
        self.formula.places.setdefault(made.node, node)
        return made


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _syntax_error(text: str, error: SyntaxError) -> FormulaError:
    start = len(text) - len(text.lstrip())
    lines = text.strip().splitlines(keepends=True)
    before = sum(len(each) for each in lines[: (error.lineno or 1) - 1])
    offset = min(start + before + max((error.offset or 1) - 1, 0), len(text))
    return FormulaError(f"This is no formula: {error.msg}.", offset)
