from __future__ import annotations

import numpy as np

from app.canvas.scene.geometry import Scene
from app.canvas.state.annotations import Facts
from app.canvas.state.codes import CODES, NOT_READ
from app.evaluation.result import Result
from blocks.block import Opaque
from blocks.errors import Location
from runtime.diagram import Connect, Diagnostic, Diagram, MoveBlocks, Point, PortName, apply
from runtime.diagram.model import same_meaning
from runtime.flow import Cutter, State, Verdict
from tests.app.canvas.pages import block, diagram, page, seed, seed_result


def facts_of(shown, result=None, prefix="", **more) -> Facts:
    scene = Scene(shown, more.pop("page", "main"))
    facts = Facts(scene, result, prefix, **more)
    scene.set_rows(facts.rows())
    return facts


def look(facts, name):
    return facts.look(facts.scene.index[name])


def test_without_a_result_nothing_is_said():
    facts = facts_of(seed())
    assert facts.codes.tolist() == [NOT_READ] * 5
    assert facts.codes.dtype == np.int8
    assert not look(facts, "a").sections
    assert not facts.stale


def test_states_become_codes():
    shown = seed()
    facts = facts_of(shown, seed_result(shown))
    codes = dict(zip(facts.scene.wire_keys, facts.codes.tolist(), strict=True))
    assert codes["stop1.x"] == CODES[State.STOPPED]
    assert codes["loss.x"] == CODES[State.CARRIES]


def test_a_wire_the_result_leaves_out_is_unknown():
    shown = seed()
    assert set(facts_of(shown, Result(shown)).codes.tolist()) == {CODES[State.UNKNOWN]}


def test_a_wire_newer_than_the_result_is_plain():
    old = seed()
    new = apply(old, Connect(PortName("b", "out"), PortName("mul1", "a"))).after
    facts = facts_of(new, seed_result(old))
    assert facts.stale
    assert facts.codes[facts.scene.wire_index["mul1.a"]] == NOT_READ
    assert facts.codes[facts.scene.wire_index["loss.x"]] == CODES[State.CARRIES]


def test_dimming_is_for_stale_readings_only():
    shown = seed()
    assert not facts_of(shown, seed_result(shown), dimmed=True).dimmed
    assert look(facts_of(seed(), seed_result(shown), dimmed=True), "a").stale


def test_places_have_no_meaning():
    shown = seed()
    moved = apply(shown, MoveBlocks({"a": Point(3, 3)})).after
    assert same_meaning(shown, moved)
    assert not same_meaning(
        shown, apply(shown, Connect(PortName("a", "out"), PortName("mul1", "a"))).after
    )
    assert not same_meaning(shown, Diagram({**shown.pages, "other": page({})}))


