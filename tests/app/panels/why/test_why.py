"""What the panel says of a wire, for one loss and for several."""

import numpy as np
import pytest
from PySide6.QtWidgets import QLabel

from gradwire.app.evaluation.result import EvaluationResult
from gradwire.app.panels.inspector.grid import ArrayGrid
from gradwire.app.panels.inspector.texts import linked
from gradwire.app.panels.why.why import Why
from gradwire.app.services import theme
from gradwire.blocks.library.activations import Tanh
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import Diagram, Page, PortName
from gradwire.runtime.diagram.paths import ROOT, InstancePath, PortPath
from gradwire.runtime.flow import Cutter, State, Verdict

WIRE = {PortName("f", "x"): PortName("a", "out")}
STOP = Cutter(InstancePath("stop"), "x", "stop")


@pytest.fixture
def diagram():
    return Diagram({"main": Page({"a": Variable(value=[1.0]), "f": Tanh()}, WIRE)})


@pytest.fixture
def why(qtbot, diagram):
    made = Why()
    made.set_theme(theme.LIGHT)
    made.set_diagram(diagram)
    qtbot.addWidget(made)
    made.show()
    return made


def result(diagram, *verdicts, use=ROOT, **more):
    by_loss = {PortPath(verdict.loss): verdict for verdict in verdicts}
    return EvaluationResult(
        diagram,
        states={(use / "f").wire("x"): verdicts[0].state},
        losses=tuple(by_loss),
        verdict=lambda wire, loss=None: by_loss[loss] if loss else verdicts[0],
        **more,
    )


def test_without_a_wire_it_says_what_to_do(why):
    assert "Click a wire" in why.text()


@pytest.mark.night
def test_without_a_result_it_says_so(why):
    why.set_wire("f.x")
    assert "a.out → f.x" in why.text()
    assert "Not computed" in why.text()


def test_a_cut_wire_names_and_links_the_cutter(why, diagram, qtbot):
    why.set_wire("f.x")
    verdict = Verdict("f.x", "loss.out", State.STOPPED, "stop stops every route to loss.", (STOP,))
    why.set_result(result(diagram, verdict))
    assert "Stopped" in why.text().split("\n")
    (sentence,) = [label for label in why.findChildren(QLabel) if "every route" in label.text()]
    with qtbot.waitSignal(why.blockRequested) as asked:
        sentence.linkActivated.emit("stop")
    assert asked.args == ["stop"]
    assert "Cut by" not in why.text()


def test_a_cure_continues_the_sentence(why, diagram):
    why.set_wire("f.x")
    off = Verdict("f.x", "loss.out", State.ZERO, "f is off (−3.00).", cure="Use <b>LeakyRelu</b>.")
    why.set_result(result(diagram, off))
    assert why.text().index("f is off") < why.text().index("Use <b>LeakyRelu</b>.")


def test_cutters_that_the_sentence_leaves_out_are_listed(why, diagram):
    why.set_wire("f.x")
    verdict = Verdict("f.x", "loss.out", State.NO_RULE, "2 blocks cut.", (STOP,))
    why.set_result(result(diagram, verdict))
    assert "Cut by" in why.text()
    assert 'href="stop"' in why.text()


def test_several_losses_have_a_verdict_each(why, diagram):
    why.set_wire("f.x")
    one = Verdict("f.x", "L1.out", State.CARRIES, "Carries L1.")
    two = Verdict("f.x", "L2.out", State.STOPPED, "stop stops L2.", (STOP,))
    why.set_result(result(diagram, one, two))
    text = why.text()
    assert text.index("Carries gradient") < text.index("Stopped")
    assert "L1" in text
    assert "L2" in text


def test_numbers_of_the_wire_stand_in_tables(why, diagram):
    why.set_wire("f.x")
    verdict = Verdict("f.x", "loss.out", State.CARRIES, "Carries.")
    values = {"a.out": np.array([[1.0, 2.0]], np.float32)}
    contribution = {"f.x": np.array([[0.5, 0.25]])}
    why.set_result(
        result(diagram, verdict, values=values, norms={"f.x": 0.4}, contributions=contribution)
    )
    assert "rms 0.4" in why.text()
    assert "1 × 2 · float32" in why.text()
    tables = why.findChildren(ArrayGrid)
    assert [t.table.index(0, 0).data() for t in tables] == ["0.5", "1"]
    assert (
        not tables[0].table.flags(tables[0].table.index(0, 0))
        & tables[0].table.flags(tables[0].table.index(0, 0)).ItemIsEditable
    )


def test_large_and_deep_values_are_one_line(why, diagram):
    why.set_wire("f.x")
    verdict = Verdict("f.x", "loss.out", State.CARRIES, "Carries.")
    why.set_result(result(diagram, verdict, values={"a.out": np.zeros((2, 2, 2))}))
    assert not why.findChildren(ArrayGrid)
    assert "[0, 0, 0, 0, 0, 0, …]" in why.text()


def test_inside_a_page_the_wire_of_this_use_is_meant(why, diagram):
    why.set_wire("f.x")
    verdict = Verdict("enc/f.x", "loss.out", State.CARRIES, "Carries.")
    why.set_result(result(diagram, verdict, use=InstancePath("enc")), InstancePath("enc"))
    assert "Carries gradient" in why.text()


def test_a_wire_that_goes_leaves_nothing(why):
    why.set_wire("f.x")
    why.set_diagram(Diagram())
    assert "Click a wire" in why.text()


def test_a_block_s_name_is_linked_as_a_word_only():
    verdict = Verdict(
        "w",
        "l",
        State.STOPPED,
        "a stops all at a. <a/b>",
        (Cutter(InstancePath("a"), "x", "stop"),),
    )
    shown = linked(verdict)
    assert shown.count('href="a"') == 2
    assert "&lt;a/b&gt;" in shown
