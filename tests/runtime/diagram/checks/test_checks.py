import math

import pytest
from hypothesis import given

from gradwire.blocks import Opaque
from gradwire.runtime.diagram import Diagram, Page, Point, PortName, check
from tests.runtime.diagram.drawing import draw, make, page, scale, seed
from tests.strategies import broken_diagrams, diagrams

USE = make("Page", page="scale")
LOOSE = PortName("v", "x")
NOWHERE = (Point(math.inf, 0),)


def codes(diagram):
    return [(str(p.location), p.code) for p in check(diagram)]


def test_a_good_diagram_has_no_problems():
    assert check(seed()) == []
    assert check(draw({"a": make("Variable"), "use": USE}, {"use.x": "a.out"}, scale=scale())) == []


@pytest.mark.parametrize(
    ("diagram", "found"),
    [
        (Diagram({}), [("diagram", "no-main-page")]),
        (Diagram({"main": Page(), "a/b": Page()}), [("a/b", "bad-name")]),
        (draw({"a.b": make("Variable")}), [("a.b", "bad-name")]),
        (draw({"x": Opaque(original_type="Elsewhere")}), [("x", "unknown-block")]),
        (draw({"x": Opaque(original_type="Mul")}), [("x", "unknown-block")]),
        (draw({"x": Opaque(original_type="Mul", record={"c": 1})}), [("x", "wrong-parameters")]),
        (draw({"m": make("Mul", a=1)}), [("m.b", "missing-input")]),
        (draw({"pow": make("Pow", a=1)}), []),
        (draw({"cat": make("Concat")}), []),
        (draw({"x": make("PageInput")}), [("x.x", "missing-input")]),
        (draw({"x": make("PageInput", x=1)}), []),
        (draw({}, p=page({"x": make("PageInput")})), []),
        (draw({"use": USE}, scale=scale()), [("use.x", "missing-input")]),
        (draw({"use": make("Page", page="scale", x=1)}, scale=scale()), []),
        (
            draw({"use": make("Page", page="scale", x=1, z=1)}, scale=scale()),
            [("use.z", "unknown-literal")],
        ),
        (draw({"use": USE}), [("use", "missing-page")]),
        (
            draw({"s": make("StopGradient", literals={"y": 1}, x=1)}),
            [("s.y", "unknown-literal")],
        ),
        (draw({"s": make("StopGradient")}, {"s.x": "z.out"}), [("s.x", "dangling-wire")]),
        (draw({"a": make("Variable")}, {"z.x": "a.out"}), [("z.x", "dangling-wire")]),
        (
            draw({"a": make("Variable"), "s": make("StopGradient")}, {"s.x": "a.value"}),
            [("s.x", "unknown-port")],
        ),
        (
            draw({"a": make("Variable")}, {"a.x": "a.out"}),
            [("a.x", "unknown-port"), ("a", "cycle")],
        ),
        (
            draw({"use": make("Page", page="scale", x=1)}, {"use.q": "use.r"}, scale=scale()),
            [("use.q", "unknown-port"), ("use.q", "unknown-port")],
        ),
        (
            draw({"cat": make("Concat", **{"parts.0": 1, "parts.2": 1})}),
            [("cat.parts.1", "port-gap")],
        ),
        (
            draw({"a": make("Variable"), "c": make("Concat")}, {"c.parts.1": "a.out"}),
            [("c.parts.0", "port-gap")],
        ),
        (
            draw({"a": make("Variable"), "c": make("Concat")}, {"c.parts.01": "a.out"}),
            [("c.parts.01", "unknown-port")],
        ),
        (
            draw({}, p=page({"x": make("PageInput"), "a": make("Variable")}, {"x.x": "a.out"})),
            [("p: x.x", "driven-page-input")],
        ),
        (
            draw({"s": make("StopGradient"), "t": make("StopGradient")},
                 {"s.x": "t.out", "t.x": "s.out"}),
            [("s", "cycle")],
        ),
        (draw({}, p=page({"again": make("Page", page="p")})), [("p", "page-recursion")]),
        (
            draw({"p": make("Page", page="p")}, p=page({"m": make("Page", page="main")})),
            [("main", "page-recursion")],
        ),
        (Diagram({"main": Page(layout={"z": Point(0, 0)})}), [("z", "stray-layout")]),
        (
            Diagram({"main": Page({"v": make("Variable")}, layout={"v": Point(0, math.nan)})}),
            [("v", "stray-layout")],
        ),
        (Diagram({"main": Page(bends={LOOSE: (Point(0, 0),)})}), [("v.x", "stray-layout")]),
        (draw({"v": make("Variable", value=3, dtype="int64")}, {}), [("v", "untrainable")]),
        (draw({"v": make("Variable", value=3, dtype="int64", trainable=False)}, {}), []),
        (
            Diagram({"main": Page({}, {LOOSE: LOOSE}, bends={LOOSE: NOWHERE})}),
            [("v.x", "dangling-wire"), ("v.x", "stray-layout")],
        ),
    ],
)  # fmt: skip
def test_each_problem_has_its_place_and_code(diagram, found):
    assert codes(diagram) == found


