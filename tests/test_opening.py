"""What comes from outside is opened in one place, which refuses pipes and devices."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).parents[1]
READERS = {"read_text", "read_bytes", "ZipFile", "is_zipfile", "safe_open", "load_file", "loadtxt",
           "genfromtxt", "fromfile", "memmap", "QFile", "QImageReader"}  # fmt: skip
"""Functions that open the path that they are given, whosever they are."""
OWNED = {
    *(f"{module}.open" for module in ("os", "io", "gzip", "bz2", "lzma", "tarfile", "codecs")),
    "open", "np.load", "numpy.load", "h5py.File", "self._h5py.File", "filecmp.cmp", "shutil.copy",
    "shutil.copy2", "shutil.copyfile",
}  # fmt: skip
"""Such functions whose names many others have."""
PICTURES = {"QImage", "QPixmap"}
"""Classes that read a file if they are given a text."""
OPENED = ("open_regular(", "TemporaryFile(", "BytesIO(", "IO[", "BufferedReader")
"""What the name of an open file is bound to, or annotated with."""
ALLOWED = {
    "runtime/diagram/files/regular.py": {
        "open(os.open(path, _FLAGS | flags), 'rb')": "the one place",
        "os.open(path, _FLAGS | flags)": "the one place",
    },
    "runtime/diagram/files/tensors.py": {
        "safe_open(self._checked(file), framework='numpy')": "a path to the open file",
    },
    "runtime/data/files/archives.py": {
        "safe_open(opened if opened.exists() else path, framework='numpy')": "likewise",
    },
    # Files that are written: made anew, or refused unless they are regular and have one name.
    "runtime/diagram/files/storage.py": {
        "os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 438 if mode is None "
        "else 384)": "a new file",
        "open(descriptor, 'wb')": "the same",
        "os.open(folder, os.O_RDONLY)": "the folder of a file that was just written",
    },
    "app/document/arrays.py": {
        "open(beside, 'wb')": "a new file",
        "np.loadtxt(numbers, delimiter=separator, ndmin=2)": "lines of a file that is open",
    },
    "runtime/data/files/gathering.py": {
        "filecmp.cmp(real, place)": "two regular files, as was asked just before",
        "shutil.copy2(real, place)": "likewise",
    },
    "app/services/journal.py": {"os.open(path, _FLAGS, 384)": "a lock: not waited for"},
    "runtime/training/saving/locking.py": {"os.open(self._folder / LOCK, _FLAGS, 438)": "a lock"},
    "runtime/training/saving/reading.py": {
        "os.open(self.path, flags, 438)": "a history that grows: not waited for, and checked",
    },
    "runtime/training/studies/folder.py": {
        "os.open(path, _FLAGS, 438)": "a list that grows: open_regular reads it",
    },
    # Streams, and files of the system.
    "runtime/cli/entry.py": {
        "open(os.devnull, 'w', encoding='utf-8')": "nothing",
        "os.open(os.devnull, os.O_WRONLY)": "nothing",
    },
    "runtime/cli/processes.py": {
        "open(os.devnull, 'w', encoding='utf-8')": "nothing",
        "open(kept, 'w', encoding=before.encoding, errors=before.errors, closefd=False)": "a "
        "descriptor",
    },
    "runtime/interpreters.py": {"os.open(os.devnull, os.O_RDONLY)": "nothing"},
    "runtime/interchange/importing/child.py": {
        "Path('/proc/self/statm').read_text(encoding='ascii')": "of Linux",
    },
    "runtime/engine/plan/allocation.py": {
        "Path('/sys/fs/cgroup/memory.max').read_text(encoding='ascii')": "of Linux",
    },
    # What is installed with Gradwire, or beside it.
    "blocks/registry.py": {"each.read_text('entry_points.txt')": "metadata of a package"},
    "app/services/examples.py": {
        "path.read_text(encoding='utf-8')": "an asset",
        "study.read_text(encoding='utf-8')": "an asset",
    },
    "app/panels/help/manual.py": {"path.read_text(encoding='utf-8')": "an asset"},
    "app/panels/help/browser.py": {"QImage(str(path))": "an asset"},
    "app/panels/bars/icons.py": {
        "(ASSETS / 'icons' / f'tool_{name}.svg').read_text(encoding='utf-8')": "an asset",
    },
    "runtime/publish/living/computing/kernels.py": {
        "files('gradwire.runtime.publish.living').joinpath('script', name)"
        ".read_text(encoding='utf-8')": "an asset",
    },
    "runtime/cli/desktop/desktop.py": {"(assets / source).read_bytes()": "an asset"},
}
"""Calls that open something else, and why they may."""

NAMES = re.compile(
    rf"\b({'|'.join({*READERS, *PICTURES, *(name.rpartition('.')[2] for name in OWNED)})})\("
)
"""What the calls of a module must have, if any opens a path."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def opening_calls(
    tree: ast.AST, within: Function | None = None
) -> Iterator[tuple[ast.Call, Function | None]]:
    """Calls that may open a path, each with the innermost function around it."""
    for node in ast.iter_child_nodes(tree):
        yield from opening_calls(node, node if isinstance(node, Function) else within)
        if isinstance(node, ast.Call) and opens(node):
            yield node, within


