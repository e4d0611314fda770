"""Blocks from afar."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.app.canvas.paint import painter
from gradwire.app.canvas.paint.painter import paint_plain_blocks
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.services.colours import contrast
from gradwire.app.services.palette import NAMES, shades
from gradwire.app.services.theme import THEMES
from gradwire.runtime.diagram.model import Style
from tests.app.canvas.pages import block, diagram
from tests.app.canvas.paint.recording import recorder

KINDS = ("Variable", "Add", "Tanh", "Greater", "Sum", "MatMul", "Reshape", "StopGradient", "Loss")


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize("colour", ["", *NAMES])
def test_symbols_stand_out_from_their_block(qapp, monkeypatch, theme, colour):
    shown = diagram({kind.lower(): block(kind) for kind in KINDS})
    page = shown.main
    if colour:
        page = page.__class__(page.blocks, styles=dict.fromkeys(page.blocks, Style(colour)))
    scene = Scene(shown.with_page("main", page), "main")
    view = ViewState(scene, resolve(scene, None), Camera(0.29), theme)
    inks: list[str] = []
    monkeypatch.setattr(painter, "draw_rects", lambda *_: None)
    monkeypatch.setattr(painter, "_paint_symbol", lambda *given, **_: inks.append(given[3]))
    paint_plain_blocks(recorder(monkeypatch), view, np.arange(len(KINDS)), ratio=1.0, vector=True)
    assert len(inks) == len(KINDS)
    for kind, ink in zip(KINDS, inks, strict=True):
        chosen = shades(theme, colour)
        ground = chosen.edge if chosen else theme.border(type(block(kind)).family)
        assert contrast(ink, ground) >= 4.0, kind