def test_messages_name_what_to_do():
    diagram = draw(
        {
            "a": Opaque(original_type="Mul", record={"slope": 1}),
            "m": make("Mul"),
            "s": make("StopGradient"),
        },
        {"m.a": "s.out", "s.x": "m.out"},
    )
    assert [str(problem) for problem in check(diagram)] == [
        "a: Mul has no parameter or input 'slope'. Expected one of a, b.",
        "m.b: The input is neither wired nor given a value. Wire it, or write a number into it.",
        "m: The blocks read one another: m → s → m. Remove one of these wires.",
    ]


def test_only_stray_places_are_no_errors():
    stray = Diagram({"main": Page(layout={"z": Point(0, 0)})})
    assert [problem.severity for problem in check(stray)] == ["info"]
    assert [problem.severity for problem in check(draw({"m": make("Mul", a=1)}))] == ["error"]


@pytest.mark.night
@given(broken_diagrams())
def test_no_document_makes_it_raise(diagram):
    for problem in check(diagram):
        assert str(problem) and problem.code and problem.location
        assert problem.to_json()["code"] == problem.code


@pytest.mark.night
@given(diagrams())
def test_diagrams_as_users_make_them_lack_inputs_at_most(diagram):
    known = {"missing-input", "unknown-block", "wrong-parameters", "port-gap", "untrainable"}
    assert {problem.code for problem in check(diagram)} <= known


def test_the_codes_are_listed():
    listed = (check.__doc__ or "").partition("Codes:")[2]
    for code in ("no-main-page", "cycle", "stray-layout", "driven-page-input"):
        assert code in listed


def test_a_wire_with_a_mistyped_end_is_told_the_nearest_name():
    drawn = draw(
        {"weight": make("Variable"), "s": make("Sum"), "cat": make("Concat")},
        {"s.y": "weight.out", "cat.part": "weight.outt", "t.x": "weight.out", "s.x": "wieght.out"},
    )
    said = {(str(d.location), d.what): (d.expected, d.next_step) for d in check(drawn)}
    for place, what, expected, step in (
        ("s.y", "The wire from weight.out ends at an input that does not exist.", "one of x",
         "Remove the wire."),
        ("cat.part", "The wire from weight.outt ends at an input that does not exist.",
         "one of parts.0", "Did you mean parts.0?"),
        ("cat.part", "The wire starts at an output that does not exist: weight.outt.",
         "one of out", "Did you mean out?"),
        ("s.x", "The wire from wieght.out starts at a block that does not exist: 'wieght'.", None,
         "Did you mean weight?"),
    ):  # fmt: skip
        assert said[place, what] == (expected, step)
