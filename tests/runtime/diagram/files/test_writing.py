import difflib
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from gradwire.blocks import Opaque
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import (
    MoveBlocks,
    Note,
    Page,
    Point,
    PortName,
    apply,
    check,
    dumps,
    loads,
)
from gradwire.runtime.diagram.files import writing as writing_module
from tests.runtime.diagram.drawing import draw, make, seed
from tests.strategies import diagrams

GOLDEN = Path(__file__).parent / "golden" / "version1.gradwire.json"


def test_version_1_is_read_and_written_in_the_newest():
    text = GOLDEN.read_text(encoding="utf-8")
    diagram = loads(text)
    assert dumps(diagram) == text.replace('"gradwire": 1', '"gradwire": 3')
    assert list(diagram.pages) == ["main", "encoder", "empty"]
    assert diagram.main.blocks["mul"] == make("Mul", a=3)
    assert diagram.main.layout["mul"] == Point(240.0, -12.5)
    assert diagram.main.notes["frame"] == Note("", Point(0, 0), 640, 480, frame=True)
    assert isinstance(diagram.main.blocks["not here"], Opaque)
    assert {p.code for p in check(diagram)} == {"unknown-block", "wrong-parameters"}


def test_the_seed_reads_as_in_the_documentation():
    assert dumps(seed()) == (
        '{\n  "gradwire": 3,\n  "pages": {\n    "main": {\n      "blocks": {\n'
        '        "a": {"type": "Variable", "value": [[1, 2]]},\n'
        '        "b": {"type": "Variable", "value": [[0, 1]]},\n'
        '        "mul": {"type": "Mul", "a": 3},\n'
        '        "stop": {"type": "StopGradient"},\n'
        '        "add": {"type": "Add"},\n'
        '        "loss": {"type": "Loss"}\n      },\n      "wires": {\n'
        '        "mul.b": "b.out",\n'
        '        "stop.x": "mul.out",\n'
        '        "add.a": "stop.out",\n'
        '        "add.b": "a.out",\n'
        '        "loss.x": "add.out"\n      }\n    }\n  }\n}\n'
    )


@pytest.mark.night
@given(diagrams())
def test_what_is_written_is_read_again(diagram):
    text = dumps(diagram)
    read = loads(text)
    assert read == diagram
    assert dumps(read) == text
    assert [
        (name, list(page.blocks), list(page.wires), list(page.notes))
        for name, page in read.pages.items()
    ] == [
        (name, list(page.blocks), list(page.wires), list(page.notes))
        for name, page in diagram.pages.items()
    ]


def test_a_moved_block_is_one_line_of_difference():
    before = apply(seed(), MoveBlocks({"a": Point(0, 0), "stop": Point(1, 1)})).after
    after = apply(before, MoveBlocks({"stop": Point(2, 2.5)})).after
    changed = [
        line
        for line in difflib.ndiff(dumps(before).splitlines(), dumps(after).splitlines())
        if line[0] in "+-"
    ]
    assert changed == ['-         "stop": [1, 1]', '+         "stop": [2, 2.5]']


def test_places_stand_in_the_order_of_the_blocks():
    moved = MoveBlocks({"loss": Point(1, 1), "a": Point(0, 0)})
    assert list(loads(dumps(apply(seed(), moved).after)).main.layout) == ["a", "loss"]


def test_numbers_that_json_lacks_stand_as_texts():
    diagram = draw({"clip": make("Clip", min=-math.inf, max=1.0), "v": make("Add", a=math.nan)})
    text = dumps(diagram)
    assert '"a": "nan"' in text
    json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
    assert loads(text) == diagram


def test_any_text_can_be_stored():
    diagram = draw({"a": make("Variable")})
    lone = Page(diagram.main.blocks, notes={"n": Note("\ud83d alone, \U0001f600 not")})
    text = dumps(diagram.with_page("main", lone))
    assert loads(text.encode().decode()).main.notes == lone.notes


def test_a_place_that_is_nowhere_is_left_out():
    page = Page({"a": make("Variable"), "b": make("Variable")}, {}, {
        "a": Point(math.nan, 0), "b": Point(0, 0),
    })  # fmt: skip
    assert list(loads(dumps(draw({}).with_page("main", page))).main.layout) == ["b"]


@pytest.mark.parametrize(
    "page",
    [
        Page({"a.b": make("Variable")}),
        Page({"": make("Variable")}),
        Page({}, {PortName("a.b", "x"): PortName("c", "out")}),
        Page({}, {PortName("a", "x"): PortName("c", "")}),
        Page(notes={"a/b": Note("")}),
    ],
)
def test_what_could_not_be_read_again_is_not_written(page):
    with pytest.raises(FileError, match=r"main: .* is no"):
        dumps(draw({}).with_page("main", page))


def test_no_more_is_written_than_can_be_read(monkeypatch):
    monkeypatch.setattr(writing_module, "MAX_BLOCKS", 5)
    with pytest.raises(
        FileError, match=r"Too many blocks for one file\. Expected at most 5, got 6"
    ):
        dumps(seed())


def test_arrays_of_every_dtype_come_back_exactly():
    numbers = {
        "float16": [0.1, 6e-8, 65504],
        "float32": [0.1, 1e-45, 3.4e38],
        "float64": [0.1, 5e-324, 1.7e308],
        "int64": [-(2**63), 2**63 - 1],
        "uint64": [2**64 - 1],
        "bool": [True, False],
    }
    diagram = draw(
        {
            dtype: make("Variable", value=np.array(values, dtype), dtype=dtype)
            for dtype, values in numbers.items()
        }
    )
    assert loads(dumps(diagram)) == diagram
