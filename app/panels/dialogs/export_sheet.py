"""The options of a picture to export, with a preview that follows them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFormLayout,
    QSizePolicy,
    QWidget,
)

from gradwire.app.panels import labels
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import STRETCH, make_column, make_row
from gradwire.app.pictures.options import (
    LARGEST_WIDTH,
    LegendChoice,
    Lettering,
    PictureExtent,
    PictureOptions,
)
from gradwire.app.pictures.svg import can_embed
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtGui import QPaintEvent

    from gradwire.app.pictures.page_picture import PagePicture

_PATIENCE = 0.4
"""Seconds after which the preview of a large page stays incomplete."""
_MOST = 1.5
"""Largest zoom of the preview."""
_KINDS = {
    ".svg": editor.noop("SVG (vector)"),
    ".png": editor.noop("PNG (pixels)"),
    ".pdf": editor.noop("PDF"),
    ".tex": editor.noop("TikZ (LaTeX)"),
}
_Value = TypeVar("_Value", bound=str)


class ExportSheet(Dialog):
    """Chooses what to export and how. ``pictures`` makes the pictures that it previews."""

    exportRequested = Signal()

    def __init__(
        self,
        pictures: Callable[[PictureExtent, PictureOptions], list[PagePicture]],
        extents: Iterable[PictureExtent],
        options: PictureOptions,
        kind: str,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Export a picture"))
        self._pictures = pictures
        names = {
            PictureExtent.PAGE: self.tr("This page"),
            PictureExtent.SELECTION: self.tr("The selected blocks"),
            PictureExtent.PAGES: self.tr("All pages"),
        }
        self.extent = _choice({each: names[each] for each in extents}, self.tr("Draw"))
        self.kind = _choice({end: editor.tr(text) for end, text in _KINDS.items()}, "")
        self.legend = _choice(self._legends(), "")
        self.theme = _choice(self._themes(), "")
        self.lettering = _choice(self._letterings(), "")
        self.numbers = QCheckBox(self.tr("Values and gradients"), self)
        self.width_on_paper = QDoubleSpinBox(self)
        self.preview = PicturePreview(self)
        self.caption = labels.caption()
        self._set_up_width()
        self._arrange()
        self._show_options(options, kind)
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._draw)
        for box in (self.extent, self.kind, self.legend, self.theme, self.lettering):
            box.currentIndexChanged.connect(self._timer.start)
        self.numbers.toggled.connect(self._timer.start)
        self.width_on_paper.valueChanged.connect(self._timer.start)
        self._draw()

    @property
    def options(self) -> PictureOptions:
        """The chosen options."""
        width = round(self.width_on_paper.value(), 1)
        return PictureOptions.parse(
            {
                "legend": self.legend.currentData(),
                "theme": self.theme.currentData(),
                "numbers": str(self.numbers.isChecked()),
                "width": str(width),
                "lettering": self.lettering.currentData(),
            }
        )

    @property
    def chosen_extent(self) -> PictureExtent:
        """What to draw."""
        return PictureExtent(self.extent.currentData())

    def _legends(self) -> dict[LegendChoice, str]:
        return {
            LegendChoice.OCCURRING: self.tr("What occurs"),
            LegendChoice.ALL: self.tr("Every state and badge"),
            LegendChoice.NONE: self.tr("None"),
        }

    def _themes(self) -> dict[str, str]:
        return {
            "light": self.tr("Light"),
            "dark": self.tr("Dark"),
            "high contrast": self.tr("High contrast"),
        }

    def _letterings(self) -> dict[Lettering, str]:
        fonts = {Lettering.EMBEDDED: self.tr("As text, with its fonts")} if can_embed() else {}
        return {
            Lettering.SHAPES: self.tr("As shapes, the same everywhere"),
            **fonts,
            Lettering.TEXT: self.tr("As text, in the reader's sans-serif"),
        }

    def _set_up_width(self) -> None:
        self.width_on_paper.setRange(0.0, LARGEST_WIDTH)
        self.width_on_paper.setDecimals(1)
        self.width_on_paper.setSuffix(self.tr(" cm"))
        self.width_on_paper.setSpecialValueText(self.tr("as on the screen"))
        self.width_on_paper.setKeyboardTracking(False)
        self.width_on_paper.setMinimumHeight(self.kind.sizeHint().height())

    def _arrange(self) -> None:
        form = QFormLayout()
        for text, field in (
            (self.tr("&Draw"), self.extent),
            (self.tr("&Format"), self.kind),
            (self.tr("&Legend"), self.legend),
            (self.tr("&Colours"), self.theme),
            (self.tr("&Numbers"), self.numbers),
            (self.tr("&Text"), self.lettering),
            (self.tr("&Width on paper"), self.width_on_paper),
        ):
            form.addRow(text, field)
            field.setAccessibleName(text.replace("&", ""))
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        self.export = self.buttons.addButton(
            self.tr("&Export…"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        self.export.setDefault(True)
        self.buttons.accepted.connect(self.exportRequested)
        self.buttons.rejected.connect(self.reject)
        shown = make_column(None, (self.preview, 1), self.caption)
        side = make_column(None, form, STRETCH, self.buttons)
        make_row(self, (shown, 1), side, margins=None)
        self.resize(980, 520)

    def _show_options(self, options: PictureOptions, kind: str) -> None:
        for box, value in (
            (self.kind, kind),
            (self.legend, options.legend),
            (self.theme, options.theme),
            (self.lettering, options.lettering),
        ):
            box.setCurrentIndex(max(box.findData(str(value)), 0))
        self.numbers.setChecked(options.numbers)
        self.width_on_paper.setValue(options.width or 0.0)

    def _draw(self) -> None:
        """Show the picture with the chosen options."""
        self.lettering.setEnabled(self.kind.currentData() == ".svg")
        pictures = self._pictures(self.chosen_extent, self.options)
        self.preview.show_picture(pictures[0])
        size, scale = pictures[0].size, pictures[0].scale
        text = self.tr("{0} × {1} cm").format(
            f"{size.width() * scale:.1f}", f"{size.height() * scale:.1f}"
        )
        if len(pictures) > 1:
            text = self.tr("Page 1 of {0}: {1}").format(len(pictures), text)
        self.caption.setText(text)


class PicturePreview(QWidget):
    """Shows a picture as large as it fits."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._picture: PagePicture | None = None
        self._drawn = QImage()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(320, 240)
        self.setAccessibleName(self.tr("Preview"))

    def sizeHint(self) -> QSize:
        return QSize(640, 480)

    def show_picture(self, picture: PagePicture) -> None:
        """Show another picture."""
        self._picture, self._drawn = picture, QImage()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        place = self._place()
        if self._drawn.deviceIndependentSize().toSize() != place.size().toSize():
            self._drawn = self._image(place.size())
        with QPainter(self) as painter:
            painter.drawImage(place.topLeft(), self._drawn)
            painter.setPen(self.palette().mid().color())
            painter.drawRect(place.adjusted(0.0, 0.0, -1.0, -1.0))

    def _place(self) -> QRectF:
        """Where the picture is drawn."""
        if self._picture is None:
            return QRectF()
        room, size = QSizeF(self.size()), self._picture.size
        scale = min(room.width() / size.width(), room.height() / size.height(), _MOST)
        fitted = QSizeF((size * scale).toSize().expandedTo(QSize(1, 1)))
        left = (room.width() - fitted.width()) / 2.0
        top = (room.height() - fitted.height()) / 2.0
        return QRectF(QPointF(round(left), round(top)), fitted)

    def _image(self, size: QSizeF) -> QImage:
        ratio = self.devicePixelRatioF()
        image = QImage((size * ratio).toSize(), QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(ratio)
        image.fill(Qt.GlobalColor.white)
        until = time.monotonic() + _PATIENCE

        def pulse(share: float) -> None:
            if time.monotonic() > until:
                raise TimeoutError

        if self._picture is not None:
            with QPainter(image) as painter:
                scale = size.width() / self._picture.size.width()
                painter.scale(scale, scale)
                try:
                    self._picture.paint(painter, pulse)
                except TimeoutError:
                    pass  # what is painted by then is enough to choose options
        return image


def _choice(texts: dict[_Value, str], name: str) -> QComboBox:
    """A box of values, each with its text."""
    box = QComboBox()
    box.setAccessibleName(name)
    for value, text in texts.items():
        box.addItem(text, str(value))
    return box
