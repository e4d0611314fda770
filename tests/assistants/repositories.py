"""The planted bugs of ``tests.truth`` as small repositories of plain PyTorch.

A program there is written with its bug and without, by a flag. Here the flag is decided, and what
goes by it is left out, with all comments and docstrings, so that nothing gives the bug away.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.truth.bugs import models
from tests.truth.cases import Case, cases_of

if TYPE_CHECKING:
    from types import ModuleType

_FLAG = "broken"
TASK = """# {asks}

That is what is seen of the training in `train.py`. Find out why, and mend it there, without
changing anything else of what it computes. `make()` returns the function that trains, or what gives
the loss, with its arguments; its name and its result stay as they are.
"""


@dataclass(frozen=True)
class Repository:
    """A program with a bug, and what comes of it once that is mended."""

    case: Case
    name: str

    @property
    def task(self) -> str:
        """What a solver is told."""
        asks = self.case.asks
        return TASK.format(asks=asks[0].upper() + asks[1:])

    def program(self, broken: bool) -> str:
        """The source of ``train.py``."""
        module = inspect.getmodule(self.case.capture)
        assert module is not None
        return _source(module, self.case.capture.__name__, broken)

    def write(self, folder: Path, broken: bool = True) -> Path:
        """Write it into a folder of its name there, which this returns."""
        place = folder / self.name
        place.mkdir(parents=True, exist_ok=True)
        (place / "models.py").write_text(inspect.getsource(models), "utf-8")
        (place / "train.py").write_text(self.program(broken), "utf-8")
        (place / "TASK.md").write_text(self.task, "utf-8")
        return place


def repositories() -> list[Repository]:
    """All, in the order of the bugs; their names say nothing."""
    return [Repository(case, f"bug{n:02}") for n, case in enumerate(cases_of("bugs"), 1)]


def _source(module: ModuleType, name: str, broken: bool) -> str:
    """A function of a module as a program of its own, with all that it needs."""
    tree = ast.parse(inspect.getsource(module))
    defined = dict(_definitions(tree))
    flagged = {n for n, node in defined.items() if _takes_flag(node)}
    folding = _Folding(broken, flagged)
    found: dict[str, ast.stmt] = {}
    pending = [name]
    while pending:
        each = pending.pop()
        if each in defined and each not in found:
            found[each] = folding.visit(defined[each])
            pending += [n.id for n in ast.walk(found[each]) if isinstance(n, ast.Name)]
    function = found[name]
    assert isinstance(function, ast.FunctionDef)
    function.name, function.decorator_list, function.returns = "make", [], None
    body = [node for node in defined.values() if node in found.values()]
    body = [x for x in dict.fromkeys(body) if x is not function] + [function]
    used = {n.id for x in body for n in ast.walk(x) if isinstance(n, ast.Name)}
    imports = filter(None, (_import(node, used) for node in tree.body))
    program = ast.Module([*imports, *body], [])
    return ast.unparse(ast.fix_missing_locations(program)) + "\n"


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from ((n.id, node) for n in ast.walk(target) if isinstance(n, ast.Name))


def _takes_flag(node: ast.stmt) -> bool:
    functions = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef)]
    if isinstance(node, ast.ClassDef):
        functions = [n for n in functions if n.name == "__init__"]
    return any(argument.arg == _FLAG for f in functions[:1] for argument in f.args.args)


def _import(node: ast.stmt, used: set[str]) -> ast.stmt | None:
    """What a program needs of an import; that of planted bugs is a file beside it."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return None
    names = [n for n in node.names if (n.asname or n.name).partition(".")[0] in used]
    if not names or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
        return None
    if isinstance(node, ast.Import):
        return ast.Import(names)
    own = node.module == models.__name__
    return ast.ImportFrom("models" if own else node.module, names, node.level)


class _Folding(ast.NodeTransformer):
    """Decides the flag, and leaves out what is never run then, comments and annotations of ours."""

    def __init__(self, broken: bool, flagged: set[str]) -> None:
        self._broken, self._flagged = broken, flagged

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_flag = node.id == _FLAG and isinstance(node.ctx, ast.Load)
        return ast.Constant(self._broken) if is_flag else node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if node.attr == _FLAG and isinstance(node.ctx, ast.Load):
            return ast.Constant(self._broken)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id in self._flagged:
            node.args = [a for a in node.args if not _is_flag(a)]
        self.generic_visit(node)
        if ast.unparse(node.func) == "gw.capture":
            program, *arguments = node.args
            return ast.Tuple([program, *arguments], ast.Load())
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        value = node.operand
        is_known = isinstance(node.op, ast.Not) and isinstance(value, ast.Constant)
        return ast.Constant(not value.value) if is_known else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        first, *rest = node.values
        if not isinstance(first, ast.Constant):
            return node
        is_last = first.value is isinstance(node.op, ast.Or)
        return first if is_last else rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        self.generic_visit(node)
        return node.body  # what tests put right again

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if any(isinstance(t, ast.Attribute) and t.attr == _FLAG for t in targets):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            kept = [(t, v) for t, v in zip(targets, values, strict=True) if not _is_flag(v)]
            if not kept:
                return None
            one = len(kept) == 1
            node.targets = [kept[0][0] if one else ast.Tuple([t for t, _ in kept], ast.Store())]
            node.value = kept[0][1] if one else ast.Tuple([v for _, v in kept], ast.Load())
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        arguments = node.args
        if any(a.arg == _FLAG for a in arguments.args):
            assert len(arguments.defaults) <= 1
            arguments.args = [a for a in arguments.args if a.arg != _FLAG]
            arguments.defaults = []
        self.generic_visit(node)
        node.body = _undocumented(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        node.body = _undocumented(node.body)
        return node


def _is_flag(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == _FLAG


def _undocumented(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return (body[1:] if is_text else body) or [ast.Pass()]
