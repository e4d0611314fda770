from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import Annotations, resolve
from gradwire.app.canvas.state.lanes import CODES, NO_RESULT
from gradwire.app.canvas.state.looks import row_counts
from gradwire.app.canvas.state.tooltips import block_tip, port_tip
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.blocks.block import Opaque
from gradwire.blocks.errors import Location
from gradwire.runtime.diagram import (
    Connect,
    Diagnostic,
    Diagram,
    Disconnect,
    MoveBlocks,
    Point,
    PortName,
    apply,
)
from gradwire.runtime.diagram.model import Style, same_meaning
from gradwire.runtime.diagram.paths import ROOT, InstancePath
from gradwire.runtime.flow import Cutter, State, Verdict
from tests.app.canvas.pages import block, diagram, page, seed, seed_result


def annotations_of(shown, result=None, use=ROOT, **more) -> Annotations:
    scene = Scene(shown, more.pop("page", "main"))
    annotations = resolve(scene, result, use, **more)
    scene.set_rows(row_counts(annotations.page))
    return annotations


def look(annotations, name):
    return annotations.look(annotations.scene.index[name])


def test_without_a_result_nothing_is_said():
    annotations = annotations_of(seed())
    assert annotations.total.codes.tolist() == [NO_RESULT] * 5
    assert annotations.total.codes.dtype == np.int8
    assert not look(annotations, "a").sections
    assert not annotations.page.stale


def test_states_become_codes():
    shown = seed()
    annotations = annotations_of(shown, seed_result(shown))
    codes = dict(zip(annotations.scene.wire_keys, annotations.total.codes.tolist(), strict=True))
    assert codes["stop1.x"] == CODES[State.STOPPED]
    assert codes["loss.x"] == CODES[State.CARRIES]


def test_a_wire_the_result_leaves_out_is_unknown():
    shown = seed()
    assert set(annotations_of(shown, EvaluationResult(shown)).total.codes.tolist()) == {
        CODES[State.UNKNOWN]
    }


def test_a_wire_newer_than_the_result_is_plain():
    old = seed()
    new = apply(old, Connect(PortName("b", "out"), PortName("mul1", "a"))).after
    annotations = annotations_of(new, seed_result(old))
    assert annotations.page.stale
    assert annotations.total.codes[annotations.scene.wire_index["mul1.a"]] == NO_RESULT
    assert annotations.total.codes[annotations.scene.wire_index["loss.x"]] == CODES[State.CARRIES]


def test_dimming_is_for_stale_readings_only():
    shown = seed()
    assert not annotations_of(shown, seed_result(shown), dimmed=True).dimmed
    assert look(annotations_of(seed(), seed_result(shown), dimmed=True), "a").stale


