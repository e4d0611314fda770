"""The registry: what is found, in which order, and plug-ins through real entry points."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import UnknownBlockError
from gradwire.blocks.library import MODULES
from gradwire.blocks.registry import Registry, discover, library_modules, registry
from tests.blocks.installing import install, site
from tests.blocks.single import gradients, value
from tests.together import together

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["site"]

SOFTSIGN = '''
"""A plug-in of two blocks."""
from typing import Any, ClassVar
from gradwire.blocks import Block

class Softsign(Block):
    """Squashes into (-1, 1), ``out = x / (1 + |x|)``."""
    symbol: ClassVar[str] = "ss"
    formula: ClassVar[str] = "y = x / (1 + |x|)"
    steepness: float = 1.0

    def forward(self, xp: Any, x: Any) -> Any:
        return self.steepness * x / (1 + xp.abs(self.steepness * x))

class Add(Block):
    """A second block of a name that is taken."""
    def forward(self, xp: Any, a: Any, b: Any) -> Any:
        return a - b
'''


def test_the_library_loads_without_a_problem() -> None:
    assert registry().problems == []
    modules = [
        module.__name__.removeprefix("gradwire.blocks.library.") for module in library_modules()
    ]
    assert modules[: len(MODULES)] == list(MODULES)
    families = dict.fromkeys(module.partition(".")[0] for module in MODULES)
    assert [*families] == [*registry().families(), "formula"]  # whose block is a page's


@together("module", [*library_modules()], ids=lambda module: module.__name__)
def test_the_index_has_the_blocks_of_a_module_in_order(module: ModuleType) -> None:
    found = Registry()
    found.add_module(module)
    name = module.__name__.removeprefix("gradwire.blocks.library.")
    assert MODULES.get(name, "").split() == [*found.classes], (
        f"see MODULES[{name!r}] in blocks/library"
    )


@pytest.mark.night
def test_a_block_of_the_library_is_imported_without_the_others() -> None:
    imported = run(
        "from gradwire.blocks.registry import registry\n"
        "assert registry().get('Mul').__name__ == 'Mul'\n"
        "import sys; print(*sys.modules)"
    )
    assert "gradwire.blocks.library.arithmetic" in imported
    assert not {"gradwire.blocks.library.losses", "importlib.metadata"} & set(imported)


@pytest.mark.night
def test_names_by_family_need_no_block() -> None:
    code = (
        "from gradwire.blocks.registry import registry\n"
        "names = registry().names(); assert not registry().left_out\n"
        "import sys\n"
        "loaded = {name for name in sys.modules if 'gradwire.blocks.library.' in name}\n"
        "assert names == {f: [c.__name__ for c in cs] for f, cs in registry().families().items()}\n"
        "assert registry().names() == names; print(*loaded)"
    )
    assert run(code) == []


@pytest.mark.night
def test_names_of_plug_ins_are_among_them(site: Path) -> None:
    install(site, "softsign_plugin", SOFTSIGN, "all = softsign_plugin")
    told = run(
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "from gradwire.blocks.registry import registry\n"
        "print(len(registry().left_out), *registry().names()['softsign_plugin'])"
    )
    assert told == ["1", "Softsign"]


@pytest.mark.night
def test_all_are_found_after_one(site: Path) -> None:
    install(site, "softsign_plugin", SOFTSIGN, "all = softsign_plugin")
    told = run(
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "from gradwire.blocks.registry import registry; first = registry().get('Mul')\n"
        "assert registry().get('Softsign').plugin and registry().get('Mul') is first\n"
        "assert registry().classes['Mul'] is first\n"
        "print(len(registry().problems), *registry().classes)"
    )
    assert told == ["1", *registry().classes, "Softsign"]


@pytest.mark.night
def test_a_block_that_the_index_lacks_is_found() -> None:
    told = run(
        "from gradwire.blocks import library; library.MODULES = {**library.MODULES, 'logic': ''}\n"
        "from gradwire.blocks.registry import registry; print(registry().get('Where').family)"
    )
    assert told == ["logic"]


def test_an_attribute_that_no_registry_has_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no_such_attribute"):
        getattr(registry(), "no_such_attribute")  # noqa: B009 # mypy refuses the attribute


def run(code: str) -> list[str]:
    """The words that Python code prints in a process of its own."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def test_found_once() -> None:
    assert registry() is registry()
    assert discover() is not registry()


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownBlockError, match="Did you mean StopGradient"):
        registry().get("StopGradeint")
    with pytest.raises(UnknownBlockError, match="Install the plug-in"):
        registry().get("Qqqqq")