class TestFaces:
    def test_a_variable_shows_value_and_gradient(self):
        shown = seed()
        facts = facts_of(shown, seed_result(shown))
        value, gradient = look(facts, "a").sections
        assert (value.mark, value.readout.cells) == ("", (("1", "2"),))
        assert (gradient.mark, gradient.readout.cells) == ("∇", (("1", "1"),))
        _, none = look(facts, "b").sections
        assert none.readout.cells == (("None",),)

    def test_others_show_their_value(self):
        shown = seed()
        (value,) = look(facts_of(shown, seed_result(shown)), "mul1").sections
        assert value.readout.cells == (("0", "3"),)

    def test_a_frozen_variable_has_no_gradient_and_says_why(self):
        shown = diagram({"w": block("Variable", value=1.0, trainable=False)})
        facts = facts_of(shown, Result(shown, {"w.out": np.float32(1)}, {"w": None}))
        assert look(facts, "w").label == "frozen"
        assert len(look(facts, "w").sections) == 1

    def test_unwired_inputs_tell_what_they_take(self):
        blocks = {"m": block("Mul", a=3), "p": block("Pow"), "t": block("Tanh")}
        facts = facts_of(diagram(blocks))
        assert [(p.text, p.kind) for p in look(facts, "m").inputs] == [
            ("a = 3", "open"),
            ("b", "missing"),
        ]
        assert look(facts, "p").inputs[1].text == "b = 2"
        assert look(facts, "t").inputs[0].kind == "missing"

    def test_a_literal_array_is_only_hinted_at(self):
        facts = facts_of(diagram({"m": block("Mul", a=[1.0, 2.0])}))
        assert look(facts, "m").inputs[0].text == "a = […]"

    def test_a_lone_wired_input_needs_no_name(self):
        facts = facts_of(seed())
        assert [p.text for p in look(facts, "stop1").inputs] == [""]
        assert [p.text for p in look(facts, "add1").inputs] == ["a", "b"]

    def test_the_type_is_told_where_the_name_hides_it(self):
        blocks = {"mul1": block("Mul"), "teacher": block("Tanh"), "mse": block("MeanSquaredError")}
        facts = facts_of(diagram(blocks))
        assert look(facts, "mul1").label == ""
        assert look(facts, "mse").label == "MeanSquaredError"

    def test_a_block_that_is_not_installed_shows_its_type(self):
        facts = facts_of(diagram({"x": Opaque(original_type="Gone")}))
        assert look(facts, "x").label == "Gone"
        assert look(facts, "x").symbol == "G"

    def test_plain_looks_are_shared_but_for_the_name(self):
        shown = seed()
        facts = facts_of(shown, seed_result(shown))
        plain = facts.plain_look(facts.scene.index["mul1"])
        assert plain.sections == ()
        assert facts.plain_look(facts.scene.index["mul1"]) is plain

    def test_several_outputs_have_a_line_each(self):
        inner = page({"y": block("PageOutput"), "z": block("PageOutput")})
        shown = Diagram({"main": page({"enc": block("Page", page="inner")}), "inner": inner})
        values = {"enc/y.out": np.ones((64, 64), np.float32)}
        facts = facts_of(shown, Result(shown, values))
        first, second = look(facts, "enc").sections
        assert first.readout.cells == (("64 × 64 float32",),)
        assert second.readout.cells == (("–",),)
        assert look(facts, "enc").lines == 2


def problem(severity="error", block=None, port=None, page="main", what="wrong"):
    return Diagnostic(severity, Location(page, block, port), what)


class TestProblems:
    def test_they_sit_on_block_and_port(self):
        shown = seed()
        result = Result(shown, diagnostics=(problem(block="mul1", port="b"),))
        facts = facts_of(shown, result)
        assert look(facts, "mul1").badge == "error"
        assert [p.trouble for p in look(facts, "mul1").inputs] == [False, True]
        assert look(facts, "add1").badge == ""
        assert "wrong" in facts.tip(facts.scene.index["mul1"])
        assert "wrong" in facts.port_tip(facts.scene.port("mul1", "b"))

    def test_the_worst_gives_the_badge(self):
        shown = seed()
        several = (problem("info", "a"), problem("error", "a"), problem("warning", "b"))
        facts = facts_of(shown, Result(shown, diagnostics=several))
        assert look(facts, "a").badge == "error"
        assert look(facts, "b").badge == "warning"

    def test_problems_inside_a_page_show_on_its_block(self):
        inner = page({"w": block("Mul")})
        shown = Diagram({"main": page({"enc": block("Page", page="inner")}), "inner": inner})
        found = (problem(block="enc/w", port="a"),)
        assert look(facts_of(shown, Result(shown, diagnostics=found)), "enc").badge == "error"
        within = facts_of(shown, Result(shown, diagnostics=found), "enc/", page="inner")
        assert look(within, "w").inputs[0].trouble

    def test_those_of_a_page_show_in_every_use(self):
        inner = page({"w": block("Mul")})
        shown = Diagram({"main": page({}), "inner": inner})
        found = (problem(page="inner", block="w", port="b"),)
        facts = facts_of(shown, Result(shown, diagnostics=found), "enc/", page="inner")
        assert look(facts, "w").badge == "error"

    def test_those_of_other_pages_and_of_no_block_do_not(self):
        shown = seed()
        found = (problem(page="other", block="a"), problem(), problem(block="nobody"))
        assert facts_of(shown, Result(shown, diagnostics=found)).problems == {}


