"""A picture of one page: its size, and how it is painted."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSizeF

from gradwire.app.canvas.paint.legend import (
    legend_content,
    legend_size,
    occurring_content,
    paint_legend,
)
from gradwire.app.canvas.paint.painter import fitted_camera, paint_fitted
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve, without_numbers
from gradwire.app.canvas.state.looks import row_counts
from gradwire.app.canvas.state.view_state import DEFAULT, NO_NUMBERS, ViewState, WireNumbers
from gradwire.app.pictures.options import LegendChoice, PictureOptions
from gradwire.app.services.theme import LIGHT, THEMES
from gradwire.runtime.diagram import ROOT, InstancePath, uses_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.paint.legend import LegendContent
    from gradwire.app.canvas.paint.painter import Progress
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.diagram import Diagram

MARGIN = 24.0
"""Margin around the page, px at 100 %."""
_EMPTY = QSizeF(360.0, 260.0)
"""Size of the picture of an empty page, px at 100 %."""


class PagePicture:
    """A page with a result, to be painted without selection, focus or grips.

    ``use`` is the path of the page's use that the numbers belong to; ``wires`` chooses those
    beside wires.
    """

    def __init__(
        self,
        diagram: Diagram,
        page: str,
        result: EvaluationResult | None,
        use: InstancePath = ROOT,
        options: PictureOptions | None = None,
        theme: Theme | None = None,
        wires: WireNumbers = DEFAULT,
    ) -> None:
        self.page = page
        self.options = options or PictureOptions()
        scene = Scene(diagram, page)
        annotations = resolve(scene, result, use)
        if self.options.numbers:
            scene.set_rows(row_counts(annotations.page))
        else:
            annotations, wires = without_numbers(annotations), NO_NUMBERS
        scene.refine()
        shown = theme or THEMES.get(self.options.theme, LIGHT)
        self.view = ViewState(scene, annotations, Camera(), shown, numbers=wires)

    @cached_property
    def size(self) -> QSizeF:
        """Width and height with margin and legend, px at 100 %."""
        page, legend = self._page_size, self._legend_size
        if self._is_legend_below:
            size = QSizeF(max(page.width(), legend.width()), page.height() + legend.height())
        else:
            size = QSizeF(page.width() + legend.width(), max(page.height(), legend.height()))
        key = self.key_size
        size = QSizeF(max(size.width(), key.width()), size.height() + key.height())
        return QSizeF(size.toSize())

    @property
    def key_size(self) -> QSizeF:
        """Size of the line below the picture that explains further marks; empty without any."""
        return QSizeF(0.0, 0.0)

    @property
    def scale(self) -> float:
        """Length on paper of 1 px of the canvas, cm."""
        width = self.options.width
        return 2.54 / 96.0 if width is None else width / self.size.width()

    def paint(self, painter: QPainter, progress: Progress | None = None) -> None:
        """Paint onto the rectangle (0, 0, ``size``).

        ``progress`` is called with the share that is painted; an exception from it ends the
        painting.
        """
        view, page = self.view, self._page_size
        painter.fillRect(QRectF(QPointF(), self.size), view.theme.canvas)
        paint_fitted(painter, view, QRectF(QPointF(), page), view.theme, progress=progress)
        self.paint_over(painter, fitted_camera(view, QRectF(QPointF(), page)))
        if self._legend is not None:
            below = QPointF(MARGIN, page.height())
            corner = below if self._is_legend_below else QPointF(page.width(), MARGIN)
            paint_legend(painter, corner, view.theme, self._legend)
        if not self.key_size.isEmpty():
            self.paint_key(painter, QPointF(MARGIN, self.size.height() - self.key_size.height()))

    def paint_key(self, painter: QPainter, corner: QPointF) -> None:
        """Paint the line that explains further marks, with its top left at ``corner``."""

    def paint_over(self, painter: QPainter, camera: Camera) -> None:
        """Paint over the page; ``camera`` shows where its items are."""

    @cached_property
    def _legend(self) -> LegendContent | None:
        annotations = self.view.annotations
        match self.options.legend:
            case LegendChoice.NONE:
                return None
            case LegendChoice.ALL:
                return legend_content(annotations)
            case LegendChoice.OCCURRING:
                content = occurring_content(annotations)
                return content if content.is_needed else None

    @cached_property
    def _page_size(self) -> QSizeF:
        bounds = self.view.scene.bounds()
        if bounds is None:
            return _EMPTY
        left, top, right, bottom = bounds.tolist()
        return QSizeF(right - left + 2 * MARGIN, bottom - top + 2 * MARGIN)

    @cached_property
    def _legend_size(self) -> QSizeF:
        """Size of the legend with the margin that it adds; empty without one."""
        if self._legend is None:
            return QSizeF(0.0, 0.0)
        size = legend_size(self._legend)
        beside = QSizeF(MARGIN, 2 * MARGIN)
        below = QSizeF(2 * MARGIN, MARGIN)
        return size + (below if self._fits_below(size) else beside)

    @cached_property
    def _is_legend_below(self) -> bool:
        return self._legend is not None and self._fits_below(legend_size(self._legend))

    def _fits_below(self, legend: QSizeF) -> bool:
        """Whether the legend wastes less room below the page than beside it."""
        page = self._page_size
        below = max(page.width(), legend.width()) * (page.height() + legend.height())
        beside = (page.width() + legend.width()) * max(page.height(), legend.height())
        return below <= beside


def page_pictures(
    diagram: Diagram,
    result: EvaluationResult | None,
    options: PictureOptions,
    wires: WireNumbers = DEFAULT,
) -> list[PagePicture]:
    """A picture of every page, each with the numbers of its least nested use."""
    return [
        PagePicture(diagram, page, result, first_use(diagram, page), options, wires=wires)
        for page in diagram.pages
    ]


def first_use(diagram: Diagram, page: str) -> InstancePath:
    """The least nested use of a page; for an unused page, a path without results."""
    return next(uses_of(diagram, page), InstancePath.unused(page))


def restricted(
    diagram: Diagram, page: str, blocks: Collection[str], notes: Collection[str] = ()
) -> Diagram:
    """The diagram with only these blocks and notes on ``page``, and the wires between them."""
    whole = diagram.pages[page]
    return diagram.with_page(
        page,
        replace(
            whole,
            blocks={name: block for name, block in whole.blocks.items() if name in blocks},
            wires={t: s for t, s in whole.wires.items() if {t.block, s.block} <= set(blocks)},
            layout={name: at for name, at in whole.layout.items() if name in blocks},
            notes={name: note for name, note in whole.notes.items() if name in notes},
        ),
    )
