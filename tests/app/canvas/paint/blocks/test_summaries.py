"""Names of blocks from afar."""

from __future__ import annotations

import pytest

from gradwire.app.canvas.paint.blocks.faces import draw_summary, name_size
from gradwire.app.canvas.scene.camera import NUMBERS, PLAIN
from gradwire.app.canvas.state.looks import Look, PortLook
from gradwire.app.services.theme import LIGHT
from tests.app.canvas.paint.recording import Recorder, texts

PORTS = (PortLook("", "wired"),)
NAMES = ("w", "tanh", "nothing_to_train")


@pytest.fixture(autouse=True)
def application(qapp):
    """Text is measured."""


def name_sizes(zoom: float) -> set[float]:
    """The sizes of the names of low and high blocks, with and without a long number."""
    found = set()
    for name in NAMES:
        for lines in (1, 2, 4):
            for summary in ((), ("∇ rms 0.8165", "∇ 0.8165", "∇ 0.8")):
                look = Look("", "x", name, lines=lines, inputs=PORTS * lines, summary=summary)
                painter = Recorder()
                painter.scale(zoom, zoom)
                draw_summary(painter, look, LIGHT, zoom, 0.0)
                found |= {text.pixels for text in texts(painter) if text.words[0] == name[0]}
    return {round(size, 6) for size in found}


@pytest.mark.parametrize("zoom", [PLAIN, 0.36, 0.37, 0.45, 0.5, NUMBERS - 0.01])
def test_names_have_one_size_at_each_zoom(zoom):
    assert name_sizes(zoom) == {name_size(zoom)}


def test_names_do_not_shrink_as_the_zoom_grows():
    sizes = [name_size(PLAIN + 0.01 * step) for step in range(30)]
    assert sizes == sorted(sizes)
