"""The public module: what it exports, where that comes from, and what importing it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import gradwire as gw

ROOT = Path(__file__).parents[3]
STUB = Path(gw.__file__).with_suffix(".pyi")
MAN_PAGE = Path(f"gradwire-{gw.__version__}.data/data/share/man/man1/gradwire.1")
FLOORS = {"gradwire.app", "gradwire.assets", "gradwire.blocks", "gradwire.runtime"}


def imports_of_the_stub() -> dict[str, str]:
    """Names that the stub imports from the floors, and the modules they come from."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    return {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module != "collections.abc"
        for alias in node.names
    }


@pytest.mark.parametrize("name", gw.__all__)
def test_a_public_name_is_the_object_of_its_floor_and_documented(name):
    found = getattr(gw, name)
    assert found is getattr(importlib.import_module(imports_of_the_stub()[name]), name)
    assert vars(gw)[name] is found  # looked up once
    if inspect.isclass(found) or callable(found):
        assert inspect.getdoc(found)


def test_nothing_private_is_public():
    private = [name for name in gw.__all__ if name.startswith("_")]
    assert private == ["__version__"]


def test_blocks_are_functions_and_completed():
    assert {"relu", "mat_mul", *gw.__all__} <= set(dir(gw))
    assert str(gw.relu(gw.variable("x", 1.0))) == "Relu.out"


def test_an_unknown_name_is_an_attribute_error_that_names_this_module():
    with pytest.raises(AttributeError, match="module 'gradwire' has no attribute 'no_such_block'"):
        _ = gw.no_such_block
    assert not hasattr(gw, "_private")


def run(code: str, folder: Path | None = None) -> str:
    path = [*([str(folder)] if folder else []), str(STUB.parents[1])]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path}\n{code}"],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_a_command_looks_for_no_garbage_in_what_it_imports():
    told = run(
        "import gc; from gradwire.__main__ import main; from gradwire.runtime.cli import entry\n"
        "entry._call = lambda typed: print(gc.isenabled(), len(gc.get_objects()) < 1000) or 0\n"
        "main()"
    )
    assert told == "True True"


def test_importing_it_loads_no_floor():
    loaded = run("import gradwire; hasattr(gradwire, '__wrapped__'); print(*sys.modules)").split()
    assert not {"numpy", "pydantic", *FLOORS} & set(loaded)


def test_a_name_loads_its_floor_and_no_qt():
    loaded = run("import gradwire as gw; gw.Session; print(*sys.modules)").split()
    assert "gradwire.runtime.engine" in loaded and "PySide6" not in loaded


def test_it_runs_as_the_command():
    told = run(
        "import runpy; sys.argv = ['gradwire', '--version']\n"
        "runpy.run_module('gradwire', run_name='__main__')"
    )
    assert told == f"gradwire {gw.__version__}"


def test_the_commands_that_are_installed_are_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for group, commands in {"scripts": ["gradwire"], "gui-scripts": ["gradwire-editor"]}.items():
        assert list(project[group]) == commands
        for name, value in project[group].items():
            assert callable(EntryPoint(name, value, group).load())


EDITOR = (
    "import types, ctypes\nfrom gradwire.__main__ import editor\n"
    "from gradwire.runtime.cli import entry\n"
)


def test_the_editor_has_a_command_of_its_own():
    called = "entry.main = lambda: print(*sys.argv[1:])\nsys.argv[1:] = ['a.json']\neditor()"
    assert run(EDITOR + called) == "edit a.json"


def test_without_streams_the_editor_says_in_a_box_why_it_ends():
    """As Windows starts it."""
    told = run(
        f"{EDITOR}ctypes.windll = types.SimpleNamespace()\n"
        "ctypes.windll.user32 = types.SimpleNamespace(MessageBoxW=lambda *box: shown.append(box))\n"
        "shown, sys.platform, sys.stderr = [], 'win32', None\n"
        "entry.main = lambda: 0\n"
        "ended = editor(), len(shown)\n"
        "entry.main, sys.stderr = (lambda: print('no such file', file=sys.stderr) or 2), None\n"
        "print(ended, editor(), shown, file=sys.__stdout__)"
    )
    assert told == "(0, 0) 2 [(None, 'no such file\\n', 'Gradwire', 16)]"


