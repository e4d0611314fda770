"""What an extension needs besides its code. A failure says what to add, and where.

States have tests of their own, tests/runtime/flow/words/test_states.py; so have menu entries,
tests/app/shell/.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradwire.blocks import Source
from gradwire.blocks.registry import registry
from gradwire.runtime.cli.entry import COMMANDS
from gradwire.runtime.engine.plan import passes as passes_room
from gradwire.runtime.engine.plan.passes import late as passes
from tests.blocks.examples import EXAMPLES
from tests.runtime.calculus.cases import CASES
from tests.runtime.calculus.test_primitives import table
from tests.runtime.engine.plan.passes.test_passes import EAGER

ROOT = Path(__file__).parents[1]
PEERS = [ROOT / "tests/runtime/calculus/peers" / name for name in ("pytorch.py", "jax.py")]
VIEWS = {"Plot", "Scatter", "Image", "Histogram", "Field"}
"""Blocks that compute nothing; test_views shows what they leave as it is."""
WITHOUT_EXAMPLE = {"Page", "Scan", "Pack", "Unpack", "Pick", "Merge", "Recorded", *VIEWS}
"""Page and Scan have the ports of another page, and the diagram's tests run them; Recorded holds
for one run; the others work on trees, which test_containers makes."""

WITHOUT_PEER = {
    "Page", "PageInput", "PageOutput", "Display",  # pass what they get
    "Scan",  # has the arithmetic of its page: test_scans compares it with jax.lax.scan
    "Pack", "Unpack", "Pick", "Merge",  # sort the leaves of trees
    "Loss", "Gradient",  # are what the gradients of whole diagrams are compared with
    "RandomNormal", "RandomUniform", "Dropout",  # have another generator in every system
    *VIEWS,
    "Dataset",  # has data instead of arithmetic
    "Recorded",  # holds for one run of a program of theirs: test_recorded.py
}  # fmt: skip
"""Blocks that are not compared with PyTorch and JAX on arrays."""


def named_in(pattern: str, *paths: Path) -> set[str]:
    """What a pattern's group matches in files, and in the Python files of folders."""
    files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
    return {name for file in files for name in re.findall(pattern, file.read_text(), re.MULTILINE)}


