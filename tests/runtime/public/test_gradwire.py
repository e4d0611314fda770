"""The public module: what it exports, where that comes from, and what importing it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gradwire as gw

ROOT = Path(__file__).parents[3]
STUB = Path(gw.__file__).with_suffix(".pyi")


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


def test_the_stub_declares_what_the_module_exports():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    (declared,) = (
        ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)
    )
    assert sorted(declared) == gw.__all__ == sorted(imports_of_the_stub())


def test_blocks_are_functions_and_completed():
    assert {"relu", "mat_mul", *gw.__all__} <= set(dir(gw))
    assert str(gw.relu(gw.variable("x", 1.0))) == "Relu.out"


def test_an_unknown_name_is_an_attribute_error_that_names_this_module():
    with pytest.raises(AttributeError, match="module 'gradwire' has no attribute 'no_such_block'"):
        _ = gw.no_such_block
    assert not hasattr(gw, "_private")


def run(code: str) -> str:
    path = [str(STUB.parents[1]), str(ROOT)]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_command_looks_for_no_garbage_in_what_it_imports():
    told = run(
        "import gc, gradwire_command, runtime.cli.entry\n"
        "runtime.cli.entry.main = lambda: print(gc.isenabled(), len(gc.get_objects()) < 1000)\n"
        "gradwire_command.main()"
    )
    assert told == "True True"


def test_importing_it_loads_no_floor():
    loaded = run("import gradwire; hasattr(gradwire, '__wrapped__'); print(*sys.modules)").split()
    assert not {"numpy", "pydantic", "runtime", "blocks", "app"} & set(loaded)


def test_a_name_loads_its_floor_and_no_qt():
    loaded = run("import gradwire as gw; gw.Session; print(*sys.modules)").split()
    assert "runtime.engine" in loaded and "PySide6" not in loaded


def test_it_runs_as_the_command():
    told = run("import runpy; sys.argv = ['gradwire', '--version']; runpy.run_module('gradwire')")
    assert told == f"gradwire {gw.__version__}"


def test_no_floor_imports_it():
    below = [
        path for floor in ("app", "runtime", "blocks") for path in (ROOT / floor).rglob("*.py")
    ]
    users = [
        path
        for path in below
        for node in ast.walk(ast.parse(path.read_bytes()))
        if (isinstance(node, ast.Import) and "gradwire" in [each.name for each in node.names])
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gradwire")
    ]
    assert users == [Path(gw.__file__).parents[1] / "gradwire_command.py"]  # which it starts with


def test_the_wheel_carries_it_beside_the_floors_and_no_screenshots():
    wheel = pytest.importorskip("hatchling.builders.wheel")
    files = {
        Path(file.distribution_path)
        for file in wheel.WheelBuilder(str(ROOT)).recurse_included_files()
    }
    beside = {"gradwire", "gradwire_command.py"}
    assert {path.parts[0] for path in files} == {"app", "runtime", "blocks", "assets"} | beside
    assert {"__init__.py", "__init__.pyi", "__main__.py", "py.typed"} == {
        path.name for path in files if path.parts[0] == "gradwire"
    }
    assert Path("assets/diagrams/gan.gradwire.json") in files
    assert not [path for path in files if "screenshots" in path.parts or "public" in path.parts]


@pytest.mark.parametrize(
    ("floor", "start"),
    [
        ("runtime", "import gradwire"),
        ("app", "import gradwire; gradwire.Session"),
        ("blocks", "import gradwire; gradwire.Session"),
        ("app", "import runtime.cli.entry"),
        ("blocks", "import runtime.cli.entry"),
    ],
)
def test_another_package_of_the_name_of_a_floor_is_named(floor, start, tmp_path):
    (tmp_path / floor).mkdir()
    (tmp_path / floor / "__init__.py").write_text("")
    path = [str(tmp_path), str(STUB.parents[1]), str(ROOT)]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path}\n{start}"],
        capture_output=True,
        text=True,
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: Gradwire needs its own package {floor!r}")
    assert str(tmp_path / floor) in last and "Rename that package" in last


def test_the_command_starts_in_a_module_that_explains_what_hides_a_floor():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"gradwire": "gradwire_command:main"}


@pytest.mark.parametrize("kind", ["package", "module"])
@pytest.mark.parametrize("floor", ["app", "runtime", "blocks"])
def test_the_command_names_what_hides_a_floor(floor, kind, tmp_path):
    hidden = tmp_path / floor / "__init__.py" if kind == "package" else tmp_path / f"{floor}.py"
    hidden.parent.mkdir(exist_ok=True)
    hidden.write_text("")
    path = [str(tmp_path), str(STUB.parents[1]), str(ROOT)]
    script = (
        f"import sys; sys.path[:0] = {path}\nfrom gradwire_command import main\nsys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "--version"], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"gradwire: error: Gradwire needs its own package {floor!r}")
    assert f"{hidden} comes first" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("module", ["gradwire", "gradwire_command"])
def test_nothing_hides_a_floor_here(module, tmp_path):
    path = [str(STUB.parents[1]), str(ROOT)]
    start = "import gradwire_command\nsys.exit(gradwire_command.main())"
    if module == "gradwire":
        start = "import runpy\nrunpy.run_module('gradwire', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path}\n{start}", "--version"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gradwire ")