def test_dimming_keeps_the_lanes():
    old = seed()
    scene = Scene(old, "main")
    known = resolve(scene, seed_result(old))
    scene.update(apply(old, Disconnect(PortName("loss", "x"))).after)
    stale = resolve(scene, known.page.result, before=known)
    dimmed = resolve(scene, known.page.result, dimmed=True, before=stale)
    assert stale.total.keys == tuple(scene.wire_keys) != known.total.keys
    assert dimmed.dimmed
    assert dimmed.total is stale.total
    again = resolve(scene, seed_result(old), dimmed=True, before=dimmed)
    assert again.total is not dimmed.total  # of another result


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
        annotations = annotations_of(shown, seed_result(shown))
        value, gradient = look(annotations, "a").sections
        assert (value.mark, value.readout.cells) == ("", (("1", "2"),))
        assert (gradient.mark, gradient.readout.cells) == ("∇", (("1", "1"),))
        _, none = look(annotations, "b").sections
        assert none.readout.cells == (("None",),)

    def test_others_show_their_value(self):
        shown = seed()
        (value,) = look(annotations_of(shown, seed_result(shown)), "mul1").sections
        assert value.readout.cells == (("0", "3"),)

    def test_a_frozen_variable_has_no_gradient_and_says_why(self):
        shown = diagram({"w": block("Variable", value=1.0, trainable=False)})
        annotations = annotations_of(
            shown, EvaluationResult(shown, {"w.out": np.float32(1)}, {"w": None})
        )
        assert look(annotations, "w").label == "frozen"
        assert len(look(annotations, "w").sections) == 1

    def test_unwired_inputs_tell_what_they_take(self):
        blocks = {"m": block("Mul", a=3), "p": block("Pow"), "t": block("Tanh")}
        annotations = annotations_of(diagram(blocks))
        assert [(p.text, p.kind) for p in look(annotations, "m").inputs] == [
            ("a = 3", "open"),
            ("b", "missing"),
        ]
        assert look(annotations, "p").inputs[1].text == "b = 2"
        assert look(annotations, "t").inputs[0].kind == "missing"

    def test_a_literal_array_is_only_hinted_at(self):
        annotations = annotations_of(diagram({"m": block("Mul", a=[1.0, 2.0])}))
        assert look(annotations, "m").inputs[0].text == "a = […]"

    def test_a_lone_wired_input_needs_no_name(self):
        annotations = annotations_of(seed())
        assert [p.text for p in look(annotations, "stop1").inputs] == [""]
        assert [p.text for p in look(annotations, "add1").inputs] == ["a", "b"]

    def test_the_type_is_told_where_the_name_hides_it(self):
        blocks = {"mul1": block("Mul"), "teacher": block("Tanh"), "mse": block("MeanSquaredError")}
        annotations = annotations_of(diagram(blocks))
        assert look(annotations, "mul1").label == ""
        assert look(annotations, "mse").label == "MeanSquaredError"

    def test_a_block_that_is_not_installed_shows_its_type(self):
        annotations = annotations_of(diagram({"x": Opaque(original_type="Gone")}))
        assert look(annotations, "x").label == "Gone"
        assert look(annotations, "x").symbol == "G"

    def test_plain_looks_are_shared_but_for_the_name(self):
        shown = seed()
        annotations = annotations_of(shown, seed_result(shown))
        plain = annotations.plain_look(annotations.scene.index["mul1"])
        assert plain.sections == ()
        assert annotations.plain_look(annotations.scene.index["mul1"]) is plain

    def test_several_outputs_have_a_line_each(self):
        inner = page({"y": block("PageOutput"), "z": block("PageOutput")})
        shown = Diagram({"main": page({"enc": block("Page", page="inner")}), "inner": inner})
        values = {"enc/y.out": np.ones((64, 64), np.float32)}
        annotations = annotations_of(shown, EvaluationResult(shown, values))
        first, second = look(annotations, "enc").sections
        assert first.readout.cells == (("64 × 64 float32",),)
        assert second.readout.cells == (("–",),)
        assert look(annotations, "enc").lines == 2


def problem(severity="error", block=None, port=None, page="main", what="wrong"):
    return Diagnostic(severity, Location(page, block, port), what)


class TestProblems:
    def test_they_sit_on_block_and_port(self):
        shown = seed()
        result = EvaluationResult(shown, diagnostics=(problem(block="mul1", port="b"),))
        annotations = annotations_of(shown, result)
        assert annotations.page.severities["mul1"] == "error"
        assert [p.trouble for p in look(annotations, "mul1").inputs] == [False, True]
        assert "add1" not in annotations.page.severities
        assert "wrong" in block_tip(annotations.page, annotations.scene.index["mul1"])
        assert "wrong" in port_tip(annotations.page, annotations.scene.port("mul1", "b"))

    def test_the_worst_gives_the_badge(self):
        shown = seed()
        several = (problem("info", "a"), problem("error", "a"), problem("warning", "b"))
        annotations = annotations_of(shown, EvaluationResult(shown, diagnostics=several))
        assert annotations.page.severities["a"] == "error"
        assert annotations.page.severities["b"] == "warning"

    def test_problems_inside_a_page_show_on_its_block(self):
        inner = page({"w": block("Mul")})
        shown = Diagram({"main": page({"enc": block("Page", page="inner")}), "inner": inner})
        found = (problem(block="enc/w", port="a"),)
        assert annotations_of(
            shown, EvaluationResult(shown, diagnostics=found)
        ).page.severities == {"enc": "error"}
        within = annotations_of(
            shown, EvaluationResult(shown, diagnostics=found), InstancePath("enc"), page="inner"
        )
        assert look(within, "w").inputs[0].trouble

    def test_those_of_a_page_show_in_every_use(self):
        inner = page({"w": block("Mul")})
        shown = Diagram({"main": page({}), "inner": inner})
        found = (problem(page="inner", block="w", port="b"),)
        annotations = annotations_of(
            shown, EvaluationResult(shown, diagnostics=found), InstancePath("enc"), page="inner"
        )
        assert annotations.page.severities["w"] == "error"

    def test_those_of_other_pages_and_of_no_block_do_not(self):
        shown = seed()
        found = (problem(page="other", block="a"), problem(), problem(block="nobody"))
        assert annotations_of(shown, EvaluationResult(shown, diagnostics=found)).page.problems == {}


