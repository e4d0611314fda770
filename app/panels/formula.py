"""Draws LaTeX formulas as pictures."""

from __future__ import annotations

import base64
import warnings
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from collections.abc import Callable

    from ziamath.zmath import Latex


@cache
def _latex() -> Callable[..., Latex]:
    """The class that draws LaTeX; its import reads fonts, and the first window shows no formula."""
    with warnings.catch_warnings():
        # ziamath reads its font by a function of importlib.resources that some versions deprecate.
        warnings.simplefilter("ignore", DeprecationWarning)
        from ziamath.config import config
        from ziamath.zmath import Latex
    config.svg2 = False  # Qt draws SVG Tiny, which has no <symbol>
    return Latex


@lru_cache(maxsize=256)
def _svg(latex: str, size: float, colour: str) -> bytes | None:
    """The formula as SVG; None if the LaTeX can't be parsed."""
    try:
        drawing: str = _latex()(latex, size=size, color=colour).svg()
    except Exception:  # the parser may raise anything
        return None
    return drawing.encode()


def draw(latex: str, size: float, colour: QColor, ratio: float) -> QPixmap | None:
    """Draw ``latex`` (without dollar signs) at ``size`` px per em and a device pixel ratio.

    None if it can't be parsed; show the LaTeX itself then.
    """
    svg = _svg(latex, size, colour.name())
    if svg is None:
        return None
    renderer = QSvgRenderer(QByteArray(svg))
    natural: QSize = renderer.defaultSize()
    picture = QPixmap(natural * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    renderer.render(painter, QRectF(0, 0, natural.width(), natural.height()))
    painter.end()
    return picture


class FormulaLabel(QWidget):
    """One formula in the text colour, shrunk to the available width."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._latex = ""

    def show_latex(self, latex: str) -> None:
        """Show another formula; an empty one hides the widget."""
        self._latex = latex
        self.setVisible(bool(latex))
        self.setAccessibleName(latex)
        self.updateGeometry()
        self.update()

    def natural_width(self) -> float:
        """Width of the formula where nothing shrinks it, px."""
        picture = self._picture()
        return 0.0 if picture is None else picture.deviceIndependentSize().width()

    def sizeHint(self) -> QSize:
        picture = self._picture()
        return QSize(0, round(picture.deviceIndependentSize().height()) if picture else 20)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: object) -> None:
        painter = QPainter(self)
        picture = self._picture()
        if picture is None:
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, self._latex)
            return
        size = picture.deviceIndependentSize()
        scale = min(1.0, self.width() / max(size.width(), 1))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        target = QRectF(0, 0, size.width() * scale, size.height() * scale)
        target.moveTop((self.height() - target.height()) / 2)
        painter.drawPixmap(target, picture, QRectF(picture.rect()))

    def _picture(self) -> QPixmap | None:
        if not self._latex:
            return None
        size = self.fontInfo().pixelSize() * 1.25
        ratio = self.devicePixelRatioF()
        return draw(self._latex, size, self.palette().windowText().color(), ratio)


@lru_cache(maxsize=256)
def data_uri(latex: str, colour: str, size: float = 18.0) -> str | None:
    """The formula as a picture for rich text, ``data:image/png;…``; None if it can't be parsed."""
    picture = draw(latex, size, QColor(colour), 1.0)
    if picture is None:
        return None
    store = QBuffer()
    store.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(store, "PNG")
    return f"data:image/png;base64,{base64.b64encode(store.data().data()).decode()}"
