"""Wires followed through the steps of a Scan."""

from __future__ import annotations

import pytest

from gradwire.app.canvas.state.port_labels import origin, readers
from gradwire.blocks.library.activations import Tanh
from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram.paths import InstancePath, PortName
from tests.runtime.engine.drawing import draw, page

CELL = page(
    {"x": PageInput(), "h": PageInput(), "add": Add(), "h_n": PageOutput(), "y": PageOutput()},
    {"add.a": "x", "add.b": "h", "h_n.x": "add", "y.x": "add"},
)


def diagram(reverse: bool):
    scan = Scan(page="cell", steps=3, carry={"h": "h_n"}, over=("x",), reverse=reverse)
    return draw(
        {"xs": Variable(value=[1.0, 2.0, 3.0]), "h0": Variable(), "rnn": scan, "f": Tanh()},
        {"rnn.x": "xs", "rnn.h": "h0", "f.x": "rnn.h_n"},
        cell=CELL,
    )


@pytest.mark.parametrize(
    ("reverse", "step", "port", "found"),
    [
        (False, "1", "h", "rnn/0/add.out"),
        (False, "0", "h", "h0.out"),
        (True, "1", "h", "rnn/2/add.out"),
        (True, "2", "h", "h0.out"),
        (False, "2", "x", "xs.out"),
    ],
)
def test_what_is_carried_comes_from_the_step_before(reverse, step, port, found):
    use = InstancePath("rnn") / step
    assert origin(diagram(reverse), use, PortName(port, "out")) == found


def test_what_is_carried_is_read_by_the_next_step_and_outside():
    found = readers(diagram(False), InstancePath("rnn/1"), PortName("h_n", "x"))
    assert found == ["f.x", "rnn/2/add.b"]
    assert readers(diagram(False), InstancePath("rnn/2"), PortName("h_n", "x")) == ["f.x"]
    assert readers(diagram(False), InstancePath(), PortName("rnn", "x")) == ["rnn.x"]