class TestInsideAPage:
    def test_names_are_read_with_the_prefix(self):
        inner = page({"w": block("Variable", value=2.0), "t": block("Tanh")}, {"t.x": "w.out"})
        shown = Diagram({"main": page({"enc": block("Page", page="inner")}), "inner": inner})
        result = EvaluationResult(
            shown,
            {"enc/w.out": np.float32(2), "w.out": np.float32(99)},
            {"enc/w": np.float32(0.25)},
            {"enc/t.x": State.CARRIES},
            {"enc/t.x": 100.0},
        )
        annotations = annotations_of(shown, result, InstancePath("enc"), page="inner")
        value, gradient = look(annotations, "w").sections
        assert value.readout.cells == (("2",),)
        assert gradient.readout.cells == (("0.25",),)
        assert annotations.total.codes.tolist() == [CODES[State.CARRIES]]
        assert annotations.total.widths[0] > 3


class TestMarks:
    def marks(self, state, norm):
        shown = diagram({"w": block("Variable", value=1.0), "t": block("Tanh")}, {"t.x": "w.out"})
        annotations = annotations_of(
            shown, EvaluationResult(shown, {}, {}, {"t.x": state}, {"t.x": norm})
        )
        return annotations.total.label(0), annotations.total.amounts(0)

    def test_what_is_odd_is_marked_always(self):
        assert self.marks(State.ZERO, 0.0) == ("0", ())
        assert self.marks(State.VANISHING, 2e-8) == ("▽ 10⁻⁸", ())
        assert self.marks(State.EXPLODING, 3e5) == ("▲ 10⁵", ())
        assert self.marks(State.EXPLODING, None) == ("▲", ())
        assert self.marks(State.NONFINITE, None) == ("NaN", ())

    def test_the_rest_when_asked(self):
        assert self.marks(State.CARRIES, 0.52) == ("", ("rms 0.52",))
        assert self.marks(State.STOPPED, None) == ("", ())

    def test_a_scalar_has_its_value(self):
        shown = diagram({"w": block("Variable", value=1.0), "t": block("Tanh")}, {"t.x": "w.out"})
        known = {"norms": {"t.x": 0.5}, "contributions": {"t.x": np.array(-0.5)}}
        result = EvaluationResult(shown, states={"t.x": State.CARRIES}, **known)
        assert annotations_of(shown, result).total.amounts(0) == ("−0.5",)


def all_stopped(shown):
    return {str(target): State.STOPPED for target in shown.main.wires}


def test_a_cut_is_not_looked_for_when_time_is_up():
    shown = seed()
    asked = []

    def verdict(wire):
        asked.append(wire)
        return Verdict(
            wire, None, State.STOPPED, "", cutters=(Cutter(InstancePath("stop1"), "x", "stop"),)
        )

    annotations = annotations_of(
        shown, EvaluationResult(shown, states=all_stopped(shown), verdict=verdict)
    )
    behind, cutting = (annotations.scene.wire_index[key] for key in ("mul1.b", "stop1.x"))
    assert annotations.total.is_cut(behind, until=0.0) is None
    assert annotations.total.is_cut(behind) is False
    assert annotations.total.is_cut(cutting, until=0.0) is True, (
        "known from the verdict of another wire"
    )
    assert annotations.total.is_cut(behind, until=0.0) is False
    assert asked == ["mul1.b"]


def test_the_cut_is_where_the_cutter_says():
    shown = seed()

    def verdict(wire):
        return Verdict(
            wire, None, State.STOPPED, "", cutters=(Cutter(InstancePath("stop1"), "x", "stop"),)
        )

    result = EvaluationResult(shown, states=all_stopped(shown), verdict=verdict)
    annotations = annotations_of(shown, result)
    cut = [key for i, key in enumerate(annotations.scene.wire_keys) if annotations.total.is_cut(i)]
    assert cut == ["stop1.x"]
    assert not annotations_of(shown, seed_result(shown)).total.is_cut(0), (
        "a verdict of None cuts nothing"
    )
    assert not annotations_of(shown).total.is_cut(0)


