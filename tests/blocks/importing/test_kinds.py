"""Whether a block is of a type whose module may not have been imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from gradwire.blocks.importing.kinds import (
    is_clip,
    is_dataset,
    is_field,
    is_kind,
    is_view,
    module_of,
)
from gradwire.blocks.library.logic import Where
from gradwire.blocks.registry import registry


class Selected(Where):
    """A block derived from one of the library."""


@pytest.mark.parametrize("name", ["Where", "Clip", "Dataset", "Mul", "Norm", "ArgMax"])
def test_a_kind_is_its_class_and_those_derived_from_it(name):
    for kind, cls in registry().classes.items():
        assert is_kind(cls(), name) == issubclass(cls, registry().get(name)), kind
    assert is_kind(Selected(), name) == (name == "Where")


def test_a_dataset_and_a_clip_are_told_by_name():
    get = registry().get
    assert is_dataset(get("Dataset")()) and not is_dataset(get("Clip")())
    assert is_clip(get("Clip")()) and not is_clip(get("Dataset")())


def test_a_type_has_the_module_of_its_family():
    assert module_of("Where") == "logic"
    assert module_of("Nothing") is None


def test_asking_imports_nothing():
    code = (
        "from gradwire.blocks.importing.kinds import is_kind\n"
        "from gradwire.blocks.registry import registry; import sys\n"
        "assert not is_kind(registry().get('Mul')(), 'Where')\n"
        "assert 'gradwire.blocks.library.logic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=True)


def test_a_field_and_a_view_are_told_by_name():
    get = registry().get
    views = {name for name, cls in registry().classes.items() if is_view(cls())}
    assert views == {"Plot", "Scatter", "Image", "Histogram", "Field"}
    assert is_field(get("Field")()) and not is_field(get("Image")())


def test_a_module_that_another_thread_is_importing_is_not_looked_at():
    code = (
        "import sys, types\n"
        "from gradwire.blocks.importing.kinds import is_clip, is_view\n"
        "from gradwire.blocks.registry import registry\n"
        "block = registry().get('Mul')()\n"
        "for name in ('functions', 'views'):\n"
        "    sys.modules[f'gradwire.blocks.library.{name}'] = types.ModuleType(name)\n"
        "assert not is_clip(block) and not is_view(block)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=True)
