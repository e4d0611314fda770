"""The house itself: floors, what an import costs, names, exports, versions."""

from __future__ import annotations

import ast
import importlib.resources
import inspect
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from gradwire.blocks import errors
from gradwire.runtime.gc_pause import uncollected
from gradwire.runtime.version import __version__

ROOT = Path(__file__).parents[1]
PACKAGES = ("app", "runtime", "blocks", "assets")
MODULES = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]

QT = {"PySide6", "shiboken6", "gradwire.app"}
SLOW = {"safetensors", "typer", "rich", "jsonschema", "importlinter", "onnx", "h5py", "google"}


def loaded_by(statement: str) -> set[str]:
    """Names of all modules that the statement leaves imported, in a fresh interpreter."""
    code = f"{statement}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def name_of(path: Path) -> str:
    """Dotted name of a module of the package."""
    parts = ("gradwire", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


BROUGHT_BY = {
    "google": "protobuf",
    "pyside6": "pyside6-essentials",
    "shiboken6": "pyside6-essentials",
    "pydantic_core": "pydantic",
    "importlinter": "import-linter",
    "distributed": "dask",
    "markdown_it": "markdown-it-py",
    "pil": "pillow",
    "yaml": "pyyaml",
    "grimp": "import-linter",
    "pytestqt": "pytest-qt",
}
"""Modules whose distribution has another name."""
BY_HAND = {
    "diffusers", "entmax", "gpytorch", "gymnasium", "kornia", "lightly", "peft", "snntorch",
    "segmentation_models_pytorch", "stable_baselines3", "timm", "torch_geometric", "torchvision",
    "transformers", "vector_quantize_pytorch", "x_transformers",
}  # fmt: skip
"""Libraries whose models ``python -m tests.truth`` captures: no test needs them."""


IMPORT = re.compile(r"^\s*(?:import|from)\s+(\w.*)", re.MULTILINE)


@cache
def text_of(path: Path) -> str:
    """What stands in a module."""
    return path.read_text(encoding="utf-8")


@cache
def dotted_imports_of(path: Path) -> set[str]:
    """Names of all that a module imports; ``from package import name`` is both."""
    found = set()
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def imports_of(path: Path, known: set[str]) -> set[str]:
    """Names of the top-level packages that a module imports, other than the known ones."""
    named = {
        name.split()[0].partition(".")[0]
        for line in IMPORT.findall(text_of(path))
        for name in line.partition(" import ")[0].split(",")
    }
    if {name.lower() for name in named} <= known:  # without a look at what only seems to be one
        return set()
    return {name.partition(".")[0].lower() for name in dotted_imports_of(path)} - known


@pytest.mark.parametrize(
    "module",
    [
        "gradwire.blocks",
        "gradwire.runtime",
        "gradwire.runtime.diagram",
        "gradwire.runtime.engine",
        "gradwire.runtime.flow",
        "gradwire.runtime.publish",
    ],
)
def test_the_lower_floors_import_neither_qt_nor_what_they_rarely_need(module):
    assert not loaded_by(f"import {module}") & (QT | SLOW)


def test_finding_the_blocks_imports_neither_qt_nor_what_it_rarely_needs():
    assert not loaded_by("from gradwire.blocks.registry import registry; registry()") & (QT | SLOW)


def test_the_command_line_imports_a_command_only_when_it_is_called():
    loaded = loaded_by("import gradwire.runtime.cli.entry")
    assert not loaded & (QT | SLOW - {"typer"} | {"gradwire.runtime.engine"})


def test_running_a_diagram_needs_no_qt_and_no_rich_in_a_pipe():
    path = "assets/diagrams/mxnet_seed.gradwire.json"
    loaded = loaded_by(
        f"import gradwire.runtime.cli.entry as c; assert c.main(['run', {path!r}]) == 0"
    )
    assert not loaded & (QT | SLOW - {"typer"})


@pytest.mark.night
def test_the_import_contracts_hold(tmp_path):
    package = tmp_path / "gradwire"  # as it is once installed; a source distribution has no .types
    package.mkdir()
    for part in [*(ROOT / "runtime/public/gradwire").glob("*.py*"), *map(ROOT.joinpath, PACKAGES)]:
        (package / part.name).symlink_to(part)
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", lint],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_errors_are_exported():
    made_here = {
        name
        for name, item in vars(errors).items()
        if inspect.isclass(item) and item.__module__ == "gradwire.blocks.errors"
    }
    assert set(errors.__all__) == made_here
    assert errors.__all__ == sorted(errors.__all__)


def test_the_error_tree_is_drawn_as_it_is():
    drawn = errors.__doc__ or ""
    for name in errors.__all__:
        error = getattr(errors, name)
        if issubclass(error, errors.GradwireError):
            assert name in drawn


def test_a_module_says_what_it_is_for():
    silent = [
        path
        for path in MODULES
        if not text_of(path).startswith('"""') and not ast.get_docstring(ast.parse(text_of(path)))
    ]
    assert [name_of(path) for path in silent] == []


def test_no_room_is_named_after_nothing():
    nothing = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
    assert [name_of(path) for path in MODULES if path.stem in nothing] == []


def test_dataclasses_are_those_that_cost_little_to_define():
    taken = [
        name_of(path)
        for path in MODULES
        if re.search(r"from dataclasses import .*\bdataclass\b", text_of(path))
    ]
    assert taken == ["gradwire.blocks.classes.dataclass"], (
        "Import dataclass from gradwire.blocks.classes.dataclass"
    )


@pytest.mark.parametrize(
    "name",
    [
        "gradwire.blocks",
        "gradwire.runtime.calculus",
        "gradwire.runtime.diagram",
        "gradwire.runtime.engine",
        "gradwire.runtime.flow",
    ],
)
def test_what_a_package_exports_is_there(name):
    package = importlib.import_module(name)
    assert all(hasattr(package, item) for item in package.__all__)


def test_the_base_install_is_headless():
    assert not any("PySide6" in need for need in PROJECT["dependencies"])
    assert any("PySide6-Essentials" in need for need in PROJECT["optional-dependencies"]["app"])


def test_who_develops_has_what_the_extras_bring():
    """Nothing is skipped where the whole suite must pass."""
    assert "gradwire[app,fast,docs,interchange,fix,mcp]" in PROJECT["optional-dependencies"]["dev"]


@pytest.mark.parametrize(
    ("floors", "extras"),
    [
        (
            ("blocks", "runtime"),
            ("cluster", "fast", "fix", "interchange", "jax", "mcp", "peers"),
        ),  # peers: captured there
        (("app",), ("app",)),
        (
            ("tests",),
            ("dev", "app", "cluster", "fast", "fix", "interchange", "jax", "mcp", "peers"),
        ),
    ],
)
def test_what_is_imported_is_declared(floors, extras):
    needs = [
        *PROJECT["dependencies"],
        *(n for e in extras for n in PROJECT["optional-dependencies"][e]),
    ]
    declared = {re.split(r"[^\w-]", need)[0].lower() for need in needs} | set(PACKAGES)
    declared |= {"pytest"}  # which imports the plug-in of it
    declared |= {"gradwire", "tests"} | (BY_HAND if "tests" in floors else set())
    declared |= {module for module, name in BROUGHT_BY.items() if name in declared}
    paths = [path for floor in floors for path in (ROOT / floor).rglob("*.py")]
    known = declared | {name.lower() for name in sys.stdlib_module_names}
    assert {name for path in paths for name in imports_of(path, known)} == set()


ON_THE_NETWORK = {
    "gradwire.runtime.training.studies.cluster",  # talks to the cluster that the user names
    "gradwire.runtime.cli.display",  # asks whether the user's display answers
    "gradwire.runtime.cli.interrupt",  # a pair of sockets within the process
}
"""Modules that may import what opens connections; install.md says what goes over the network."""
NETWORK = {
    "socket", "socketserver", "ssl", "http", "urllib.request", "ftplib", "smtplib", "poplib",
    "imaplib", "xmlrpc", "webbrowser", "requests", "httpx", "websockets", "distributed",
    "PySide6.QtNetwork", "PySide6.QtWebSockets", "PySide6.QtWebEngineCore",
}  # fmt: skip

OPENS_ADDRESS = re.compile(r"openUrl(?!\(QUrl\.fromLocalFile\()")
"""Hands an address to a browser; what was written here may be opened."""


def test_nothing_else_uses_the_network():
    words = re.compile("|".join(each.rpartition(".")[2] for each in NETWORK))
    users = {
        name_of(path)
        for path in MODULES
        if words.search(text_of(path))
        for name in dotted_imports_of(path)
        if any(name == each or name.startswith(f"{each}.") for each in NETWORK)
    }
    assert users == ON_THE_NETWORK
    openers = [name_of(p) for p in MODULES if OPENS_ADDRESS.search(text_of(p))]
    assert not openers


def test_assets_are_data_of_the_installation():
    files = importlib.resources.files("gradwire.assets")
    assert files.joinpath("diagrams/mxnet_seed.gradwire.json").is_file()


def test_the_version_is_one_that_packaging_takes():
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def run_time_imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Modules of the house that a module imports when it runs, inside functions too."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(text_of(path))]
    while waiting:
        node = waiting.pop()
        if is_type_checking(node):
            continue
        if not isinstance(node, ast.expr):  # none has a statement in it
            waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & known.keys()) or {node.module}
    return found & known.keys()


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of modules each of which leads to all others of its set."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for module in graph[waiting.pop()] - seen:
                seen.add(module)
                waiting.append(module)
        reached[start] = seen
    found = [{b for b in reached[a] if a in reached[b]} for a in graph if a in reached[a]]
    return [one for place, one in enumerate(found) if one not in found[:place]]