def test_no_floor_imports_the_public_names():
    users = [
        path
        for floor in ("app", "runtime", "blocks")
        for path in (ROOT / floor).rglob("*.py")
        if re.search(rb"import gradwire|from gradwire import", text := path.read_bytes())
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Import) and "gradwire" in [each.name for each in node.names])
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "gradwire"
            and not {f"gradwire.{each.name}" for each in node.names} <= FLOORS
        )
    ]
    assert users == [ROOT / "runtime" / "interpreters.py"]  # for the folder that it lies in


def test_a_floor_is_imported_as_any_package():
    assert run("from gradwire import assets; print(assets.__name__)") == "gradwire.assets"
    assert run("import gradwire as gw; print(gw.blocks.Block.__name__)") == "Block"


def test_no_module_is_imported_by_a_name_outside_the_package():
    floors = {name.removeprefix("gradwire.") for name in FLOORS}
    suspect = re.compile(rf"^\s*(from|import)\s+({'|'.join(floors)})\b".encode(), re.MULTILINE)
    bare = [
        str(path.relative_to(ROOT))
        for folder in (*floors, "tests")
        for path in (ROOT / folder).rglob("*.py")
        if suspect.search(text := path.read_bytes())
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        if name.partition(".")[0] in floors
    ]
    assert bare == []


def files_of_wheel(version: str, folder: Path) -> set[Path]:
    """The files that a wheel would install, without what describes it."""
    wheel = pytest.importorskip("hatchling.builders.wheel")
    (built,) = wheel.WheelBuilder(str(ROOT)).build(directory=str(folder), versions=[version])
    with zipfile.ZipFile(built) as archive:
        paths = map(Path, archive.namelist())
        return {path for path in paths if not path.parts[0].endswith(".dist-info")}


def test_an_editable_install_copies_nothing(tmp_path):
    """A copy of the package would hide the one in the checkout, and look for its floors in vain."""
    assert files_of_wheel("editable", tmp_path) - {MAN_PAGE} == {Path("_gradwire.pth")}


@pytest.mark.checkout
def test_the_wheel_has_one_top_level_name_and_no_screenshots(tmp_path):
    files = files_of_wheel("standard", tmp_path)
    assert MAN_PAGE in files
    files.remove(MAN_PAGE)
    assert {path.parts[0] for path in files} == {"gradwire"}
    top = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed"}
    top |= {"integrations.py", "integrations.pyi", "testing.py", "testing.pyi"}
    floors = {name.removeprefix("gradwire.") for name in FLOORS}
    assert {path.parts[1] for path in files} == top | floors
    assert Path("gradwire/assets/diagrams/gan.gradwire.json") in files
    assert Path("gradwire/runtime/flow/__init__.pyi") in files  # read when a name is first used
    assert not [path for path in files if "screenshots" in path.parts or "public" in path.parts]


def test_it_works_beside_files_of_any_name(tmp_path):
    """Beside a user's own packages of the names of ours, which stay importable."""
    for name in ("app", "blocks", "tests", "gradwire_command"):
        (tmp_path / f"{name}.py").write_text("ours = False\n")
    for name in ("runtime", "assets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("ours = False\n")
    code = (
        "import gradwire as gw\n"
        "w = gw.variable('w', [[1.0, 2.0]])\n"
        "session = gw.Session(gw.build(gw.loss(gw.mat_mul(w, gw.transpose(w)), name='loss')))\n"
        "print(session.backward().gradients['w'])\n"
        "from gradwire.__main__ import main; main()\n"
        "import app, assets, blocks, runtime\n"
        "print(app.ours, assets.ours, blocks.ours, runtime.ours)"
    )
    code = f"sys.argv = ['gradwire', 'demo', '--no-window']\n{code}"
    told = run(code, tmp_path).splitlines()
    assert told[0] == "[[2. 4.]]"
    assert told[-1] == "False False False False"
    assert any("stop" in line for line in told[1:-1])