def test_rows_stay_as_they_are_while_no_value_is_known():
    shown = seed()
    annotations = annotations_of(shown, seed_result(shown))
    nothing = resolve(annotations.scene, EvaluationResult(Diagram()))
    assert row_counts(nothing.page) is annotations.scene.rows


def test_another_layout_keeps_the_lanes():
    shown = seed()
    result, scene = seed_result(shown), Scene(shown, "main")
    before = resolve(scene, result)
    moved = apply(shown, MoveBlocks({"a": Point(7, 9)})).after
    scene.update(moved)
    other = replace(result, diagram=moved)
    after = resolve(scene, other, before=before)
    assert after.total.codes is before.total.codes
    assert after.total.result is other and after.page.result is other
    assert not after.page.stale
    fresh = resolve(scene, other)
    assert np.array_equal(fresh.total.codes, after.total.codes)
    assert np.array_equal(fresh.total.widths, after.total.widths)
    assert after.look(0) == fresh.look(0)


def test_looks_are_kept_while_faces_show_the_same():
    shown = seed()
    result = seed_result(shown)
    before = annotations_of(shown, result)
    scene, kept = before.scene, resolve(before.scene, result, before=before)
    looks = [kept.look(i) for i in range(len(scene.names))]
    words = [kept.total.words(wire) for wire in range(len(scene.wire_keys))]
    scene.update(apply(shown, MoveBlocks({"a": Point(7, 9)})).after)
    after = resolve(scene, replace(result, diagram=scene.diagram), before=kept)
    assert [after._looks[i] for i in range(len(looks))] == looks
    assert [after.total._words[wire] for wire in range(len(words))] == words


@pytest.mark.parametrize("part", ["diagnostics", "gradients", "pictures", "styles"])
def test_looks_are_found_anew_where_faces_may_show_something_else(part):
    shown = seed()
    result = seed_result(shown)
    before = annotations_of(shown, result)
    scene, kept = before.scene, resolve(before.scene, result, before=before)
    kept.look(0)
    if part == "styles":
        changed = shown.with_page("main", replace(shown.main, styles={"a": Style(collapsed=True)}))
        assert not scene.update(changed)
        after = resolve(scene, result, before=kept)
    else:
        problem = Diagnostic("warning", Location("main", "a"), "Odd.", code="odd")
        other = {"diagnostics": (problem,), "gradients": {"a": np.ones((1, 2))}, "pictures": {}}
        after = resolve(scene, replace(result, **{part: other[part]}), before=kept)
    assert after.total.codes is kept.total.codes
    assert not after._looks
    assert after.look(0) == resolve(scene, after.page.result).look(0)


def test_other_states_wires_and_uses_are_resolved_anew():
    shown = seed()
    result, scene = seed_result(shown), Scene(shown, "main")
    before = resolve(scene, result)
    states = dict.fromkeys(result.states, State.STOPPED)
    after = resolve(scene, replace(result, states=states), before=before)
    assert set(after.total.codes.tolist()) == {CODES[State.STOPPED]}
    for changed in ({"verdict": lambda *_: None}, {"norms": {}}, {"zeros": {}}):
        other = replace(result, **changed)
        assert resolve(scene, other, before=before).total.codes is not before.total.codes
    elsewhere = resolve(scene, result, InstancePath("a"), before=before)
    assert elsewhere.total.keys != before.total.keys
    cut = apply(shown, Disconnect(PortName("loss", "x"))).after
    scene.update(cut)
    assert len(resolve(scene, result, before=before).total.codes) == len(before.total.codes) - 1


def test_a_diagram_is_lossless_until_it_has_a_loss():
    with_loss = seed()
    blocks = {n: b for n, b in with_loss.main.blocks.items() if not type(b).head}
    without = Diagram({"main": replace(with_loss.main, blocks=blocks)})
    for shown, lossless in ((without, True), (with_loss, False), (without, True)):
        assert EvaluationResult(shown).is_lossless == lossless
        moved = Diagram({"main": replace(shown.main, layout={})})
        assert EvaluationResult(moved).is_lossless == lossless
