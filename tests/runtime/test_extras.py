"""Optional packages are imported behind one guard, and what needs none does without all of them."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gradwire.blocks.errors import FileError, RunError
from gradwire.runtime import extras
from gradwire.runtime.gc_pause import uncollected
from gradwire.runtime.interchange.importing.formats import FORMATS
from tests.runtime import plain_numbers
from tests.test_house import BROUGHT_BY, MODULES, PROJECT, ROOT, is_type_checking, name_of, text_of

FORMATS_ROOM = "gradwire.runtime.interchange.importing"
APP = "gradwire.app"
PROGRAMS = "gradwire.runtime.programs"
OF_CAPTURES = (
    "capture", "inspection", "known", "orders", "passing", "recorded", "steps", "without_effect",
)  # fmt: skip
"""What captures alone import of the room that reads files of PyTorch as well."""
HOSTS = (
    "ignite", "keras", "lightning", "mlflow", "optax", "pytorch_lightning", "transformers", "wandb",
)  # fmt: skip
"""What callbacks are for: each module is imported by a program that has its host."""
ROOMS = {
    "jax": ("gradwire.runtime.engine.jax", f"{FORMATS_ROOM}.jax"),
    "torch": (
        *(f"{FORMATS_ROOM}.torch.{room}" for room in OF_CAPTURES),
        "gradwire.runtime.watch.torch",
    ),
    "onnx": (f"{FORMATS_ROOM}.onnx",),
    "google.protobuf": (f"{FORMATS_ROOM}.onnx", f"{FORMATS_ROOM}.tensorflow"),
    "h5py": (f"{FORMATS_ROOM}.keras",),
    **dict.fromkeys([name for name, extra in extras.EXTRA_OF.items() if extra == "app"], (APP,)),
    **dict.fromkeys(HOSTS, ("gradwire.runtime.watch.integrations",)),
    "libcst": (f"{PROGRAMS}.patches", f"{PROGRAMS}.repairing"),
    "mcp": (f"{PROGRAMS}.assistants",),
    "pytest": (f"{PROGRAMS}.pytest_plugin",),  # which imports it
    "shiboken6": (APP,),
    "threadpoolctl": (APP,),  # whose extra brings it too
}
"""Where each optional package may be imported at will: who enters from outside has asked for it."""

ASKS_THE_PROCESS = {
    ("gradwire.runtime.interchange.importing.capturing", "torch"),
    ("gradwire.runtime.watch.entry", "torch"),
    ("gradwire.runtime.watch", "torch"),
}
"""Who enters without asking: a model of PyTorch is in a process that has imported it."""

REQUIRED = {re.split(r"[^\w-]", need)[0] for need in PROJECT["dependencies"]} | {"pydantic_core"}
OWN = {"gradwire"}
NAMES = {name_of(path) for path in MODULES}


class Import(NamedTuple):
    """A module that is imported while another one runs."""

    by: str
    line: int
    target: str
    asked: frozenset[str]
    """The packages that were asked for before, in the same function."""


def imports(path: Path) -> Iterator[Import]:
    """What a module imports when it runs."""
    text = text_of(path)
    only_statements = "import_module" not in text
    waiting: list[tuple[ast.AST, ast.AST | None]] = [(ast.parse(text), None)]
    while waiting:
        node, function = waiting.pop()
        if is_type_checking(node) or (only_statements and isinstance(node, ast.expr)):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node
        waiting += [(inner, function) for inner in ast.iter_child_nodes(node)]
        for target in targets(node):
            line = getattr(node, "lineno", 0)
            yield Import(name_of(path), line, target, asked_before(line, function))


def asked_before(line: int, function: ast.AST | None) -> frozenset[str]:
    """The packages that a function asks for above a line."""
    return frozenset(
        str(call.args[0].value)
        for call in (ast.walk(function) if function else ())
        if isinstance(call, ast.Call)
        and call.lineno < line
        and ast.unparse(call.func) in ("extras.require", "extras.installed")
        and isinstance(call.args[0], ast.Constant)
    )


def targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if name in NAMES else str(node.module) for name in inner]
    if isinstance(node, ast.Call) and "import_module" in (
        getattr(node.func, "id", ""),
        getattr(node.func, "attr", ""),
    ):
        name = node.args[0]
        head = name.values[0] if isinstance(name, ast.JoinedStr) else name
        return [str(head.value).rstrip(".")] if isinstance(head, ast.Constant) else []
    return []


@cache
@uncollected()
def all_imports() -> list[Import]:
    """What the modules of the house import."""
    return [each for path in MODULES for each in imports(path)]


def is_in(module: str, *rooms: str) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def package_of(target: str) -> str | None:
    """The optional package to which a module belongs, if any."""
    top = target.partition(".")[0]
    if top in sys.stdlib_module_names | REQUIRED | OWN:
        return None
    return next((known for known in {**extras.EXTRA_OF, **ROOMS} if is_in(target, known)), top)


def test_an_optional_package_is_imported_where_it_was_asked_for() -> None:
    seen = [(each, package) for each in all_imports() if (package := package_of(each.target))]
    assert {package for _, package in seen} >= {"llvmlite", "jax", "onnx", "torch", "distributed"}
    wild = [
        f"{each.by}:{each.line} imports {each.target}"
        for each, package in seen
        if package not in each.asked and not is_in(each.by, *ROOMS.get(package, ()))
    ]
    assert wild == [], 'Call extras.require("PACKAGE", …) before, in the same function.'


def test_the_rooms_of_an_optional_package_are_entered_by_who_asked_for_it() -> None:
    entered = [
        (each, package)
        for each in all_imports()
        for package, rooms in ROOMS.items()
        if rooms != (APP,) and is_in(each.target, *rooms) and not is_in(each.by, *rooms)
    ]
    assert {each.by for each, package in entered if package == "jax"} >= {
        "gradwire.runtime.engine.session.engines",
        "gradwire.runtime.interchange.importing.capturing",
    }
    wild = [
        f"{each.by}:{each.line} imports {each.target}"
        for each, package in entered
        if package not in each.asked and (each.by, package) not in ASKS_THE_PROCESS
    ]
    assert wild == [], 'Call extras.require("PACKAGE", …) before, in the same function.'


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.title)
def test_a_format_asks_for_what_its_room_imports(known: Any) -> None:
    room = f"{FORMATS_ROOM}.{known.read.partition('.')[0]}"
    inside = {
        package
        for each in all_imports()
        if is_in(each.by, room) and (package := package_of(each.target))
        and not is_in(each.by, *ROOMS["torch"])
    }  # fmt: skip
    assert inside == set(known.needs)


def test_only_one_module_looks_for_packages_and_says_how_to_install_them() -> None:
    texts = {name_of(path): text_of(path) for path in MODULES}
    looking = {name for name, text in texts.items() if "import find_spec" in text}
    assert {name.removesuffix(".__init__") for name in looking} <= {
        "gradwire.runtime.extras",
        "gradwire.runtime.public.gradwire",
    }
    assert {name for name, text in texts.items() if "gradwire[" in text} == {
        "gradwire.runtime.extras"
    }


def test_the_extras_are_those_of_the_installation() -> None:
    declared = PROJECT["optional-dependencies"]
    names = {
        extra: {re.split(r"[^\w-]", need)[0].lower() for need in needs}
        for extra, needs in declared.items()
    }
    brought = {}
    for package, extra in extras.EXTRA_OF.items():
        top = package.partition(".")[0].lower()
        name = BROUGHT_BY.get(top, top.replace("_", "-"))
        assert name in names[extra], package
        brought[name] = package
    assert {need for extra in set(extras.EXTRA_OF.values()) for need in names[extra]} == set(
        brought
    )


def test_a_package_that_is_missing_is_refused_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(RunError, match=r"^Drawing needs PySide6, which is not installed") as caught:
        extras.require("PySide6", "Drawing", note="No screen is needed.")
    how = 'Install it: pip install "gradwire[app]". No screen is needed.'
    assert caught.value.next_step == how
    with pytest.raises(FileError, match=r"net\.keras"):
        extras.require("h5py", "Reading", FileError, path="net.keras")


def test_a_package_in_a_package_that_is_missing_is_not_installed() -> None:
    assert not extras.installed("nowhere_to_be_found.inside")


def test_a_folder_that_was_left_behind_is_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "left_behind" / "__pycache__").mkdir(parents=True)
    assert not extras.installed("left_behind")
    (tmp_path / "left_behind" / "__init__.py").touch()
    assert extras.installed("left_behind")
    assert extras.place("left_behind") == tmp_path / "left_behind" / "__init__.py"


class Plain(NamedTuple):
    """What came of a process in which no optional package can be imported."""

    numbers: dict[str, list[float]]
    plans: int
    refusals: dict[str, str]
    modules: list[str]


REFUSED = {package.partition(".")[0] for package in {**extras.EXTRA_OF, **ROOMS}}


@pytest.fixture(scope="module")
def plain() -> Plain:
    """One process for all tests."""
    path = os.pathsep.join(map(str, (ROOT, ROOT / "runtime" / "public")))
    done = subprocess.run(
        [sys.executable, "-m", plain_numbers.__name__, *REFUSED],
        env=os.environ | {"PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return Plain(*json.loads(done.stdout))


@pytest.mark.night
def test_without_optional_packages_all_numbers_are_the_same(plain: Plain) -> None:
    expected = plain_numbers.numbers()
    assert plain.numbers.keys() == expected.keys()
    for name, numbers in expected.items():
        assert plain.numbers[name] == pytest.approx(numbers, rel=1e-4, abs=1e-7), name


@pytest.mark.night
def test_without_a_compiler_passes_leave_programs_to_numpy(plain: Plain) -> None:
    assert plain.plans > 10
    assert not {name.partition(".")[0] for name in plain.modules} & REFUSED - {"google"}


def test_what_needs_an_optional_package_says_how_to_install_it(plain: Plain) -> None:
    assert len(plain.refusals) == 13
    for name, text in plain.refusals.items():
        assert extras.command(name.partition(" ")[0]) in text, (name, text)
