"""Budgets of the house: lines of a package, methods of a class, imports past a room's door.

``budgets.toml`` has them. A commit that needs more raises a number there, with its reason.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path

import pytest

from gradwire.runtime.gc_pause import uncollected
from tests.test_house import MODULES, PYPROJECT, ROOT, name_of, text_of

PATH = Path(__file__).with_name("budgets.toml")
BUDGETS: Mapping[str, Mapping[str, int]] = tomllib.loads(PATH.read_text(encoding="utf-8"))
MOST_METHODS = 40
"""Methods that a class may have, those of its bases in the house included."""
LEAST = 0.8
"""The share of a budget that is used, or the budget is to be lowered."""
PRODUCT = [path for path in MODULES if path.parts[len(ROOT.parts)] != "assets"]


def problems(
    table: str, found: Mapping[str, int], all_budgets: Mapping[str, Mapping[str, int]] = BUDGETS
) -> list[str]:
    """What is over or far below its budget, and what to do."""
    budgets = all_budgets[table]
    asked = f"make it smaller, or raise {table} in tests/budgets.toml with a comment that says why"
    what: list[str] = []
    for name in sorted({*found, *budgets}):
        got, most = found.get(name, 0), budgets.get(name, 0)
        if got > most:
            what.append(f"{name}: expected at most {most}, got {got}; {asked}")
        elif got < LEAST * most:
            step = (
                f"lower {table} in tests/budgets.toml to that" if got else f"drop it from {table}"
            )
            what.append(f"{name}: expected {LEAST:.0%} of {most} at least, got {got}; {step}")
    return what


def test_a_budget_is_neither_exceeded_nor_kept_when_it_is_not_needed() -> None:
    found = {"a": 11, "b": 8, "c": 7, "d": 1}
    wrong = problems("lines", found, {"lines": {"a": 10, "b": 10, "c": 10, "e": 5}})
    assert [line.partition(";")[0] for line in wrong] == [
        "a: expected at most 10, got 11",
        "c: expected 80% of 10 at least, got 7",
        "d: expected at most 0, got 1",
        "e: expected 80% of 5 at least, got 0",
    ]


def package_of(path: Path) -> str:
    """The package whose budget a file counts for: a room, or a whole floor without rooms."""
    floor, *rest = path.relative_to(ROOT).parts
    return f"{floor}/{rest[0]}" if floor in ("app", "runtime") and len(rest) > 1 else floor


@pytest.mark.checkout
def test_each_package_keeps_to_its_lines() -> None:
    found: Counter[str] = Counter()
    for floor in ("app", "blocks", "runtime", "tests"):
        for path in (ROOT / floor).rglob("*"):
            if path.suffix in (".py", ".js") and "node_modules" not in path.parts:
                found[package_of(path)] += path.read_bytes().count(b"\n")
    assert not (wrong := problems("lines", found)), "\n".join(wrong)


# ---- what modules say ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """What a module, or a stub, imports and defines."""

    imported: list[str]
    """The modules that it imports from, once for each statement."""
    origins: dict[str, str]
    """What it imports by name: its dotted name by the name it has there."""
    classes: dict[str, tuple[set[str], list[str]]]
    """Its classes, each with its methods and the names of its bases."""
    texts: set[str]
    """Its texts, without what documents it."""


@cache
def said(path: Path) -> Said:
    """What a module says; it is read once."""
    found = Said([], {}, {}, set())
    waiting: list[ast.AST] = [ast.parse(text_of(path))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found.imported.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.imported.append(node.module)
            names = {alias.asname or alias.name: alias.name for alias in node.names}
            found.origins.update({name: f"{node.module}.{of}" for name, of in names.items()})
        elif isinstance(node, ast.ClassDef):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            bases = [each.value if isinstance(each, ast.Subscript) else each for each in node.bases]
            found.classes[node.name] = methods, [ast.unparse(base) for base in bases]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.texts.add(node.value)
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            waiting += ast.iter_child_nodes(node)
    return found


@cache
@uncollected()
def product() -> Mapping[str, Said]:
    """All modules of the product, by name."""
    return {name_of(path): said(path) for path in PRODUCT}


# ---- methods ------------------------------------------------------------------------------------


@cache
def exported() -> Mapping[str, str]:
    """Where what a package exports is defined."""
    return {
        f"{name_of(path)}.{name}": origin
        for floor in ("app", "blocks", "runtime")
        for path in (ROOT / floor).rglob("*.pyi")
        for name, origin in said(path).origins.items()
    }


@cache
def methods_of(module: str, name: str) -> frozenset[str]:
    """The methods of a class and of its bases in the house."""
    here = product()[module]
    found, bases = here.classes[name]
    for base in bases:
        origin = here.origins.get(base, f"{module}.{base}")
        of, _, called = exported().get(origin, origin).rpartition(".")
        if of in product() and called in product()[of].classes and (of, called) != (module, name):
            found = found | methods_of(of, called)
    return frozenset(found)


def test_no_class_has_too_many_methods() -> None:
    numbers = {
        f"{module}.{name}": len(methods_of(module, name))
        for module, here in product().items()
        for name in here.classes
    }
    large = {name: number for name, number in numbers.items() if number > MOST_METHODS}
    assert not (wrong := problems("methods", large)), "\n".join(wrong)


def test_methods_of_bases_count() -> None:
    base = methods_of("gradwire.runtime.calculus.primitives.elementwise", "ElementwiseOps")
    assert base < methods_of("gradwire.runtime.calculus.namespace", "Namespace")


# ---- doors --------------------------------------------------------------------------------------


def test_rooms_of_the_runtime_are_entered_by_their_doors() -> None:
    """What a room exports is its interface: ``from gradwire.runtime.flow import State``."""
    rooms = {path.name for path in (ROOT / "runtime").iterdir() if path.is_dir()}
    found: Counter[str] = Counter()
    for path in PRODUCT:
        own = package_of(path)
        for module in said(path).imported:
            deep = re.match(r"gradwire\.runtime\.(\w+)\.\w", module)
            if deep and deep[1] in rooms and own != f"runtime/{deep[1]}":
                found[own] += 1
    assert not (wrong := problems("past_the_door", found)), "\n".join(wrong)


UPWARD = {
    # Commands that open a window or draw: the command line lies below the editor, which most
    # installations don't have.
    ("gradwire.runtime.cli.commands.edit", "gradwire.app.shell.application"),
    ("gradwire.runtime.cli.commands.picture", "gradwire.app.pictures."),
    ("gradwire.runtime.cli.versions.merge", "gradwire.app.shell.merging"),
    # What a notebook shows of a diagram is a page.
    ("gradwire.runtime.diagram.model", "gradwire.runtime.publish.living.notebook"),
    # Not imported: frames of these modules are not the user's program.
    ("gradwire.blocks.formulas.nodes", "gradwire.runtime.build"),
    ("gradwire.blocks.formulas.nodes", "gradwire.runtime.page_functions"),
    ("gradwire.blocks.formulas.nodes", "gradwire.runtime.recurrent"),
}
"""Modules above that are named in texts, each with its reason."""


def layers(name: str) -> list[list[str]]:
    """The rooms of a contract on layers, from above, those beside each other together."""
    (found,) = (
        each for each in PYPROJECT["tool"]["importlinter"]["contracts"] if each["name"] == name
    )
    return [[room.strip("() ") for room in layer.split("|")] for layer in found["layers"]]


def heights() -> dict[str, int]:
    """How high each floor and room lies."""
    order = [["gradwire.app"]]
    for layer in layers("Rooms of the runtime"):
        order.append([f"gradwire.runtime.{room}" for room in layer])
    order.append(["gradwire.blocks"])
    return {room: -place for place, rooms in enumerate(order) for room in rooms}


def height(module: str, of: Mapping[str, int]) -> float:
    """How high the room of a module lies, or its floor; as low as can be for what is none."""
    parts = module.split(".")
    return of.get(".".join(parts[:3]), of.get(".".join(parts[:2]), -inf))


def test_nothing_is_imported_from_above_behind_a_text() -> None:
    of = heights()
    found = {
        (module, text)
        for module, here in product().items()
        for text in here.texts
        if -inf < height(module, of) < height(text, of)
    }
    assert found == UPWARD, "Import what lies above from above: pass it in, or move what needs it."
