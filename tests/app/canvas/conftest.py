from __future__ import annotations

import pytest

from gradwire.app.canvas.view import CanvasView
from gradwire.app.services.theme import LIGHT
from tests.app.canvas.pages import Shell, seed
from tests.app.mouse import let_go


@pytest.fixture
def canvas(qtbot) -> CanvasView:
    made = CanvasView()
    qtbot.addWidget(made, before_close_func=let_go)
    made.resize(1200, 500)
    made.set_theme(LIGHT)
    with qtbot.waitExposed(made):
        made.show()
    made.setFocus()
    return made


@pytest.fixture
def shell(canvas) -> Shell:
    """The seed diagram on the canvas, with a document behind it."""
    return Shell(canvas, seed())
