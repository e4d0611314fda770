"""Docstrings below fields, and that nothing reads them before they are asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from gradwire.blocks.block import Block
from gradwire.blocks.classes.docstrings import field_docstrings


class Base(Block):
    """A base."""

    abstract: ClassVar[bool] = True

    first: int = 1
    """First line,
    second line.
    """
    silent: int = 2


class Derived(Base):
    """A block with fields of its own and of its base."""

    second: float = 0.5
    """The second."""
    first: int = 4

    def forward(self, xp, x):
        return x


def test_a_class_tells_its_own_fields():
    assert field_docstrings(Derived) == {"second": "The second."}


def test_parameters_tell_those_of_base_classes_too():
    told = {name: field.description for name, field in Derived.parameters().items()}
    assert told == {"first": "First line,\nsecond line.", "silent": "", "second": "The second."}


def test_a_class_without_source_has_none():
    made = type("Made", (Derived,), {"__doc__": "Made.", "__module__": __name__})
    assert field_docstrings(made) == {}
    assert made.parameters()["second"].description == "The second."


@pytest.mark.night
def test_nothing_is_read_before_it_is_asked_for():
    code = (
        "from gradwire.blocks.registry import registry\n"
        "get = registry().get; get('Conv2D')().to_record()\n"
        "assert get('Conv2D').model_fields['kernel'].description is None\n"
        "assert get('Conv2D').parameters()['kernel'].description"
    )
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)
