"""Selections as text: what is kept, what is renamed, and what a text editor may send."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.errors import FileError
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import Diagram, Note, Page, Point, PortName, apply, check, dumps
from gradwire.runtime.diagram.edits.clipboard import STEP, _unique, copied, pasted
from tests.runtime.diagram.drawing import make
from tests.work import calls

EMPTY = Diagram()


def wires(**ends):
    parse = PortName.parse
    return {parse(target.replace("__", ".")): parse(source) for target, source in ends.items()}


def chain() -> Diagram:
    """a → mul1 ← 3, mul1 → add1 ← b."""
    blocks = {"a": Variable(value=[1.0]), "mul1": Mul(b=3), "add1": Add(), "b": Variable(value=2.0)}
    layout = {name: Point(200.0 * i, 10.0 * i) for i, name in enumerate(blocks)}
    joined = wires(mul1__a="a.out", add1__a="mul1.out", add1__b="b.out")
    return Diagram({"main": Page(blocks, joined, layout, {"n": Note("hi", Point(5.0, 5.0))})})


def put(text, diagram=EMPTY, page="main", at=None):
    paste = pasted(diagram, page, text, at)
    return apply(diagram, paste.change).after, paste.blocks


def test_all_of_a_page_comes_back_as_it_was():
    text = copied(chain(), "main", chain().main.blocks, ["n"])
    after, names = put(text)
    assert after.main.blocks == chain().main.blocks
    assert after.main.wires == chain().main.wires
    assert after.main.layout["a"] == STEP
    assert after.main.notes["n"] == Note("hi", Point(5.0 + STEP.x, 5.0 + STEP.y))
    assert names == chain().main.blocks.keys()


def test_names_that_are_taken_get_a_number_and_inner_wires_follow():
    after, names = put(copied(chain(), "main", ["a", "mul1"]), chain())
    assert names == {"a2", "mul2"}
    assert after.main.wires[PortName("mul2", "a")] == PortName("a2", "out")
    assert after.main.blocks["mul2"] == chain().main.blocks["mul1"]
    assert len(after.main.wires) == 4


def test_wires_from_outside_are_left_out():
    after, _ = put(copied(chain(), "main", ["add1"]))
    assert after.main.wires == {}


def test_names_stay_unique_however_often_it_is_pasted():
    diagram, text = chain(), copied(chain(), "main", ["a", "mul1", "b"])
    for _ in range(3):
        diagram, _ = put(text, diagram)
    assert {"a2", "a3", "a4", "mul2", "mul3", "mul4", "b4"} <= diagram.main.blocks.keys()


def test_terms_of_a_repeating_port_move_up():
    blocks = {"a": Variable(value=1.0), "b": Variable(value=2.0), "s": make("Concat")}
    diagram = Diagram({"main": Page(blocks, {
        PortName("s", "parts.0"): PortName("a", "out"),
        PortName("s", "parts.1"): PortName("b", "out"),
    })})  # fmt: skip
    after, _ = put(copied(diagram, "main", ["b", "s"]))
    assert after.main.wires == {PortName("s", "parts.0"): PortName("b", "out")}


def test_it_comes_with_its_middle_where_it_is_wanted():
    after, _ = put(copied(chain(), "main", ["a", "b"]), at=Point(1000.0, 1000.0))
    left, right = (after.main.layout[name].x for name in ("a", "b"))
    assert 900 < (left + right) / 2 + 80 < 1100
    assert right - left == 600


def paged() -> Diagram:
    inner = Page(
        {"x": PageInput(), "add": Add(), "y": PageOutput()},
        wires(add__a="x.out", add__b="x.out", y__x="add.out"),
    )
    outer = Page(
        {"x": PageInput(), "in": PageBlock(page="twice"), "y": PageOutput()},
        {PortName("in", "x"): PortName("x", "out"), PortName("y", "x"): PortName("in", "y")},
    )
    main = Page({"w": Variable(value=1.0), "use": PageBlock(page="outer")}, wires(use__x="w.out"))
    return Diagram({"main": main, "twice": inner, "outer": outer})


class TestPages:
    def test_pages_that_are_stood_on_come_along(self):
        after, _ = put(copied(paged(), "main", ["use", "w"]))
        assert after.pages["twice"] == paged().pages["twice"]
        assert after.pages["outer"] == paged().pages["outer"]
        assert PortName("use", "x") in after.main.wires

    def test_the_same_page_is_used_and_not_copied(self):
        after, _ = put(copied(paged(), "main", ["use"]), paged())
        assert list(after.pages) == ["main", "twice", "outer"]
        assert after.main.blocks["use2"] == PageBlock(page="outer")

    def test_another_page_of_the_name_is_kept_apart_with_all_that_stands_on_it(self):
        other = paged().with_page("twice", Page({"x": PageInput(), "y": PageOutput()}))
        after, _ = put(copied(paged(), "main", ["use"]), other)
        assert after.main.blocks["use2"] == PageBlock(page="outer2")
        assert after.pages["outer2"].blocks["in"] == PageBlock(page="twice2")
        assert after.pages["twice"] == other.pages["twice"]

    def test_a_page_in_itself_is_a_problem_that_is_told(self):
        after, _ = put(copied(paged(), "main", ["use"]), paged(), page="outer")
        assert any(problem.severity == "error" for problem in check(after))


class TestTexts:
    RECORD = '"m": {"type": "Mul", "b": 3}'

    @pytest.mark.parametrize(
        "text",
        [
            '{"gradwire": 3, "pages": {"main": {"blocks": {%s}}}}',
            '\ufeff\r\n  {"blocks": {%s}}\n\n',
            '{"blocks": {%s}, "wires": {"m.a": "gone.out"}, "layout": {"gone": [0, 0]}}',
            "{%s}",
            "    %s,\n",
            '"blocks": {%s},',
            "```json\n{%s}\n```",
        ],
    )
    def test_a_part_of_a_file_will_do(self, text):
        after, names = put(text.replace("%s", self.RECORD))
        assert after.main.blocks == {"m": Mul(b=3)}
        assert names == {"m"}
        assert after.main.wires == {}

    def test_a_lone_record_gets_a_name(self):
        after, _ = put('{"type": "Mul", "b": 3}')
        assert after.main.blocks == {"mul1": Mul(b=3)}

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("hello", "not part of a diagram"),
            ("", "not part of a diagram"),
            ("[1, 2]", "not part of a diagram"),
            ('{"a": 1}', "not part of a diagram"),
            ('{"blocks": {"m": {"type": "Mul"}', r"^1:"),
            ('{"gradwire": 3, "pages": {"main": {}}}', "no blocks"),
            ('{"gradwire": 9, "pages": {"main": {}}}', "version"),
        ],
    )
    def test_anything_else_is_told(self, text, told):
        with pytest.raises(FileError, match=told):
            pasted(EMPTY, "main", text)

    def test_an_unknown_block_is_kept(self):
        after, _ = put('{"z": {"type": "Zap", "q": 1}}')
        assert dict(after.main.blocks["z"].record) == {"q": 1}

    @given(st.text() | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(
            st.text() | st.sampled_from(["type", "blocks", "pages", "wires"]), inner),
    ).map(json.dumps))  # fmt: skip
    def test_no_text_does_worse_than_be_refused(self, text):
        try:
            pasted(EMPTY, "main", text)
        except FileError:
            return

    def test_the_text_is_a_file(self):
        whole = copied(chain(), "main", chain().main.blocks, ["n"])
        assert whole == dumps(chain())


def _next_free(name, taken):
    """The rule, word by word."""
    stem = name.rstrip("0123456789")
    number = int(name[len(stem) :] or 1) + 1
    while f"{stem or 'block'}{number}" in taken:
        number += 1
    return f"{stem or 'block'}{number}"


@given(
    names=st.lists(st.from_regex(r"[ab]?[0-9]{0,2}", fullmatch=True).filter(bool), unique=True),
    taken=st.sets(st.from_regex(r"[ab]?[0-9]{0,2}", fullmatch=True).filter(bool)),
)
def test_each_name_gets_the_next_free_number(names, taken):
    used, expected = {*taken, *names}, {}
    for name in names:
        expected[name] = name if name not in taken else _next_free(name, used)
        used.add(expected[name])
    assert _unique(names, taken) == expected


@pytest.mark.night
def test_ten_thousand_names_take_linear_time():
    names = [f"b{i}" for i in range(10_000)]
    few, many = (calls(lambda n=n: _unique(names[:n], names[:n])) for n in (1000, 10_000))
    assert many < 11 * few  # number by number it is a hundred times as much
    made = _unique(names, names)
    assert not {*made.values()} & {*names}
    assert len({*made.values()}) == len(names)
