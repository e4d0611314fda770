"""What shows itself at a prompt fits a screen, and says what there is to know."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw
from tests.examples.gallery import path

LINES, COLUMNS = 12, 700


@pytest.fixture(scope="module")
def session():
    return gw.Session(gw.load(path("vq_vae")))


def shown(x) -> str:
    text = repr(x)
    assert len(text.splitlines()) <= LINES and max(map(len, text.splitlines())) <= COLUMNS, text
    assert "object at 0x" not in text
    return text


def test_a_diagram_and_its_session(session):
    text = shown(session.diagram)
    assert text.endswith("losses recon_loss, commit_loss, codebook_loss>") and "blocks on" in text
    assert shown(session) == f"<Session of {text}>"
    assert shown(gw.Diagram()) == "<Diagram: 0 blocks on 1 page; no loss>"


def test_a_title_of_a_file_is_cut_and_escaped():
    diagram = gw.Diagram(title="\x1b[31m" + "long " * 1000)
    assert "\x1b" not in shown(diagram)


def test_a_run(session):
    text = shown(session.backward())
    assert "recon_loss = " in text and "encoder_weight: rms " in text


def test_flows_and_verdicts(session):
    flow = gw.analyse(session.program)
    assert "recon_loss reaches 2 of 3, not codebook: " in shown(flow)
    assert shown(gw.observe(session)).splitlines()[1].startswith("  encoder_weight: ")
    assert shown(flow.variable("codebook", "recon_loss")).startswith("<NO RULE codebook: ")


def test_findings():
    a, b = gw.variable("a", np.ones(2)), gw.variable("b", np.ones(2))
    diagram = gw.build(gw.loss(gw.sum(gw.stop_gradient(a) * b), name="loss"))
    (finding,) = gw.diagnose(gw.Session(diagram))
    assert shown(finding).startswith("<no gradient: a: ")


def test_many_variables_are_counted():
    names = [gw.variable(f"w{i}", [1.0]) for i in range(40)]
    total = names[0]
    for each in names[1:]:
        total = total + each
    session = gw.Session(gw.build(gw.loss(gw.sum(total), name="loss")))
    assert "and 34 more" in shown(session.backward()) and "and 34 more" in shown(
        gw.observe(session)
    )


def test_a_capture():
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(3, 1)
    imported = gw.capture(lambda x: model(x.detach()).mean(), torch.ones(2, 3))
    text = shown(imported)
    assert text.startswith("<Imported: 2 parameters, <Diagram") and "Agrees with PyTorch" in text
    assert "<li>" in imported._repr_html_()
