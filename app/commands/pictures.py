"""Pictures of a page or selection: export as PNG, SVG and PDF, copy, and print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QMarginsF,
    QObject,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSaveFile,
    QSizeF,
)
from PySide6.QtGui import (
    QGuiApplication,
    QImage,
    QImageWriter,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
)
from PySide6.QtPrintSupport import QPrintDialog, QPrinter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QDialog, QFileDialog

from app.canvas.paint.legend import legend_content, legend_size
from app.canvas.paint.painter import paint_fitted
from app.canvas.stage import Stage
from app.commands.files import folder_of
from app.services.background import Cancelled, Occupied
from app.services.theme import LIGHT
from runtime.publish.printable import xml_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import QIODevice
    from PySide6.QtWidgets import QWidget

    from app.canvas.view import CanvasView
    from app.document.document import Document
    from app.document.navigation import Navigation
    from app.evaluation.evaluator import Evaluator
    from app.services.background import Background
    from app.services.settings import Settings
    from app.services.theme import Theme
    from runtime.diagram import Diagram, Pulse

_T = TypeVar("_T")
_PNG_SCALE = 2.0
"""Pixels of a picture per px of the canvas at 100 %."""
_MAX_PIXELS = 60e6
"""Largest number of pixels of a picture; a larger page is drawn at a lower resolution."""
_MARGIN = 24.0
_PX_PER_INCH = 96.0
_PDF_RESOLUTION = 1200
"""Resolution of a PDF, dots per inch."""


class PictureCommands(QObject):
    """The picture commands of the File and Edit menus."""

    def __init__(
        self,
        document: Document,
        navigation: Navigation,
        evaluator: Evaluator,
        canvas: CanvasView,
        background: Background,
        settings: Settings,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._document = document
        self._navigation = navigation
        self._evaluator = evaluator
        self._canvas = canvas
        self._background = background
        self._settings = settings

    def export(self) -> None:
        """Ask for a file and export the page."""
        self._ask_and_draw(frozenset())

    def export_selection(self) -> None:
        """Ask for a file and export the selected blocks."""
        self._ask_and_draw(self._canvas.selection())

    def copy_picture(self) -> None:
        """Copy a picture of the selection, or of the page if nothing is selected."""
        stage = self._stage(self._canvas.selection())
        image = self._drawn(self.tr("Drawing the picture"), stage, lambda: self._image(stage))
        if image is not None:
            QGuiApplication.clipboard().setImage(image)

    def print_page(self) -> None:
        """Ask for a printer and print the page on one sheet."""
        printer = QPrinter(QPrinter.PrinterMode.HighResolution)
        stage = self._stage(frozenset())
        size = self._size(stage)
        wide = size.width() > size.height()
        turn = QPageLayout.Orientation.Landscape if wide else QPageLayout.Orientation.Portrait
        printer.setPageOrientation(turn)
        printer.setDocName(self._document.name)
        dialog = QPrintDialog(printer, self._parent)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            self._drawn(self.tr("Printing"), stage, lambda: self._draw_sheet(stage, printer))
        dialog.deleteLater()

    def toggle_legend(self) -> None:
        """Turn the legend in exported, copied and printed pictures on or off."""
        self._settings.picture_legend = not self._settings.picture_legend

    def _ask_and_draw(self, names: frozenset[str]) -> None:
        start = folder_of(self._document, self._settings) / f"{self._document.suggested_stem}.svg"
        name, chosen = QFileDialog.getSaveFileName(
            self._parent,
            self.tr("Export a picture"),
            str(start),
            self.tr("Vector picture (*.svg);;Picture (*.png);;Document (*.pdf)"),
        )
        if not name:
            return
        path = Path(name)
        if path.suffix.lower() not in _DRAWN_BY:
            path = path.with_name(path.name + (chosen.rpartition("*")[2].rstrip(")") or ".svg"))
        stage = self._stage(names)
        text = self.tr("Writing {0}").format(path.name)
        reason = self._drawn(text, stage, lambda: self._write(stage, path))
        if reason:
            self._document.problem.emit(
                self.tr("{0} was not written: {1}. Choose another folder.").format(path, reason)
            )

    def _drawn(self, text: str, stage: Stage, draw: Callable[[], _T]) -> _T | None:
        """The result of ``draw``, run in the background; None if it was cancelled."""

        def job(pulse: Pulse) -> _T:
            stage.pulse = pulse
            return draw()

        try:
            return self._background.run(text, job)
        except Cancelled:
            return None
        except Occupied as occupied:
            self._document.problem.emit(str(occupied))
            return None
        finally:
            stage.deleteLater()

    def _write(self, stage: Stage, path: Path) -> str:
        """Draw to a file, all of it or nothing; return the error, or an empty text."""
        file = QSaveFile(str(path))
        done = (
            file.open(QSaveFile.OpenModeFlag.WriteOnly)
            and _DRAWN_BY[path.suffix.lower()](self, stage, file)
            and file.commit()
        )
        return "" if done else file.errorString()

    def _stage(self, names: frozenset[str]) -> Stage:
        """The page as the window shows it, or only these blocks of it."""
        diagram, page = self._document.diagram, self._navigation.page
        if names:
            diagram = _restricted(diagram, page, names)
        stage = Stage()
        stage.set_theme(self._canvas.view.theme)
        stage.set_diagram(diagram, page)
        result = self._evaluator.result
        if result is not None:
            if result.diagram is self._document.diagram:
                result = replace(result, diagram=diagram)
            stage.set_result(result, self._navigation.use)
        stage.view.scene.refine()
        return stage

    def _size(self, stage: Stage) -> QSizeF:
        """Size of the picture with margin and legend, px at 100 %."""
        bounds = stage.view.scene.bounds()
        left, top, right, bottom = (0.0, 0.0, 360.0, 260.0) if bounds is None else bounds.tolist()
        size = QSizeF(right - left + 2 * _MARGIN, bottom - top + 2 * _MARGIN)
        if self._settings.picture_legend:
            legend = legend_size(legend_content(stage.view.annotations))
            size.setWidth(size.width() + legend.width() + _MARGIN)
            size.setHeight(max(size.height(), legend.height() + _MARGIN))
        return QSizeF(size.toSize())

    def _paint(
        self, painter: QPainter, stage: Stage, size: QSizeF, scale: float, theme: Theme
    ) -> None:
        painter.scale(scale, scale)
        legend = self._settings.picture_legend
        area = QRectF(QPointF(), size)
        paint_fitted(painter, stage.view, area, theme, legend=legend, pulse=stage.pulse)

    def _image(self, stage: Stage) -> QImage:
        size = self._size(stage)
        scale = min(_PNG_SCALE, (_MAX_PIXELS / (size.width() * size.height())) ** 0.5)
        image = QImage((size * scale).toSize(), QImage.Format.Format_RGB32)
        with QPainter(image) as painter:
            self._paint(painter, stage, size, scale, stage.view.theme)
        return image

    def _draw_sheet(self, stage: Stage, printer: QPrinter) -> None:
        size, sheet = self._size(stage), printer.pageRect(QPrinter.Unit.DevicePixel)
        share = min(sheet.width() / size.width(), sheet.height() / size.height())
        with QPainter(printer) as painter:
            self._paint(painter, stage, size, share, LIGHT)

    def _draw_png(self, stage: Stage, file: QIODevice) -> bool:
        return QImageWriter(file, QByteArray(b"PNG")).write(self._image(stage))

    def _draw_svg(self, stage: Stage, file: QIODevice) -> bool:
        size = self._size(stage)
        drawn = QBuffer()
        generator = QSvgGenerator()
        generator.setOutputDevice(drawn)
        generator.setSize(size.toSize())
        generator.setViewBox(QRect(QPoint(), size.toSize()))
        generator.setTitle(self._document.name)
        with QPainter(generator) as painter:
            self._paint(painter, stage, size, 1.0, stage.view.theme)
        # Qt also writes characters that XML forbids.
        text = xml_text(bytes(drawn.data().data()).decode(errors="replace")).encode()
        return file.write(text) == len(text)

    def _draw_pdf(self, stage: Stage, file: QIODevice) -> bool:
        size = self._size(stage)
        writer = QPdfWriter(file)
        writer.setTitle(self._document.name)
        writer.setCreator("Gradwire")
        writer.setResolution(_PDF_RESOLUTION)
        sheet = size / _PX_PER_INCH
        writer.setPageSize(QPageSize(sheet, QPageSize.Unit.Inch))
        writer.setPageMargins(QMarginsF())
        with QPainter(writer) as painter:
            self._paint(painter, stage, size, _PDF_RESOLUTION / _PX_PER_INCH, LIGHT)
        return True


_DRAWN_BY = {
    ".svg": PictureCommands._draw_svg,
    ".png": PictureCommands._draw_png,
    ".pdf": PictureCommands._draw_pdf,
}


def _restricted(diagram: Diagram, page: str, names: frozenset[str]) -> Diagram:
    """The diagram with only these blocks on ``page``, and the wires between them."""
    whole = diagram.pages[page]
    return diagram.with_page(
        page,
        replace(
            whole,
            blocks={name: block for name, block in whole.blocks.items() if name in names},
            wires={t: s for t, s in whole.wires.items() if {t.block, s.block} <= names},
            layout={name: at for name, at in whole.layout.items() if name in names},
            notes={},
        ),
    )