IMPORTED_LATE = {
    (
        "gradwire.app.shell.windows",
        "gradwire.app.shell.main_window",
    ),  # a window can open another one
}
"""Imports inside a function that close a circle, each with its reason."""


@uncollected()
def test_no_imports_run_in_a_circle():
    known = {name_of(path): path for path in MODULES}
    graph = {name: run_time_imports(path, known) for name, path in known.items()}
    for module, target in IMPORTED_LATE:
        graph[module].remove(target)  # raises KeyError for one that is not needed any more
    assert circles(graph) == [], (
        "Modules import each other. Move what they share to a module below both; an import inside "
        "a function does not break the circle."
    )


ASSEMBLERS = {
    "gradwire.app.shell.main_window",
    "gradwire.app.shell.windows",
    "gradwire.app.shell.application",
}


def test_the_window_is_passed_to_nobody():
    takers = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if name_of(path) not in ASSEMBLERS and re.search("MainWindow|[.]_window", text_of(path))
        for node in ast.walk(ast.parse(text_of(path)))
        if "MainWindow" in (getattr(node, "id", ""), getattr(node, "name", ""))
        or (isinstance(node, ast.Constant) and node.value == "MainWindow")
        or (isinstance(node, ast.Attribute) and node.attr == "_window")
    ]
    assert takers == [], (
        "These take the whole main window. Name the collaborators in the constructor instead, or "
        "emit a signal that MainWindow connects."
    )


def test_every_module_of_the_editor_is_in_a_room():
    assert [p.name for p in (ROOT / "app").glob("*.py")] == ["__init__.py"]


MOST_ANY = 745
"""Lines of the product that say ``Any``, where nothing is checked: it only falls, and whoever types
something lowers it.
"""


def test_any_is_said_no_more_often():
    lines = [line for path in MODULES for line in text_of(path).splitlines()]
    found = sum(re.search(r"\bAny\b", line) is not None for line in lines)
    assert found <= MOST_ANY, f"Expected at most {MOST_ANY} lines with Any, got {found}."


MOST_LINES = 700
"""Lines that a module may have before it needs to be split."""


def test_no_module_is_too_long():
    lengths = {name_of(path): len(path.read_bytes().splitlines()) for path in MODULES}
    long = {name: lines for name, lines in lengths.items() if lines > MOST_LINES}
    assert not long, f"Modules of more than {MOST_LINES} lines; split them: {long}"
