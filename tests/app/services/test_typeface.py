"""The typeface that the editor brings, and life without it."""

from __future__ import annotations

import importlib

import pytest
from PySide6.QtCore import QByteArray
from PySide6.QtGui import QFontInfo, QFontMetricsF, QGuiApplication, QRawFont

from gradwire.app.services import theme, typeface
from gradwire.app.services.theme import SMALL
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.files import stored
from gradwire.runtime.flow import State
from gradwire.runtime.flow.badges import BadgeKind


@pytest.fixture
def missing(monkeypatch):
    """The package with the fonts is not installed."""
    monkeypatch.setattr("gradwire.runtime.extras.find_spec", lambda name: None)
    typeface.install.cache_clear()
    yield
    typeface.install.cache_clear()


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("italic", [False, True])
def test_everything_is_drawn_with_it(bold, italic):
    info = QFontInfo(theme.font(SMALL, bold=bold, italic=italic))
    assert info.family() == typeface.TEXT
    assert (info.bold(), info.italic()) == (bold, italic)
    assert QGuiApplication.font().families() == list(typeface.FAMILIES)


@pytest.mark.parametrize("bold", [False, True])
def test_numbers_stand_in_columns(bold):
    measure = QFontMetricsF(theme.font(SMALL, bold=bold)).horizontalAdvance
    assert len({measure(digit) for digit in "0123456789"}) == 1


def test_it_has_every_sign_that_diagrams_show(qapp):
    fonts = [QRawFont(QByteArray(face.content()), SMALL) for face in typeface.FACES]
    shown = {
        *"∇∂Σ√ᵀ⊙ℒθ⊣∅×·−…⁰⁹⁻₀₉→",
        *(sign for block in registry().classes.values() for sign in block.symbol),
        *(sign for state in State for sign in state.row.glyph),
        *(sign for mark in BadgeKind for sign in mark.value),
    }
    assert not {sign for sign in shown if not any(f.supportsCharacter(ord(sign)) for f in fonts)}


def test_it_is_unpacked_once_for_many_starts(monkeypatch, tmp_path):
    monkeypatch.delenv("GRADWIRE_KEEP_CODE", raising=False)
    monkeypatch.setattr(stored, "cache_folder", lambda: tmp_path)
    face, unpacked, load = typeface.FACES[0], [], importlib.import_module
    monkeypatch.setattr(
        importlib, "import_module", lambda name: unpacked.append(name) or load(name)
    )
    first, second = face.content(), face.content()
    assert first == second and QRawFont(QByteArray(second), SMALL).familyName() == typeface.TEXT
    assert unpacked == [f"pymupdf_fonts.{face.module}"]
    (path,) = (tmp_path / "machine_code").iterdir()
    path.write_bytes(b"no font")
    assert face.content() == first
    assert len(unpacked) == 2


def test_the_application_s_own_typeface_stands_in(missing, qapp):
    own = qapp.font()
    qapp.setFont("serif")
    assert not typeface.is_carried()
    assert theme.font(SMALL).families() == list(typeface.families()) == ["serif"]
    qapp.setFont(own)
