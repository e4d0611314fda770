"""A variant of a diagram has other parameters and another recipe."""

from __future__ import annotations

import pytest

import gradwire as gw
from gradwire.blocks.errors import BuildError, FileError, ParameterError
from gradwire.runtime.diagram import save
from gradwire.runtime.training.studies.files import Variant
from gradwire.runtime.training.studies.variants import diagram_of, with_variant
from tests.runtime.training.studies.studies import line, study


def test_a_variant_sets_blocks_of_other_pages_and_the_recipe():
    @gw.page("inside")
    def inside(x):
        return gw.stop_gradient(x, name="stop")

    diagram = gw.build(gw.loss(inside(gw.variable("w", 1.0))), training={"steps": 7})
    opened = with_variant(
        diagram, Variant(set={"inside/stop": {"open": True}}, training={"steps": 9})
    )
    assert opened.pages["inside"].blocks["stop"].open
    assert opened.training is not None and opened.training.steps == 9
    assert not diagram.pages["inside"].blocks["stop"].open


@pytest.mark.parametrize(
    ("variant", "kind", "told"),
    [
        (Variant(set={"stpo": {}}), ParameterError, "Did you mean stop"),
        (Variant(set={"page/stop": {}}), ParameterError, "there is no such block"),
        (Variant(set={"stop": {"opne": True}}), ParameterError, "no parameter or input 'opne'"),
        (Variant(training={"speed": 1}), BuildError, "no field 'speed'"),
    ],
)
def test_a_variant_that_does_not_fit_is_refused(variant, kind, told):
    with pytest.raises(kind, match=told):
        with_variant(line(), variant)


def test_the_diagram_lies_beside_its_study(tmp_path):
    save(line(), tmp_path / "line.gradwire.json")
    path = tmp_path / "line.study.json"
    assert diagram_of(study(), path).main.blocks.keys() == line().main.blocks.keys()
    absolute = replace_diagram(str(tmp_path / "line.gradwire.json"))
    with pytest.raises(FileError, match="not relative"):
        diagram_of(absolute, path)
    with pytest.raises(FileError, match="Can't read"):
        diagram_of(replace_diagram("../nowhere.json"), path)


def replace_diagram(place):
    return study(diagram=place)
