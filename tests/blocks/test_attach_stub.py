"""Names that are imported when they are first used."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradwire.blocks import attach_stub

ROOT = Path(__file__).parents[2]
PACKAGES = [
    ".".join(("gradwire", *path.parent.relative_to(ROOT).parts))
    for floor in ("blocks", "runtime", "app")
    for path in sorted((ROOT / floor).rglob("__init__.py"))
    if re.search("^__getattr__[,\\w ]* = ", path.read_text(encoding="utf-8"), re.MULTILINE)
]

STUBS = [path for floor in ("blocks", "runtime", "app") for path in (ROOT / floor).rglob("*.pyi")]
STUBS = [path for path in STUBS if ROOT / "runtime" / "public" not in path.parents]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_what_it_exports(name):
    package = importlib.import_module(name)
    for exported in package.__all__:
        found = getattr(package, exported)
        is_defined = inspect.isclass(found) or inspect.isfunction(found)
        if is_defined and found.__module__.startswith(name):
            assert found is getattr(importlib.import_module(found.__module__), exported)


@pytest.mark.parametrize("name", PACKAGES)
def test_no_name_is_that_of_a_module_beside_it(name):
    package = importlib.import_module(name)
    (folder,) = package.__path__
    assert not set(package.__all__) & {path.stem for path in Path(folder).iterdir()}


def test_a_stub_says_what_is_exported(tmp_path):
    stub = "from collections import abc\nfrom gradwire.runtime.diagram.paths import ROOT as ROOT\n"
    (tmp_path / "some.pyi").write_text(f"{stub}def own() -> None: ...\n")
    get, names = attach_stub("gradwire.runtime.diagram", str(tmp_path / "some.py"))
    assert names == ["ROOT"]
    assert get("ROOT") is importlib.import_module("gradwire.runtime.diagram").ROOT
    for name in ("abc", "own", "nothing"):
        with pytest.raises(AttributeError, match=rf"\.diagram' has no attribute '{name}'"):
            get(name)


def test_a_name_that_is_not_there_is_an_import_error():
    with pytest.raises(ImportError):
        from gradwire.runtime.flow import nothing  # noqa: F401 # only the attempt matters


@pytest.mark.parametrize("path", STUBS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_exports_what_is_its_own_or_lies_below(path):
    """No contract on imports sees what a stub brings."""
    package = ".".join(("gradwire", *path.parent.relative_to(ROOT).parts))
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("gradwire."):
            assert node.module.startswith((f"{package}.", "gradwire.blocks."))


def test_a_run_imports_neither_layout_nor_families_that_it_has_no_block_of():
    code = (
        "import sys; sys.argv = ['gradwire', 'run', 'assets/diagrams/mxnet_seed.gradwire.json']\n"
        "from gradwire.runtime.cli.entry import main\n"
        "code = main(); print(*sys.modules); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    imported = set(done.stdout.rsplit("\n", 2)[-2].split())
    assert "gradwire.blocks.library.arithmetic" in imported
    families = {"activations", "convolution", "data", "functions", "layers", "linear", "reduce"}
    assert not {f"gradwire.blocks.library.{name}" for name in families} & imported
    rooms = {
        "gradwire.runtime.diagram.layout.arranging",
        "gradwire.runtime.diagram.lesson",
        "gradwire.runtime.lessons",
    }
    assert (
        not (rooms | {"gradwire.runtime.diagram.training", "gradwire.runtime.flow.tools.doctor"})
        & imported
    )
