"""Pictures of a page or selection: export as PNG, SVG, PDF and TikZ, copy, and print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtGui import QGuiApplication, QPageLayout, QPainter
from PySide6.QtPrintSupport import QPrintDialog, QPrinter
from PySide6.QtWidgets import QDialog, QMessageBox

from gradwire.app.commands.writing import WritingCommands
from gradwire.app.panels.dialogs.export_sheet import ExportSheet
from gradwire.app.pictures.files import KINDS, contents, image, targets, write
from gradwire.app.pictures.options import PictureExtent, PictureOptions
from gradwire.app.pictures.page_picture import PagePicture, page_pictures, restricted
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram import same_meaning

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.diagram import Diagram, Pulse

_T = TypeVar("_T")
Answer = QMessageBox.StandardButton


class PictureCommands(WritingCommands):
    """The picture commands of the File and Edit menus. Pictures show what the canvas shows."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.sheet: ExportSheet | None = None
        """The open sheet of options."""

    def export(self) -> None:
        """Ask how to export the page, the selection or all pages, and do it."""
        self._open_sheet(PictureExtent.PAGE)

    def export_selection(self) -> None:
        """Likewise, with the selection chosen."""
        self._open_sheet(PictureExtent.SELECTION)

    def copy_picture(self) -> None:
        """Copy a picture of the selection, or of the page if nothing is selected."""
        selected = bool(self._canvas.selection())
        extent = PictureExtent.SELECTION if selected else PictureExtent.PAGE
        options = replace(self._options(), width=None)
        (picture,) = self._pictures(extent, options, self._canvas.view.theme)
        text = self.tr("Drawing the picture")
        copied = self._run(text, lambda pulse: image(picture, pulse))
        if copied is not None:
            QGuiApplication.clipboard().setImage(copied)
            self._say(self.tr("Copied as a picture."))

    def print_page(self) -> None:
        """Ask for a printer and print the page on one sheet."""
        printer = QPrinter(QPrinter.PrinterMode.HighResolution)
        (picture,) = self._pictures(PictureExtent.PAGE, self._options(), LIGHT)
        wide = picture.size.width() > picture.size.height()
        turn = QPageLayout.Orientation.Landscape if wide else QPageLayout.Orientation.Portrait
        printer.setPageOrientation(turn)
        printer.setDocName(self._document.name)
        dialog = QPrintDialog(printer, self._frame)
        if dialog.exec() == QDialog.DialogCode.Accepted:

            def job(pulse: Pulse) -> bool:
                _print(picture, printer, pulse)
                return True

            if self._run(self.tr("Printing"), job):
                self._say(self.tr("{0} is printed.").format(self._document.name))
        dialog.deleteLater()

    def _open_sheet(self, extent: PictureExtent) -> None:
        if self.sheet is not None:
            return
        extents = [PictureExtent.PAGE]
        extents += [PictureExtent.SELECTION] if self._canvas.selection() else []
        extents += [PictureExtent.PAGES] if len(self._document.diagram.pages) > 1 else []
        kind = self._settings.picture.get("kind", ".svg")
        self.sheet = ExportSheet(self._pictures, extents, self._options(), kind, self._frame)
        self.sheet.extent.setCurrentIndex(max(self.sheet.extent.findData(str(extent)), 0))
        self.sheet.exportRequested.connect(self._export)
        self.sheet.finished.connect(self._forget_sheet)
        self.sheet.finished.connect(self.sheet.deleteLater)
        self.sheet.open()

    def _forget_sheet(self) -> None:
        self.sheet = None

    def _export(self) -> None:
        """Ask for a file, and export what the sheet shows."""
        sheet = self.sheet
        if sheet is None:
            return
        kind, pictures = (
            sheet.kind.currentData(),
            self._pictures(sheet.chosen_extent, sheet.options),
        )
        title, kinds = self.tr("Export a picture"), self.tr("Picture (*{0})").format(kind)
        path = self._ask_for_file(title, kind, kinds, endings=KINDS)
        if path is None:
            return
        files = targets(path, [picture.page for picture in pictures])
        if not self._may_replace(title, (file for file in files if file != path)):
            return
        self._settings.picture = {**sheet.options.texts(), "kind": kind}
        sheet.accept()
        reason = self._run(
            self.tr("Writing {0}").format(path.name),
            lambda pulse: self._draw(path, pictures, pulse),
        )
        if reason:
            self._report_unwritten(path, reason)
        elif reason is not None:
            self._document.succeeded.emit(tuple(files))

    def _draw(self, path: Path, pictures: list[PagePicture], pulse: Pulse) -> str:
        """Draw and write; return why a file was not written, or an empty text."""
        made = contents(path, pictures, self._document.name, pulse)
        return next(filter(None, (write(file, content) for file, content in made.items())), "")

    def _options(self) -> PictureOptions:
        return PictureOptions.parse(self._settings.picture)

    def _pictures(
        self, extent: PictureExtent, options: PictureOptions, theme: Theme | None = None
    ) -> list[PagePicture]:
        """Pictures of what the canvas shows."""
        diagram, page = self._document.diagram, self._navigation.page
        result, wires = self._canvas.view.annotations.page.result, self._canvas.view.numbers
        if extent is PictureExtent.PAGES:
            return page_pictures(diagram, result, options, wires)
        drawn = diagram
        if extent is PictureExtent.SELECTION:
            selection = self._canvas.view.selection
            drawn = restricted(diagram, page, selection.blocks, selection.notes)
        shown = _of(result, diagram, drawn)
        return [PagePicture(drawn, page, shown, self._navigation.use, options, theme, wires)]


def _of(
    result: EvaluationResult | None, diagram: Diagram, drawn: Diagram
) -> EvaluationResult | None:
    """The result for the part of the diagram that is drawn, unless it is stale."""
    if result is None or not same_meaning(result.diagram, diagram):
        return result
    return replace(result, diagram=drawn)


def _print(picture: PagePicture, printer: QPrinter, pulse: Pulse) -> None:
    """Paint on a sheet, as large as it fits."""
    size, sheet = picture.size, printer.pageRect(QPrinter.Unit.DevicePixel)
    share = min(sheet.width() / size.width(), sheet.height() / size.height())
    with QPainter(printer) as painter:
        painter.scale(share, share)
        picture.paint(painter, pulse)