def opens(call: ast.Call) -> bool:
    """Whether a call opens a path, as far as its name and its arguments tell."""
    if isinstance(call.func, ast.Name):
        name, owner = call.func.id, ""
    elif isinstance(call.func, ast.Attribute):
        name, owner = call.func.attr, ast.unparse(call.func.value)
    else:
        return False
    if name in PICTURES:
        return bool(call.args) and ast.unparse(call.args[0]).startswith(("str(", "'"))
    if f"{owner}.{name}".lstrip(".") in OWNED:
        return True
    if name == "open" and owner:  # a path has a mode or an encoding, unlike what else is opened
        modes = {ast.unparse(argument) for argument in call.args} & {"'r'", "'rb'", "'rt'"}
        if not (call.args or call.keywords):
            return owner.endswith(("path", "file")) or owner.startswith("Path(")
        return bool(modes) or any(x.arg in {"mode", "encoding"} for x in call.keywords)
    return name in READERS and (bool(owner) or not name.startswith("read_"))


def is_open_already(call: ast.Call, within: Function | None) -> bool:
    """Whether the call is given a file that its function opened, or was given open; or text."""
    given = ast.unparse(call.args[0]) if call.args else ""
    if given.startswith("io.BytesIO("):
        return True
    for node in ast.walk(within) if within is not None else ():
        bound: ast.AST | None = None
        if isinstance(node, ast.withitem) and node.optional_vars is not None:
            name, bound = ast.unparse(node.optional_vars), node.context_expr
        elif isinstance(node, ast.Assign):
            name, bound = ast.unparse(node.targets[0]), node.value
        elif isinstance(node, ast.arg):
            name, bound = node.arg, node.annotation
        if bound is not None and name == given and any(w in ast.unparse(bound) for w in OPENED):
            return True
    return False


@pytest.mark.night
def test_paths_from_outside_are_opened_in_one_place() -> None:
    strangers, left = [], {(place, text) for place, texts in ALLOWED.items() for text in texts}
    for floor in ("app", "runtime", "blocks"):
        for path in sorted((ROOT / floor).rglob("*.py")):
            place, source = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
            if not NAMES.search(source):
                continue
            for call, within in opening_calls(ast.parse(source)):
                text = ast.unparse(call)
                left.discard((place, text))
                if text not in ALLOWED.get(place, ()) and not is_open_already(call, within):
                    strangers.append(f"{place}:{call.lineno}: {text}")
    assert not strangers, "\n".join(strangers)
    assert not left


@pytest.mark.parametrize(
    "text",
    [
        "open(path)", "path.open()", "path.open('rb')", "path.open(encoding='utf-8')",
        "path.read_text()", "Path(name).read_bytes()", "os.open(path, os.O_RDONLY)",
        "np.load(path)", "np.loadtxt(path)", "zipfile.ZipFile(path)", "h5py.File(path, 'r')",
        "load_file(path)", "QImage(str(path))", "QFile(str(path))", "gzip.open(path)",
    ],
)  # fmt: skip
def test_another_way_to_open_a_path_is_seen(text: str) -> None:
    tree = ast.parse(f"def read(path):\n    file = {text}")
    assert [is_open_already(call, within) for call, within in opening_calls(tree)] == [False]
