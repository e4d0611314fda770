"""Forms made from the blocks' fields; what is refused stays where it was typed."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

import gradwire as gw
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.app.panels.inspector.block_form import BlockForm
from gradwire.app.panels.inspector.inspector import Inspector
from gradwire.app.services import theme
from gradwire.blocks.block import Opaque
from gradwire.blocks.errors import Location
from gradwire.blocks.library.arithmetic import AddN, Mul
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.registry import registry
from gradwire.blocks.values import PortLiteral
from gradwire.runtime.diagram import (
    Diagnostic,
    Diagram,
    Page,
    PortName,
    RenameBlock,
    SetParameters,
    SetTitle,
    apply,
)
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow import Cutter, State, Verdict
from tests.together import together


def wired(*pairs):
    return {PortName.parse(target): PortName.parse(source) for target, source in pairs}


@pytest.fixture
def diagram():
    return Diagram(
        {
            "main": Page(
                {
                    "a": Variable(value=[[1.0, 2.0]]),
                    "mul": Mul(a=3),
                    "sum": AddN(),
                    "loss": Loss(),
                    "far": Opaque(original_type="Warp", record={"speed": 9}),
                },
                wired(("mul.b", "a.out"), ("sum.terms.0", "mul.out"), ("loss.x", "sum.out")),
            )
        },
        title="Title",
        description="Words",
    )


@pytest.fixture
def inspector(qtbot, diagram):
    """An inspector over a diagram that takes every change it asks for."""
    made = Inspector()
    made.set_theme(theme.LIGHT)
    made.resize(320, 700)
    made.changes = []

    def take(change):
        made.changes.append(change)
        made.set_diagram(apply(made._diagram, change).after)

    made.changeRequested.connect(take)
    made.set_diagram(diagram)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


def texts(inspector):
    return " ".join(
        label.text() for label in inspector.findChildren(QLabel) if not label.isHidden()
    )


def retype(qtbot, line, text):
    line.setFocus()
    line.selectAll()
    qtbot.keyClicks(line, text)
    qtbot.keyClick(line, Qt.Key.Key_Return)


def block(inspector, name):
    return inspector._diagram.main.blocks[name]


@pytest.mark.night
@together("cls", registry().classes.values(), ids=lambda cls: cls.type_name())
def test_every_block_of_the_library_has_a_form(qtbot, cls):
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.set_diagram(Diagram({"main": Page({"x": cls()})}))
    inspector.set_selection(Selection(frozenset({"x"})))
    form = inspector.form
    idle = getattr(cls(), "idle_parameters", ())
    for name in cls.parameters():
        assert (name in form.fields) == (name not in idle)
    for port in cls.inputs:
        assert (f"{port.name}.0" if port.variadic else port.name) in form.fields
    assert cls.type_name() in texts(inspector)


def test_a_field_offers_the_pages_it_can_draw_and_their_uses(qtbot, inspector):
    line = gw.page("line")(lambda p: p * 2.0)
    three = gw.page("three")(lambda p, q, r: p + q + r)
    x = gw.constant("x", [[1.0, 2.0]])
    one, two = line(x, name="one"), line(x, name="two")
    view = gw.field(page="gone", name="view")
    inspector.set_diagram(gw.build(gw.loss(gw.sum(three(one, two, x))), view))
    inspector.set_selection(Selection(frozenset({"view"})))

    def offered(name):
        box = inspector.form.fields[name].box
        return [box.itemData(i) for i in range(box.count())], box.currentData()

    assert offered("page") == (["", "line", "gone"], "gone"), "what it says now stays in sight"
    assert offered("use") == ([""], "")
    for name, steps, wanted in (("page", "l", "line"), ("use", "t", "two")):
        box = inspector.form.fields[name].box
        QTest.mouseMove(box)
        box.setFocus()
        qtbot.keyClicks(box, steps)
        assert getattr(block(inspector, "view"), name) == wanted
    assert offered("page") == (["", "line"], "line")
    assert offered("use") == (["", "one", "two"], "two")


def test_fields_say_what_they_are_for(inspector):
    inspector.set_selection(Selection(frozenset({"a"})))
    for name, info in Variable.parameters().items():
        assert info.description.split()[0] in inspector.form.fields[name].toolTip()
    assert inspector.form.fields["shape"].line.placeholderText() == "none"


def test_parameters_are_edited(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"a"})))
    field = inspector.form.fields["value"]
    field.text.setFocus()
    field.text.selectAll()
    qtbot.keyClicks(field.text, "[[4, 5]]")
    qtbot.keyClick(field.text, Qt.Key.Key_Return)
    assert inspector.changes == [SetParameters("a", {"value": [[4, 5]]})]
    assert block(inspector, "a").value.array.tolist() == [[4, 5]]
    box = inspector.form.fields["trainable"].box
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert block(inspector, "a").trainable is False


def test_literals_are_edited_and_taken_away(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"mul"})))
    line = inspector.form.fields["a"].value.line
    assert line.text() == "3"
    retype(qtbot, line, "0.5")
    assert block(inspector, "mul").literals["a"] == PortLiteral(0.5)
    retype(qtbot, inspector.form.fields["a"].value.line, "")
    qtbot.keyClick(inspector.form.fields["a"].value.line, Qt.Key.Key_Backspace)
    qtbot.keyClick(inspector.form.fields["a"].value.line, Qt.Key.Key_Return)
    assert "a" not in block(inspector, "mul").literals


def test_a_repeating_port_offers_one_more(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"sum"})))
    assert list(inspector.form.fields) == ["terms.1"]
    retype(qtbot, inspector.form.fields["terms.1"].value.line, "2")
    assert list(inspector.form.fields) == ["terms.1", "terms.2"]
    assert block(inspector, "sum").literals["terms.1"] == PortLiteral(2)


def test_a_wired_input_says_where_it_comes_from_and_leads_there(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"mul"})))
    (origin,) = [x for x in inspector.findChildren(QLabel) if "a.out" in x.text()]
    with qtbot.waitSignal(inspector.blockRequested) as asked:
        origin.linkActivated.emit("a")
    assert asked.args == ["a"]
    assert "b" not in inspector.form.fields


def test_a_refused_value_stays_with_the_reason_under_it(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"a"})))
    field = inspector.form.fields["shape"]
    retype(qtbot, field.line, "two")
    assert inspector.changes == []
    assert field.line.text() == "two"
    assert "shape" in texts(inspector)
    complaint = inspector.form.errors["shape"]
    assert complaint.isVisible()
    assert complaint.text()


def test_a_refused_value_survives_looking_at_another_block(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"a"})))
    retype(qtbot, inspector.form.fields["shape"].line, "two")
    reason = inspector.form.errors["shape"].text()
    inspector.set_selection(Selection(frozenset({"mul"})))
    inspector.set_selection(Selection(frozenset({"a"})))
    assert inspector.form.fields["shape"].line.text() == "two"
    assert inspector.form.errors["shape"].text() == reason
    qtbot.keyClick(inspector.form.fields["shape"].line, Qt.Key.Key_Escape)
    assert inspector.form.fields["shape"].line.text() != "two"
    assert not inspector.form.errors["shape"].isVisible()


def test_what_is_being_typed_is_committed_when_another_block_is_selected(qtbot, inspector):
    inspector.activateWindow()
    inspector.set_selection(Selection(frozenset({"mul"})))
    line = inspector.form.fields["a"].value.line
    line.setFocus()
    line.selectAll()
    qtbot.keyClicks(line, "7")
    inspector.set_selection(Selection(frozenset({"a"})))
    assert block(inspector, "mul").literals["a"] == PortLiteral(7)
    assert inspector.form.name == "a"


def test_what_is_being_typed_survives_a_change_elsewhere(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"mul"})))
    line = inspector.form.fields["a"].value.line
    line.setFocus()
    line.selectAll()
    qtbot.keyClicks(line, "12")
    inspector.set_diagram(apply(inspector._diagram, SetParameters("a", {"trainable": False})).after)
    assert inspector.form.fields["a"].value.line is line
    assert line.text() == "12"
    assert line.hasFocus()


def test_undo_shows_in_the_field(qtbot, inspector, diagram):
    inspector.set_selection(Selection(frozenset({"mul"})))
    retype(qtbot, inspector.form.fields["a"].value.line, "9")
    inspector.set_diagram(diagram)
    assert inspector.form.fields["a"].value.line.text() == "3"


def test_a_block_is_renamed(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"a"})))
    retype(qtbot, inspector.form.name_line, "alpha")
    assert inspector.changes == [RenameBlock("a", "alpha")]


def test_a_name_that_is_taken_is_refused_under_the_name(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"a"})))
    retype(qtbot, inspector.form.name_line, "mul")
    assert inspector.changes == []
    assert "already" in texts(inspector)
    assert inspector.form.name_line.text() == "mul"


def test_several_blocks_are_listed(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"a", "mul"})))
    assert inspector.form is None
    assert "2 blocks selected" in texts(inspector)
    assert 'href="mul"' in texts(inspector)


def test_nothing_selected_shows_title_and_description(qtbot, inspector):
    form = inspector.widget()
    assert form.title_line.text() == "Title"
    assert form.text.toPlainText() == "Words"
    retype(qtbot, form.title_line, "Other")
    assert inspector.changes == [SetTitle("Other", "Words")]
    form.text.setFocus()
    qtbot.keyClicks(form.text, "More ")
    form.title_line.setFocus()
    assert inspector.changes[-1] == SetTitle("Other", "More Words")


def test_contracts_are_stated_and_what_is_none_stays_with_the_reason(qtbot, inspector):
    form = inspector.widget()
    form.contracts.setFocus()
    qtbot.keyClicks(form.contracts, "flows(loss -> W*)")
    qtbot.keyClick(form.contracts, Qt.Key.Key_Tab)
    assert inspector.changes == [SetTitle(contracts=("flows(loss -> W*)",))]
    form.contracts.setFocus()
    qtbot.keyClick(form.contracts, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(form.contracts, Qt.Key.Key_Return)
    qtbot.keyClicks(form.contracts, "flow(loss -> a)")
    form.title_line.setFocus()
    assert len(inspector.changes) == 1
    assert "flow(loss -> a)" in texts(inspector)
    inspector.set_selection(Selection(frozenset({"a"})))
    inspector.set_selection(Selection(frozenset()))
    form = inspector.widget()
    assert form.contracts.toPlainText().endswith("flow(loss -> a)")
    assert "This line is not a contract." in texts(inspector)
    inspector.forget()
    assert inspector.widget().contracts.toPlainText() == "flows(loss -> W*)"


def test_a_block_that_is_not_installed_is_shown_and_left_alone(qtbot, inspector):
    inspector.set_selection(Selection(frozenset({"far"})))
    assert "Warp" in texts(inspector)
    assert inspector.form.fields == {}


def test_a_selected_block_that_goes_leaves_the_title(qtbot, inspector, diagram):
    inspector.set_selection(Selection(frozenset({"a"})))
    inspector.set_diagram(Diagram())
    assert inspector.form is None


def test_results_fill_in_shapes_values_gradients_and_problems(qtbot, inspector, diagram):
    inspector.set_selection(Selection(frozenset({"a"})))
    inspector.set_result(
        EvaluationResult(
            diagram,
            values={"a.out": np.array([[1.0, 2.0]], np.float32)},
            gradients={"a": np.array([[1.0, 1.0]])},
            diagnostics=(
                Diagnostic("error", Location("main", "a"), "This is bad.", next_step="Mend it."),
                Diagnostic("error", Location("main", "mul"), "Not here."),
            ),
        )
    )
    shown = texts(inspector)
    assert "1 × 2 · float32" in shown
    assert "[[1, 2]]" in shown
    assert "Gradient [[1, 1]]" in shown
    assert "This is bad. Mend it." in shown
    assert "Not here." not in shown


def test_a_problem_of_a_port_stands_under_its_field(qtbot, inspector, diagram):
    inspector.set_selection(Selection(frozenset({"mul"})))
    place = Location("main", "mul", "a"), Location("main", "mul", "b")
    found = tuple(Diagnostic("error", at, f"Bad {at.port}.") for at in place)
    inspector.set_result(EvaluationResult(diagram, diagnostics=found))
    form = inspector.form
    assert [form.errors[port].text() for port in "ab"] == ["Bad a.", "Bad b."]
    assert form.errors["a"].isVisible()
    assert not form._problems.isVisible()
    retype(qtbot, form.fields["a"].value.line, "x")
    assert "Bad a." not in form.errors["a"].text()
    qtbot.keyClick(form.fields["a"].value.line, Qt.Key.Key_Escape)
    assert form.errors["a"].text() == "Bad a."
    inspector.set_result(EvaluationResult(diagram))
    assert not form.errors["a"].isVisible()


def test_no_gradient_is_none_with_the_reason_and_a_link_to_the_cutter(qtbot, inspector, diagram):
    inspector.set_selection(Selection(frozenset({"a"})))
    verdict = Verdict(
        "a", "loss.out", State.STOPPED, "stop1 stops every route to loss.",
        (Cutter(InstancePath("stop1"), "x", "stop"),),
    )  # fmt: skip
    inspector.set_result(
        EvaluationResult(diagram, gradients={"a": None}, variable=lambda name, loss=None: verdict)
    )
    assert "Gradient None." in texts(inspector)
    assert 'href="stop1"' in texts(inspector)


def test_results_of_a_page_in_use_are_found_by_its_path(qtbot, inspector, diagram):
    inspector.set_selection(Selection(frozenset({"a"})))
    inspector.set_result(
        EvaluationResult(diagram, values={"enc/a.out": np.array(7.5)}), InstancePath("enc")
    )
    assert "7.5" in texts(inspector)


@pytest.mark.night
def test_forms_do_not_pile_up(qtbot, inspector):
    for _ in range(5):
        inspector.set_selection(Selection(frozenset({"a"})))
        inspector.set_selection(Selection(frozenset({"mul"})))
    qtbot.wait(10)
    assert len(inspector.findChildren(BlockForm)) == 1


def test_an_imported_block_says_where_its_program_has_it(qtbot):
    block = Mul(written="<b>net</b>.py:42")
    panel = Inspector()
    qtbot.addWidget(panel)
    panel.set_diagram(Diagram({"main": Page({"mul": block})}))
    panel.set_selection(Selection(frozenset({"mul"})))
    texts = {label.text(): label for label in panel.findChildren(QLabel)}
    label = texts["Written at <b>net</b>.py:42"]
    assert label.textFormat() is Qt.TextFormat.PlainText