class TestInsideAPage:
    def test_names_are_read_with_the_prefix(self):
        inner = page({"w": block("Variable", value=2.0), "t": block("Tanh")}, {"t.x": "w.out"})
        shown = Diagram({"main": page({"enc": block("Page", page="inner")}), "inner": inner})
        result = Result(
            shown,
            {"enc/w.out": np.float32(2), "w.out": np.float32(99)},
            {"enc/w": np.float32(0.25)},
            {"enc/t.x": State.CARRIES},
            {"enc/t.x": 100.0},
        )
        facts = facts_of(shown, result, "enc/", page="inner")
        value, gradient = look(facts, "w").sections
        assert value.readout.cells == (("2",),)
        assert gradient.readout.cells == (("0.25",),)
        assert facts.codes.tolist() == [CODES[State.CARRIES]]
        assert facts.whole.widths[0] > 3


class TestMarks:
    def marks(self, state, norm):
        shown = diagram({"w": block("Variable", value=1.0), "t": block("Tanh")}, {"t.x": "w.out"})
        facts = facts_of(shown, Result(shown, {}, {}, {"t.x": state}, {"t.x": norm}))
        return facts.whole.mark(0), facts.whole.mark(0, in_full=True)

    def test_what_is_odd_is_marked_always(self):
        assert self.marks(State.ZERO, 0.0)[0] == "0"
        assert self.marks(State.FAINT, 2e-8)[0] == "▽ 10⁻⁸"
        assert self.marks(State.FLOOD, 3e5)[0] == "▲ 10⁵"
        assert self.marks(State.FLOOD, None)[0] == "▲"
        assert self.marks(State.NONFINITE, None)[0] == "NaN"

    def test_the_rest_when_asked(self):
        assert self.marks(State.CARRIES, 0.52) == ("", "rms 0.52")
        assert self.marks(State.STOPPED, None) == ("", "")


def all_stopped(shown):
    return {str(target): State.STOPPED for target in shown.main.wires}


def test_a_cut_is_not_looked_for_when_time_is_up():
    shown = seed()
    asked = []

    def verdict(wire):
        asked.append(wire)
        return Verdict(wire, None, State.STOPPED, "", cutters=(Cutter("stop1", "x", "stop"),))

    facts = facts_of(shown, Result(shown, states=all_stopped(shown), verdict=verdict))
    behind, cutting = (facts.scene.wire_index[key] for key in ("mul1.b", "stop1.x"))
    assert facts.whole.cut(behind, until=0.0) is None
    assert facts.whole.cut(behind) is False
    assert facts.whole.cut(cutting, until=0.0) is True, "known from the verdict of another wire"
    assert facts.whole.cut(behind, until=0.0) is False
    assert asked == ["mul1.b"]


def test_the_cut_is_where_the_cutter_says():
    shown = seed()

    def verdict(wire):
        return Verdict(wire, None, State.STOPPED, "", cutters=(Cutter("stop1", "x", "stop"),))

    result = Result(shown, states=all_stopped(shown), verdict=verdict)
    facts = facts_of(shown, result)
    cut = [key for i, key in enumerate(facts.scene.wire_keys) if facts.whole.cut(i)]
    assert cut == ["stop1.x"]
    assert not facts_of(shown, seed_result(shown)).whole.cut(0), "a verdict of None cuts nothing"
    assert not facts_of(shown).whole.cut(0)


def test_rows_stay_as_they_are_while_no_value_is_known():
    shown = seed()
    facts = facts_of(shown, seed_result(shown))
    nothing = Facts(facts.scene, Result(Diagram()))
    assert nothing.rows() is facts.scene.rows