def test_a_plug_in_is_a_block_like_any_other(site: Path) -> None:
    install(site, "softsign_plugin", SOFTSIGN, "softsign = softsign_plugin:Softsign")
    found = discover()
    assert found.problems == []
    cls = found.get("Softsign")
    assert cls.family == "softsign_plugin"
    assert [port.name for port in cls.inputs] == ["x"]
    x = np.array([-1.0, 3.0])
    np.testing.assert_allclose(value(cls(), x=x), [-0.5, 0.75])
    np.testing.assert_allclose(gradients(cls(), x=x)["x"], [0.25, 1 / 16])
    assert cls.from_record({"steepness": 2.0}).to_record() == {"steepness": 2.0}


def test_a_module_brings_all_its_blocks_and_a_taken_name_is_left_out(site: Path) -> None:
    install(site, "softsign_plugin", SOFTSIGN, "all = softsign_plugin")
    found = discover()
    assert "Softsign" in found.classes
    assert found.get("Add").__module__ == "gradwire.blocks.library.arithmetic"
    (problem,) = found.problems
    assert problem.startswith(
        "Plug-in 'all' of softsign_plugin 1.0 (softsign_plugin): a block named Add exists already"
    )
    assert "Block" not in found.classes


def test_a_package_brings_the_blocks_of_its_modules(site: Path) -> None:
    install(site, "softsign_plugin", "", "all = softsign_package")
    package = site / "softsign_package"
    package.mkdir()
    package.joinpath("__init__.py").write_text(
        "from gradwire.blocks.library.arithmetic import Mul\n"
        "from softsign_package.one import Softsign\n"
    )
    package.joinpath("one.py").write_text(SOFTSIGN, encoding="utf-8")
    found = discover()
    assert found.problems == []
    assert found.get("Softsign").__module__ == "softsign_package.one"


@pytest.mark.parametrize(
    ("source", "entry", "problem"),
    [
        ("raise RuntimeError('no licence')", "bad = bad_plugin", "no licence"),
        ("", "bad = bad_plugin:Missing", "Missing"),
        ("", "bad = no_such_module", "no_such_module"),
        ("VALUE = 3", "bad = bad_plugin:VALUE", "is neither a block nor a module"),
        (
            "from gradwire.blocks import Source",
            "bad = bad_plugin:Source",
            "is neither a block nor a module",
        ),
        (
            "from gradwire.blocks import Block\n"
            "class Silent(Block):\n  def forward(self, xp, x): return x",
            "bad = bad_plugin",
            "Silent has no docstring",
        ),
        (
            "from gradwire.blocks import Block\n"
            "class Odd(Block):\n  'Odd.'\n  view: memoryview = None\n"
            "  def forward(self, xp, x): return x",
            "bad = bad_plugin",
            "schema for <class 'memoryview'>",
        ),
    ],
)
def test_a_plug_in_that_fails_harms_no_other(
    site: Path, source: str, entry: str, problem: str
) -> None:
    install(site, "bad_plugin", source, entry)
    install(site, "softsign_plugin", SOFTSIGN, "softsign = softsign_plugin:Softsign")
    found = discover()
    assert "Softsign" in found.classes
    assert len(found.problems) == 1
    assert problem in found.problems[0]