def modules(folder: str) -> set[str]:
    """Dotted names of the modules of a folder, however deep."""
    files = [path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py")]
    names = {".".join(file.with_suffix("").parts) for file in files if file.stem != "__init__"}
    return {f"gradwire.{name}" for name in names}


def imported(*folders: Path) -> set[str]:
    """Modules that the Python files of folders import; ``from package import name`` is both."""
    found = set()
    for file in (file for folder in folders for file in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
            elif isinstance(node, ast.Import):
                found |= {each.name for each in node.names}
    return found


def blocks() -> set[str]:
    """Block types that take inputs."""
    kinds = registry().classes.values()
    return {each.type_name() for each in kinds if not issubclass(each, Source)}


def pass_modules() -> set[str]:
    """Modules of passes: those with a function of their own name, and those that have several;
    others serve these.
    """
    return set(pass_files())


def pass_files() -> dict[str, Path]:
    """The file of every module of a pass."""
    package = passes_room
    several = {each.__module__ for each in (*passes.DEFAULT, *passes.FAST)}
    found = {}
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        name = each.name.rpartition(".")[2]
        module = importlib.import_module(each.name)
        if not each.ispkg and (hasattr(module, name) or each.name in several):
            found[name] = Path(str(module.__file__))
    return found


def passes_with_a_size() -> set[str]:
    """Passes that leave small arrays or few tasks alone."""
    constants = r"^(LARGE|SMALLEST|SHORTEST|FEWEST)\b"
    return {name for name, file in pass_files().items() if named_in(constants, file)}


@dataclass(frozen=True)
class Guide:
    """Extensions of one sort, those that have what they need, and what the others lack."""

    extensions: Callable[[], set[str]]
    complete: Callable[[], set[str]]
    advice: str


GUIDES = {
    "block": Guide(
        blocks,
        lambda: {example.block.type_name() for example in EXAMPLES} | WITHOUT_EXAMPLE,
        "Block {0} has no example: add Example({0}(), inputs) to EXAMPLES in "
        "tests/blocks/examples.py; the contract tests then run it.",
    ),
    "block, in other systems": Guide(
        blocks,
        lambda: named_in(r'"(\w+)":', *PEERS) | WITHOUT_PEER,
        "Block {0} is not compared with other systems: add what it is in them to FUNCTIONS in "
        "tests/runtime/calculus/peers/pytorch.py and jax.py, and arrays to comparisons.py there; "
        "or, if no system has it, its name to WITHOUT_PEER in tests/test_extension_points.py.",
    ),
    "primitive": Guide(
        lambda: {primitive.name for primitive in table()},
        lambda: {case.primitive for case in CASES},
        'Primitive {0} has no case: add Case("{0}", call, inputs, formula) to CASES in '
        "tests/runtime/calculus/cases.py; it is then compared with the formula and differences.",
    ),
    "primitive, on JAX": Guide(
        lambda: {primitive.name for primitive in table()} - {"leaf", "constant"},
        lambda: (
            named_in(r'^    "(\w+)": ', ROOT / "runtime/engine/jax/rows")
            | {primitive.name for primitive in table() if isinstance(primitive.spelling.jax, str)}
        ),
        "Primitive {0} is not spelled for JAX: give its Spelling jax=, or, where that takes more "
        'than an expression, add "{0}": Row(function) to ROWS of its family in '
        "runtime/engine/jax/rows/; and special numbers to tests/runtime/engine/jax/rows/.",
    ),
    "command": Guide(
        lambda: {
            name.rpartition(".")[2].removesuffix("_")  # import_ is the command import
            for room in ("commands", "interchange", "programs", "runs", "versions")
            for name in modules(f"runtime/cli/{room}")
        },
        lambda: set(COMMANDS),
        "Command {0} can't be called: add its name and summary to COMMANDS in "
        "runtime/cli/__init__.py.",
    ),
    "command, its test": Guide(
        lambda: set(COMMANDS),
        lambda: named_in(r'gradwire\(\s*"(\w+)"', ROOT / "tests"),
        'Command {0} has no test: call gradwire("{0}", ...) in '
        "tests/runtime/cli/commands/test_{0}.py.",
    ),
    "command, its documentation": Guide(
        lambda: set(COMMANDS),
        lambda: named_in(r"gradwire (\w+)", ROOT / "assets" / "manual" / "command-line.md"),
        "Command {0} is not documented: add a section with `gradwire {0}` to "
        "assets/manual/command-line.md.",
    ),
    "report": Guide(
        lambda: modules("runtime/publish"),
        lambda: imported(ROOT / "tests", ROOT / "runtime" / "cli"),
        "Report {0} is neither tested nor shown by a command: add a test to "
        "tests/runtime/publish/, or call it in a command of runtime/cli/commands/.",
    ),
    "panel": Guide(
        lambda: modules("app/panels"),
        lambda: imported(ROOT / "tests", ROOT / "app"),
        "Panel {0} is never shown: add it to app/shell/docks.py or to what opens it, and a test "
        "with real events to tests/app/panels/.",
    ),
    "pass": Guide(
        pass_modules,
        lambda: {each.__module__.rpartition(".")[2] for each in passes.FAST},
        "Pass {0} is never used: add it to FAST, and to DEFAULT if it needs no machine code, in "
        "runtime/engine/plan/passes/late.py; the tests then force it on and off.",
    ),
    "pass, forced on": Guide(
        passes_with_a_size,
        lambda: set(EAGER),
        "Pass {0} leaves small arrays alone, which all arrays of its tests are: add its least "
        "sizes to EAGER in tests/runtime/engine/plan/passes/test_passes.py.",
    ),
}


@pytest.mark.night
@pytest.mark.parametrize("extension", GUIDES)
def test_an_extension_has_what_it_needs(extension: str) -> None:
    guide = GUIDES[extension]
    incomplete = sorted(guide.extensions() - guide.complete())
    assert not incomplete, "\n".join(guide.advice.format(name) for name in incomplete)


def test_every_guide_finds_extensions() -> None:
    assert [name for name, guide in GUIDES.items() if not guide.extensions()] == []


def test_what_is_tested_exists() -> None:
    assert GUIDES["block"].complete() - blocks() <= set(registry().classes)
    assert GUIDES["primitive"].complete() <= GUIDES["primitive"].extensions()
    assert GUIDES["pass, forced on"].complete() <= pass_modules()
