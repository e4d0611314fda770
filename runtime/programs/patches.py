"""Changes of a program's source that may let gradient through, each at a known line.

None is known to help: ``repairing`` tries them. Formatting and comments stay as they are.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, TypeAlias, TypeVar, cast

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

_MODES = frozenset({"no_grad", "inference_mode"})
_COPYING = frozenset({"tensor", "as_tensor", "FloatTensor", "Tensor"})
"""What makes a tensor of numbers alone."""
_STEEP = frozenset({"log", "log2", "log10", "sqrt"})
_LEAST = "1e-8"
"""The least input to give functions that are steep at 0."""
_CONTAINERS: dict[type[cst.BaseExpression], str] = {
    cst.List: "ModuleList",
    cst.ListComp: "ModuleList",
    cst.Tuple: "ModuleList",
    cst.Dict: "ModuleDict",
    cst.DictComp: "ModuleDict",
}
_Node = TypeVar("_Node", bound=cst.CSTNode)
Replaced: TypeAlias = (
    cst.BaseExpression
    | cst.BaseStatement
    | cst.FlattenSentinel[cst.BaseStatement]
    | cst.RemovalSentinel
)


class Patch(NamedTuple):
    """A change of one file; ``file`` is relative to the working folder."""

    file: str
    what: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The change as ``git apply`` takes it."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"a/{self.file}",
            f"b/{self.file}",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class _Edit(NamedTuple):
    """What replaces a node of a program, and what that does, in words."""

    node: cst.CSTNode
    what: str
    by: Replaced


def at_line(file: str, source: str, line: int) -> Iterator[Patch]:
    """Changes of what is at a line: a detach, a copy of numbers alone, a parameter that is frozen,
    a region without gradient, a reentrant checkpoint, a logarithm or a root.
    """
    yield from _patches(file, source, lambda program: _edits_at(program, line))


def of_functions(file: str, source: str, called: Collection[str]) -> Iterator[Patch]:
    """Functions of these names without the decorator that turns gradient off."""
    yield from _patches(file, source, lambda program: _undecorated(program, called))


def of_attributes(file: str, source: str, names: Collection[str]) -> Iterator[Patch]:
    """What becomes attributes of these names, as containers of modules."""
    yield from _patches(file, source, lambda program: _registered(program, names))


def called_at(source: str, line: int) -> frozenset[str]:
    """The names of functions and methods that are called at a line."""
    program = _parsed(source)
    if program is None:
        return frozenset()
    return frozenset(_name(call) for call in program.at(cst.Call, line))


def _patches(
    file: str, source: str, edits: Callable[[_Program], Iterator[_Edit]]
) -> Iterator[Patch]:
    program = _parsed(source)
    if program is None:
        return
    for edit in edits(program):
        after = program.module.visit(_Replacing(edit))
        if isinstance(after, cst.Module) and after.code != source:
            yield Patch(file, edit.what, source, after.code)


def _parsed(source: str) -> _Program | None:
    try:
        return _Program(source)
    except cst.ParserSyntaxError:
        return None


class _Program:
    def __init__(self, source: str) -> None:
        wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
        self.module = wrapper.module
        self._positions = wrapper.resolve(PositionProvider)

    def all(self, kind: type[_Node]) -> list[_Node]:
        """All nodes of a kind, in order."""
        return [node for node in self._positions if isinstance(node, kind)]

    def at(self, kind: type[_Node], line: int) -> list[_Node]:
        """The nodes of a kind that a line is part of, the smallest first."""
        found = []
        for node in self.all(kind):
            span = self._positions[node]
            if span.start.line <= line <= span.end.line:
                found.append((span.end.line - span.start.line, node))
        return [node for _, node in sorted(found, key=lambda pair: pair[0])]

    def assignment(self, value: cst.BaseExpression) -> cst.Assign | None:
        """The statement that assigns a value, and nothing more."""
        return next((each for each in self.all(cst.Assign) if each.value is value), None)

    def starts_at(self, node: cst.CSTNode) -> int:
        return self._positions[node].start.line


class _Replacing(cst.CSTTransformer):
    def __init__(self, edit: _Edit) -> None:
        self._edit = edit

    def on_leave(
        self, original_node: _Node, updated_node: _Node
    ) -> _Node | cst.RemovalSentinel | cst.FlattenSentinel[_Node]:
        """What stands in the place of a node."""
        if original_node is self._edit.node:
            return cast("_Node | cst.RemovalSentinel", self._edit.by)
        return super().on_leave(original_node, updated_node)


def _edits_at(program: _Program, line: int) -> Iterator[_Edit]:
    for call in program.at(cst.Call, line):
        name = _name(call)
        if name == "detach" and isinstance(call.func, cst.Attribute):
            # x.detach() or torch.detach(x), or x = x.detach()
            kept, whole = _input(call, call.func), program.assignment(call)
            if whole is not None and all(kept.deep_equals(t.target) for t in whole.targets):
                yield _Edit(whole, "Remove detach().", cst.RemovalSentinel.REMOVE)
            else:
                yield _Edit(call, "Remove detach().", kept)
        elif name == "checkpoint":
            yield _Edit(call, "Checkpoint without reentering autograd.", _not_reentrant(call))
        elif name in _STEEP and isinstance(call.func, cst.Attribute):
            what = f"Keep the input of {name} at or above {_LEAST}."
            yield _Edit(call, what, _clamped(call, call.func))
        elif name in _COPYING and isinstance(call.func, cst.Attribute) and call.args:
            yield _Edit(call, f"Use tensors themselves, not {name}().", _joined(call, call.func))
    for attribute in program.at(cst.Attribute, line):
        if attribute.attr.value == "data":
            yield _Edit(attribute, "Use the tensor itself, not its data.", attribute.value)
    for statement in program.at(cst.Expr, line):
        value = statement.value
        if _name(value) == "requires_grad_" and isinstance(value, cst.Call) and _is_false(value):
            yield _Edit(statement, "Leave it to be trained.", cst.RemovalSentinel.REMOVE)
    for block in program.at(cst.With, line):
        if program.starts_at(block) == line:
            yield from _without_mode(block)


def _without_mode(block: cst.With) -> Iterator[_Edit]:
    modes = [item for item in block.items if _name(item.item) in _MODES]
    for mode in modes:
        what = f"Leave {_name(mode.item)}."
        rest = [item for item in block.items if item is not mode]
        if rest:
            rest[-1] = rest[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            yield _Edit(block, what, block.with_changes(items=rest))
        else:
            yield _Edit(block, what, _dissolved(block))


def _dissolved(block: cst.With) -> Replaced:
    """The statements of a block, in its place."""
    if isinstance(block.body, cst.SimpleStatementSuite):  # with no_grad(): y = f(x)
        return cst.SimpleStatementLine(block.body.body, leading_lines=block.leading_lines)
    first, *others = cast("Sequence[cst.BaseStatement]", block.body.body)
    if isinstance(first, cst.SimpleStatementLine | cst.BaseCompoundStatement):
        first = first.with_changes(leading_lines=[*block.leading_lines, *first.leading_lines])
    return cst.FlattenSentinel([first, *others])


def _undecorated(program: _Program, called: Collection[str]) -> Iterator[_Edit]:
    for function in program.all(cst.FunctionDef):
        if function.name.value not in called:
            continue
        for decorator in function.decorators:
            if (mode := _name(decorator.decorator)) in _MODES:
                rest = [other for other in function.decorators if other is not decorator]
                what = f"Take {mode} off {function.name.value}."
                yield _Edit(function, what, function.with_changes(decorators=rest))


def _registered(program: _Program, names: Collection[str]) -> Iterator[_Edit]:
    for assignment in program.all(cst.Assign):
        targets = [target.target for target in assignment.targets]
        kept = [t.attr.value for t in targets if isinstance(t, cst.Attribute)]
        name = next((name for name in kept if name in names), None)
        if name is None:
            continue
        made = _CONTAINERS.get(type(assignment.value))
        for container in ("ModuleList", "ModuleDict") if made is None else (made,):
            call = cst.Call(
                cst.parse_expression(f"{_alias(program.module)}.{container}"),
                [cst.Arg(assignment.value)],
            )
            yield _Edit(assignment.value, f"Keep {name} in a {container}.", call)


def _alias(module: cst.Module) -> str:
    """What the program calls ``torch.nn``."""
    for statement in module.body:
        if not isinstance(statement, cst.SimpleStatementLine):
            continue
        for part in statement.body:
            if isinstance(part, cst.ImportFrom | cst.Import) and not isinstance(
                part.names, cst.ImportStar
            ):
                origin = f"{_dotted(part.module)}." if isinstance(part, cst.ImportFrom) else ""
                for name in part.names:
                    if origin + _dotted(name.name) == "torch.nn" and (name.asname or origin):
                        return _dotted(name.asname.name) if name.asname else "nn"
    return "torch.nn"


def _dotted(node: cst.CSTNode | None) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _name(node: cst.CSTNode) -> str:
    """The last name of what is called: ``no_grad`` of ``torch.no_grad()``."""
    if isinstance(node, cst.Call):
        node = node.func
    if isinstance(node, cst.Attribute):
        node = node.attr
    return node.value if isinstance(node, cst.Name) else ""


def _input(call: cst.Call, method: cst.Attribute) -> cst.BaseExpression:
    """What a method, or a function of a module, is called of."""
    return call.args[0].value if call.args else method.value


def _joined(call: cst.Call, function: cst.Attribute) -> cst.BaseExpression:
    """``torch.tensor([a, b])`` as ``torch.stack([a, b])``, and ``torch.tensor(a)`` as ``a``."""
    first = call.args[0]
    if not isinstance(first.value, cst.List | cst.Tuple | cst.ListComp):
        return first.value
    only = first.with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(func=function.with_changes(attr=cst.Name("stack")), args=[only])


def _is_false(call: cst.Call) -> bool:
    return len(call.args) == 1 and _name(call.args[0].value) == "False"


def _not_reentrant(call: cst.Call) -> cst.Call:
    name = "use_reentrant"
    given = [arg for arg in call.args if arg.keyword is None or arg.keyword.value != name]
    return call.with_changes(args=[*given, _keyword(name, "False")])


def _clamped(call: cst.Call, method: cst.Attribute) -> cst.Call:
    """``log(x)`` as ``log(x.clamp(min=1e-8))``, a method or a function of a module."""
    value = _input(call, method)
    is_simple = isinstance(value, cst.Name | cst.Attribute | cst.Call | cst.Subscript)
    if not is_simple and not value.lpar:
        value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    clamped = cst.Call(cst.Attribute(value, cst.Name("clamp")), [_keyword("min", _LEAST)])
    if call.args:
        return call.with_changes(args=[call.args[0].with_changes(value=clamped), *call.args[1:]])
    return call.with_changes(func=method.with_changes(value=clamped))


def _keyword(name: str, value: str) -> cst.Arg:
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(cst.parse_expression(value), keyword=cst.Name(name), equal=tight)
