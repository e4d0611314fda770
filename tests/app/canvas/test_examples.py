"""Every shipped example is legible as soon as it is opened."""

from __future__ import annotations

import pytest

from gradwire.app.canvas.paint.blocks.faces import draw_face
from gradwire.app.canvas.scene.camera import NUMBERS, PLAIN
from gradwire.app.canvas.state.lanes import NO_RESULT
from gradwire.app.services.examples import examples
from gradwire.app.services.theme import LIGHT
from gradwire.blocks.library.views import ViewBlock
from tests.app.canvas.paint.recording import Recorder, texts


def shows_a_value(annotations, number: int, zoom: float) -> bool:
    """Whether the face of a block has its value, or its name and one number."""
    far = zoom < NUMBERS
    look = annotations.plain_look(number) if far else annotations.look(number)
    found = Recorder()
    draw_face(found, look, LIGHT, zoom)
    words = {text.words for text in texts(found)}
    if far:
        return any(text in words for text in look.summary)
    grids = [grid for part in look.sections for grid in (part.readout.cells, part.readout.short)]
    cells = {cell for grid in grids for row in grid for cell in row}
    phrases = cells | {phrase for cell in cells for phrase in cell.split(" · ")}
    return any(part.chart is not None for part in look.sections) or bool(words & phrases)


def only_shown(page, name: str) -> bool:
    """Whether a block is a view, or all that reads it leads to views: such wires have no lane."""
    readers = {target.block for target in page.ends.outward.get(name, ())}
    return isinstance(page.blocks[name], ViewBlock) or (
        bool(readers) and all(only_shown(page, reader) for reader in readers)
    )


@pytest.mark.night
@pytest.mark.parametrize("size", [(1280, 720), (1600, 1000)], ids=str)
def test_examples_show_values_and_states_when_opened(window, qtbot, size):
    window.resize(*size)
    for example in examples():
        window.document.open(example.path)
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        annotations = window.canvas.view.annotations
        zoom, page = window.canvas.zoom(), annotations.page
        assert zoom >= PLAIN, example.path.name
        main = window.document.diagram.main
        without = {
            wire
            for wire, code in zip(annotations.total.keys, annotations.total.codes, strict=True)
            if code == NO_RESULT and not only_shown(main, wire.partition(".")[0])
        }
        assert without == set(), example.path.name
        known = [
            number
            for number, name in enumerate(page.scene.names)
            if len(page.scene.slots[number].outputs) == 1
            and page.value(name, page.scene.slots[number].outputs[0]) is not None
        ]
        hidden = [n for n in known if not shows_a_value(annotations, n, zoom)]
        assert known
        assert [page.scene.names[n] for n in hidden] == [], (example.path.name, zoom)
