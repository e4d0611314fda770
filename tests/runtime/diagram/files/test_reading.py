import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks import Opaque
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import Diagram, PortName, dumps, loads
from gradwire.runtime.diagram.files import reading as reading_module
from gradwire.runtime.diagram.files.reading import read
from tests.runtime.diagram.drawing import make, seed
from tests.strategies import diagrams


def wrap(page: str) -> str:
    return '{"gradwire": 3, "pages": {"main":\n' + page + "}}"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[]", "1:1", "The document is not an object. Expected {…}, got []."),
        ('{"pages": {}}', "1:1", "Not a Gradwire diagram: it has no version."),
        ('{"gradwire": 3}', "1:1", "The diagram has no pages."),
        ('{"gradwire": 3,\n "pages": []}', "2:2", "'pages' is not an object."),
        ('{"gradwire": 3,\n"zoom": 2, "pages": {}}', "2:1", "There is no field 'zoom' here."),
        ('{"gradwire": 3, "title": 3, "pages": {}}', "1:17", "'title' is not a string."),
        ('{"gradwire": 3, "pages": {"a/b": {}}}', "1:27", "'a/b' is not a valid page name."),
        (wrap('{"scale": 1}'), "2:2", "There is no field 'scale' here. Expected one of blocks"),
        (wrap('{"blocks": {"a.b": {"type": "Mul"}}}'), "2:13", "'a.b' is not a valid block name."),
        (wrap('{"blocks": {"a": 3}}'), "2:13", "'a' is not an object."),
        (wrap('{"blocks": {"a": {"a": 3}}}'), "2:13", "a: Block 'a' has no type."),
        (wrap('{"blocks": {"a": {"type": 3}}}'), "2:13", "a: Block 'a' has no type."),
        (wrap('{"wires": {"a": "b.out"}}'), "2:12", "A wire joins two ports: 'a' is not"),
        (wrap('{"wires": {"a.x": "b"}}'), "2:12", "A wire joins two ports: 'b' is not"),
        (wrap('{"wires": {"a.x": ["b.out"]}}'), "2:12", "'a.x' is not a string."),
        (wrap('{"layout": {"a": [1, 2, 3]}}'), "2:13", "'a' is not a position. Expected [x, y]"),
        (wrap('{"layout": {"a": [1, true]}}'), "2:22", "Entry 2 of 'a' is not a number. Got True."),
        (
            wrap('{"layout": {"a": [1' + "0" * 400 + ", 2]}}"),
            "2:19",
            "Entry 1 of 'a' is too large.",
        ),
        (wrap('{"layout": {"a": [[1, 2]]}}'), "2:13", "Only a wire has bends: 'a' is not block"),
        (
            wrap('{"layout": {"a.x": [1, [2]]}}'),
            "2:24",
            "Entry 2 of 'a.x' is not a number. Got [2].",
        ),
        (wrap('{"routes": {"a": [1]}}'), "2:13", "Only a wire has a route: 'a' is not block"),
        (wrap('{"routes": {"a.x": []}}'), "2:13", "'a.x' is not a route."),
        (
            wrap('{"routes": {"a.x": [1, 2]}}'),
            "2:13",
            "'a.x' is not a route. Expected an odd number",
        ),
        (
            wrap('{"routes": {"a.x": [1, 2, "3"]}}'),
            "2:27",
            "Entry 3 of 'a.x' is not a number. Got '3'.",
        ),
        (
            wrap('{"routes": {"a.x": [1e12]}}'),
            "2:21",
            "Entry 1 of 'a.x' is out of range. Expected -1,000,000,000 … 1,000,000,000",
        ),
        (
            wrap('{"routes": {"a.x": [' + ", ".join("1" * 101) + "]}}"),
            "2:13",
            "'a.x' is not a route.",
        ),
        (wrap('{"layout": {"a.x": [[1, 2], 3]}}'), "2:29", "Entry 2 of 'a.x' is not a position."),
        (wrap('{"layout": {"a.x": [[1, "2"]]}}'), "2:25", "Entry 1.2 of 'a.x' is not a number."),
        (
            wrap('{"notes": {"n": {"colour": "bluw"}}}'),
            "2:18",
            "'colour' is not a colour. Expected one of red, orange, yellow, green, blue, purple,",
        ),
        (wrap('{"styles": {"a": {"colour": []}}}'), "2:19", "'colour' is not a colour."),
        (wrap('{"styles": {"a": {"collapsed": 1}}}'), "2:19", "'collapsed' is neither true"),
        (wrap('{"styles": {"a": {"sise": 1}}}'), "2:19", "There is no field 'sise' here."),
        (wrap('{"styles": {"a": {"size": [9, 900]}}}'), "2:19", "'size' is out of range."),
        (wrap('{"styles": {"a.x": {}}}'), "2:13", "'a.x' is not a valid block name."),
        (wrap('{"notes": {"n": {"font": 1}}}'), "2:18", "There is no field 'font' here."),
        (wrap('{"notes": {"n": {"frame": 1}}}'), "2:18", "'frame' is neither true nor false."),
        (wrap('{"notes": {" n": {}}}'), "2:12", "' n' is not a valid note name."),
    ],
)
def test_what_is_wrong_with_the_document_has_its_place(text, place, message):
    with pytest.raises(FileError) as caught:
        read(text, "x.json")
    assert str(caught.value).startswith(f"x.json:{place}: {message}")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ('{"page": "z"}', "There is no page 'z'."),
        ('{"zoom": 0}', "'zoom' is not positive. Got 0.0."),
        ('{"at": [1]}', "'at' is not a position."),
        ('{"on": 1}', "There is no field 'on' here."),
        ("1", "'v' is not an object."),
    ],
)
def test_what_is_wrong_with_a_bookmark_is_said(record, message):
    text = f'{{"gradwire": 3, "views": {{"v": {record}}}, "pages": {{"main": {{}}}}}}'
    with pytest.raises(FileError) as caught:
        read(text)
    assert message in str(caught.value)


