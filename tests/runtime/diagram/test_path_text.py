"""Paths are taken apart and put together in runtime.diagram.paths alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradwire.runtime.gc_pause import uncollected

HOUSE = Path(__file__).parents[3]
SEPARATORS = {"/", ".", ":"}
CUTS = {"partition", "rpartition", "split", "rsplit"}
OWNERS = {
    "runtime/diagram/paths.py": "paths of what runs",
    "blocks/paths.py": "paths of leaves, and patterns for them",
    "blocks/terms.py": "names of terms of repeating inputs",
}
JUSTIFIED = {
    "runtime/diagram/files/records.py": "a parameter, and one of its arrays by name",
    "runtime/cli/programs/contracts.py": "a reference to what a program makes",
    "runtime/programs/answers.py": "places in files",
    "runtime/programs/child.py": "names of modules and attributes",
    "runtime/programs/inferring.py": "beginnings of patterns",
    "runtime/programs/patches.py": "names in source",
    "runtime/programs/projects.py": "names of tables",
    "runtime/programs/references.py": "revisions and files",
    "runtime/programs/reviews.py": "the last name of a path",
    "runtime/watch/diagram.py": "names of parameters of modules",
    "runtime/progress_bars.py": "how much of how much",
    "runtime/watch/torch/recorder.py": "names of attributes",
    "runtime/watch/torch/tensors.py": "names of parameters of modules",
    "blocks/errors.py": "locations and places in files, as messages show them",
    "blocks/block.py": "names of modules, and places in a file's record",
    "blocks/classes/dataclass.py": "attributes in source",
    "blocks/formulas/expressions.py": "methods of numpy's functions",
    "blocks/formulas/nodes.py": "lines of source files, and a port in a message",
    "blocks/library/convolution/convolutions.py": "a fraction",
    "blocks/library/parts.py": "slices",
    "blocks/importing/kinds.py": "names of modules",
    "blocks/registry.py": "names of modules",
    "runtime/publish/quiz.py": "a number and its tolerance in GIFT",
    "runtime/cli/display.py": "addresses of displays",
    "runtime/data/files/archives.py": "arrays of a file in a message, and names of dtypes",
    "runtime/data/files/csv_file.py": "the fields of a column, to look for a character",
    "runtime/diagram/edits/applying.py": "a page and a block in a message",
    "runtime/diagram/files/fields.py": "numbers of entries in a message",
    "runtime/diagram/files/tensors.py": "names of array files",
    "runtime/diagram/files/writing.py": "names of arrays in files",
    "runtime/engine/compiler/elements.py": "names of functions and variables of the compiler",
    "runtime/engine/compiler/regions.py": "names of variables of the compiler",
    "runtime/engine/compiler/tiles.py": "names of variables of the compiler",
    "runtime/engine/plan/native/machine.py": "numbers of versions",
    "runtime/engine/plan/native/writer.py": "names of functions of the compiler",
    "runtime/flow/tools/patterns.py": "a sentence after another",
    "runtime/cli/interchange/import_.py": "the name of a file",
    "runtime/interchange/export/code.py": "slices",
    "runtime/interchange/export/rows.py": "methods in source",
    "runtime/lessons/answers.py": "members of JSON, and decimals",
    "runtime/lessons/prediction.py": "a fraction",
    "runtime/public/gradwire/__init__.py": "names of modules",
    "runtime/publish/problems.py": "places in files",
    "runtime/engine/jax/jax_engine.py": "names of devices",
    "runtime/engine/jax/processes.py": "ends of sentences",
    "runtime/training/iterations/iteration_loop.py": "names of arrays in a state",
    "runtime/training/iterations/in_place.py": "names of arrays in a state",
    "runtime/training/saving/checkpoint.py": "names of files",
    "runtime/training/saving/fingerprint.py": "fields of a recipe in a message",
    "runtime/training/studies/varying.py": "fields of a recipe",
    "runtime/training/trainer.py": "names of arrays in a state, and of columns",
    "app/canvas/paint/blocks/faces.py": "names as long as a face has room for",
    "app/canvas/state/lanes.py": "a fraction",
}
ROOMS = {
    "runtime/interchange/importing/": "other systems' names of modules, parameters and files",
    "runtime/interchange/export/systems/": "attributes in source for other systems",
}
"""The same for all modules of a room."""
ADVICE = (
    "use InstancePath, PortPath, WirePath or PortName of runtime.diagram.paths, or the names of "
    "terms in blocks.terms; what is no path is justified in this test"
)


def _separates(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in SEPARATORS


def _touches(node: ast.AST) -> bool:
    """Whether a node takes text apart at a separator of paths, or puts it together with one."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in CUTS:
            return _separates(first)
        case ast.Call(func=ast.Attribute(attr="join", value=text)):
            return _separates(text)
        case ast.Call(func=ast.Attribute(attr="removesuffix"), args=[ast.Constant(value=".out")]):
            return True
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _separates(left) or _separates(right)
        case ast.JoinedStr(values=values):
            return any(
                isinstance(before, ast.FormattedValue)
                and isinstance(text, ast.Constant)
                and (
                    text.value == ".out"
                    or (text.value in SEPARATORS and isinstance(after, ast.FormattedValue))
                    or (text.value == "/" and after is None)
                )
                for before, text, after in zip(
                    values, values[1:], [*values[2:], None], strict=False
                )
            )
    return False


def found_in(source: str) -> list[int]:
    return sorted({n.lineno for n in ast.walk(ast.parse(source)) if _touches(n)})


def _files() -> Iterator[Path]:
    for floor in ("app", "runtime", "blocks"):
        yield from sorted((HOUSE / floor).rglob("*.py"))


@uncollected()
def test_no_other_module_takes_paths_apart_or_puts_them_together() -> None:
    known = OWNERS | JUSTIFIED
    found = [
        f"{path.relative_to(HOUSE)}:{line}: {ADVICE}"
        for path in _files()
        if (name := path.relative_to(HOUSE).as_posix()) not in known
        if not name.startswith((*ROOMS,))
        for line in found_in(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", OWNERS | JUSTIFIED)
def test_no_module_is_excused_for_nothing(name: str) -> None:
    assert found_in((HOUSE / name).read_text(encoding="utf-8")), f"{name} needs no excuse"


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_is_excused_for_nothing(room: str) -> None:
    texts = (path.read_text(encoding="utf-8") for path in (HOUSE / room).rglob("*.py"))
    assert any(map(found_in, texts)), f"{room} needs no excuse"


@pytest.mark.parametrize(
    "source",
    [
        'block = port.partition(".")[0]',
        '*uses, name = path.split("/")',
        'name = path.rpartition("/")[2]',
        'leaf = wire.rsplit(":", 1)[1]',
        'path = "/".join((*trail, name))',
        'port = f"{block}.{port}"',
        'port = f"{block}.out"',
        'path = f"{use}/{name}"',
        'prefix = f"{use}/"',
        'wire = f"{key}:{leaf}"',
        'prefix = use + "/"',
        'name = loss.removesuffix(".out")',
    ],
)
def test_paths_as_strings_are_noticed(source: str) -> None:
    assert found_in(source) == [1]


@pytest.mark.parametrize(
    "source",
    [
        'text = f"{name}: {kind}"',
        'text = f"{count}. {name}"',
        'words = text.split(",")',
        'words = ", ".join(names)',
        'line = f"{number} / {total}"',
    ],
)
def test_prose_is_not_taken_for_paths(source: str) -> None:
    assert found_in(source) == []
