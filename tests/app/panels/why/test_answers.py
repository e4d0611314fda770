"""What the panel shows of other systems."""

import gradwire.runtime.build as b
from gradwire.app.evaluation.answers import Reasons
from gradwire.app.panels.why.why import sections
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import dialects, observe


def test_a_system_that_differs_says_at_which_block(qtbot):
    x = b.variable("x", [0.0, 0.0])
    observed = observe(Session(b.build(b.loss(b.norm(x, name="n"), name="loss"))))
    shown = sections(Reasons("loss.x", "x.out", dialects=(dialects(observed, "x"),)))
    for label in shown:
        qtbot.addWidget(label)
    text = shown[1].text()
    assert "<b>NaN</b>" in text
    assert "n: at length 0, the gradient is NaN in JAX and 0 here." in text
    assert text.count("at length 0") == 3  # PyTorch has what is here