def test_a_file_may_be_short():
    assert loads('{"gradwire": 3, "pages": {}}') == Diagram({})
    note = loads(wrap('{"notes": {"n": {"text": "hi"}}}')).main.notes["n"]
    assert (note.at, note.width, note.height, note.frame) == ((0, 0), 200, 60, False)


@pytest.mark.parametrize(
    "record",
    [
        '{"type": "Elsewhere", "a": [1, {"b": null}], "c": "x"}',
        '{"type": "Mul", "slope": 3}',
        '{"type": "Mul", "a": "three"}',
        '{"type": "Mul", "a": [[1], [2, 3]]}',
        '{"type": "Mul", "literals": {"a": 3}}',
        '{"type": "Variable", "value": [0.5], "dtype": "int64"}',
        '{"type": "Variable", "value": 1' + "0" * 100 + "}",
        '{"type": "Block"}',
        '{"type": ""}',
    ],
)
def test_a_block_that_can_not_be_made_is_kept_with_its_wires(record):
    text = wrap(f'{{"blocks": {{"odd": {record}}}, "wires": {{"odd.x": "odd.y"}}}}')
    diagram = loads(text)
    assert isinstance(diagram.main.blocks["odd"], Opaque)
    assert f'"odd": {record}' in dumps(diagram)
    assert diagram.main.wires == {PortName("odd", "x"): PortName("odd", "y")}
    assert loads(dumps(diagram)) == diagram


def test_a_validator_that_fails_loses_nothing(monkeypatch):
    def fail(record):
        raise RuntimeError("plug-in")

    monkeypatch.setattr(type(make("Mul")), "from_record", fail)
    assert isinstance(loads(dumps(seed())).main.blocks["mul"], Opaque)


@pytest.mark.parametrize(("limit", "count"), [("MAX_BLOCKS", 5), ("MAX_WIRES", 4)])
def test_limits(monkeypatch, limit, count):
    text = dumps(seed())
    monkeypatch.setattr(reading_module, limit, count)
    with pytest.raises(
        FileError, match=f"4:5: Too many .* Expected at most {count}, got {count + 1}"
    ):
        loads(text)


@pytest.mark.night
@given(st.data(), diagrams())
def test_a_text_with_a_fault_is_read_or_has_an_error_with_a_place(data, diagram):
    text = dumps(diagram)
    at = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(at, min(at + 6, len(text))))
    pieces = ["", "}", "{", "[", "]", ",", '"', "\\", "NaN", "0", '"a":', "null", "-1e999", "\0"]
    faulty = text[:at] + data.draw(st.sampled_from(pieces)) + text[until:]
    try:
        loads(faulty)
    except FileError as error:
        assert error.line is not None and 1 <= error.line <= faulty.count("\n") + 1
        assert error.column is not None and error.column >= 1
        assert re.match(r"\d+:\d+: ", str(error))


@pytest.mark.parametrize("name", ["a\0b", "a/b", "a:b", "\ud800", 'a"b', "\u202e", "a\nb", " a"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"blocks": {', ': {"type": "Sin"}}}'),
        ('{"notes": {', ": {}}}"),
        ('{"layout": {', ": [0, 0]}}"),
    ],
)
def test_raw_names_are_refused_where_they_stand(name, before, after):
    with pytest.raises(FileError, match="is not a valid") as caught:
        read(wrap(before + json.dumps(name) + after), "x.json")
    assert (caught.value.line, caught.value.column) == (2, len(before) + 1)


@pytest.mark.parametrize("end", ["a\0b.x", "s.x\0", 's".x', "s.\ud800", "s.a:b", "s.a\nb", "a/b.x"])
def test_raw_names_in_wires_are_refused_where_they_stand(end):
    for entry in ((end, "a.out"), ("s.x", end)):
        key, value = map(json.dumps, entry)
        with pytest.raises(FileError, match="is not a valid") as caught:
            read(wrap(f'{{"wires": {{{key}: {value}}}}}'), "x.json")
        assert (caught.value.line, caught.value.column) == (2, 12)


def test_equal_names_are_one_string() -> None:
    """Of a large page there are several times as many names in wires as there are blocks."""
    text = '{"blocks": {"w1": {"type": "Variable"}, "t1": {"type": "Tanh"}, "t2": {"type": "Tanh"}}'
    page = loads(wrap(f'{text}, "wires": {{"t1.x": "w1.out", "t2.x": "w1.out"}}}}')).main
    names = {name: name for name in page.blocks}
    ports = [port for wire in page.wires.items() for port in wire]
    assert all(names[port.block] is port.block for port in ports)
    assert len({id(port.port) for port in ports if port.port == "out"}) == 1
    assert page.wires[PortName("t1", "x")] is page.wires[PortName("t2", "x")]


@pytest.mark.parametrize("wire", ['"a": "b.out"', '"a.x": "b"', '"a.": "b.out"', '".x": "b.out"'])
def test_half_a_port_is_refused_after_whole_ones(wire: str) -> None:
    blocks = '"blocks": {"a": {"type": "Tanh"}, "b": {"type": "Variable"}}'
    with pytest.raises(FileError, match="A wire joins two ports"):
        loads(wrap(f'{{{blocks}, "wires": {{"a.y": "b.out", {wire}}}}}'))
