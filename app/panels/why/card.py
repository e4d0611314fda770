"""The answer where one looks: a card beside the selected wire or variable, with its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QCursor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.inspector.texts import linked
from gradwire.app.panels.layouts import STRETCH, close_button, make_column, make_row, push_button
from gradwire.app.services import theme
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.app.canvas.view import CanvasView
    from gradwire.runtime.flow import Fix, Verdict

_PAD = 11.0
"""Room for badges at the corners of blocks, widget px."""
GAP = 12
"""Room between a card and what it is about, widget px."""
_NEVER = 1e6
"""Cost of covering a pixel of what the card is about, or of the pointer."""
_STEPS = 5
"""Places that are tried along each side."""


def place_beside(
    view: ViewState, anchor: QRect, size: QSize, room: QRect, taken: Iterable[QRect], pointer: QRect
) -> QPoint:
    """The top left corner of a card of ``size`` beside ``anchor``, inside ``room``; widget px.

    It covers neither the visible part of the anchor nor the pointer if there is any such place, and
    as little as possible of blocks, notes and the rectangles that are ``taken``.
    """
    seen = anchor.intersected(room)
    obstacles = np.concatenate([_boxes(view), _rows(taken), _rows([seen, pointer])])
    weights = np.ones(len(obstacles))
    weights[-2:] = _NEVER
    corners = _candidates(seen, size, room)
    if pointer.intersects(room):
        corners += _candidates(seen.united(pointer), size, room)
    costs = [_covered(corner, size, obstacles, weights) for corner in corners]
    return corners[costs.index(min(costs))]


def _candidates(anchor: QRect, size: QSize, room: QRect) -> list[QPoint]:
    """Places below, above, right and left of the anchor, those around its middle first."""
    width, height = size.width(), size.height()
    middle = anchor.center()
    shares = sorted(np.linspace(-1.0, 1.0, _STEPS).tolist(), key=abs)
    found = []
    for share in shares:
        x = round(middle.x() - width / 2 + share * (width + anchor.width()) / 2)
        y = round(middle.y() - height / 2 + share * (height + anchor.height()) / 2)
        found += [QPoint(x, anchor.bottom() + GAP), QPoint(x, anchor.top() - GAP - height)]
        found += [QPoint(anchor.right() + GAP, y), QPoint(anchor.left() - GAP - width, y)]
    return [_inside(corner, size, room) for corner in found]


def _inside(corner: QPoint, size: QSize, room: QRect) -> QPoint:
    right, bottom = room.width() - size.width() - 4, room.height() - size.height() - 4
    return QPoint(min(max(corner.x(), 4), max(right, 4)), min(max(corner.y(), 4), max(bottom, 4)))


def _boxes(view: ViewState) -> Floats:
    """Left, top, right and bottom of each block and note, widget px."""
    scene = view.scene
    notes = np.array([(*n.at, n.width, n.height) for n in scene.page.notes.values()])
    rects = np.concatenate([scene.rects, notes.reshape(-1, 4)])
    low = view.camera.to_widget(rects[:, :2])
    return np.hstack([low - _PAD, low + rects[:, 2:] * view.camera.zoom + _PAD])


def _rows(rects: Iterable[QRect]) -> Floats:
    """Left, top, right and bottom of each rectangle."""
    rows = [(r.left(), r.top(), r.right() + 1, r.bottom() + 1) for r in rects]
    return np.array(rows, float).reshape(-1, 4)


def _covered(corner: QPoint, size: QSize, boxes: Floats, weights: Floats) -> float:
    """The weighted area of ``boxes`` that a card at ``corner`` covers."""
    card = np.array([*corner.toTuple(), corner.x() + size.width(), corner.y() + size.height()])
    sides = np.minimum(boxes[:, 2:], card[2:]) - np.maximum(boxes[:, :2], card[:2])
    return float((np.maximum(sides, 0.0).prod(axis=1) * weights).sum())


_WIDTH = 300
"""Width at the normal text size, px."""
_EDGE = 4
"""Width of the bar in the colour of the state, px."""
_POINTER = QSize(28, 28)
"""The room that is left free around the pointer, px."""


class Card(QFrame):
    """The verdict on what is selected, and buttons to try and to apply a repair.

    It follows the canvas, and covers neither what it is about nor the pointer.
    """

    repairTried = Signal(object)
    """A Fix to toggle in the trial."""
    repairRequested = Signal(object)
    """A Fix to apply."""
    moreRequested = Signal()
    """The Why panel should continue the answer."""
    trialApplied = Signal()
    trialDiscarded = Signal()
    linkActivated = Signal(str)
    """The instance path of a block."""

    def __init__(self, canvas: CanvasView) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._verdict: Verdict | None = None
        self._fix: Fix | None = None
        self._trial = ""
        self._wire = self._block = ""
        self._dismissed = self._pressed = False
        self._anchor = QRect()
        self.setAccessibleName(self.tr("Answer"))
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.title = labels.strong()
        self.losses = labels.body()
        self.losses.hide()
        self.sentence = labels.rich()
        self.sentence.linkActivated.connect(self.linkActivated)
        self.trial = labels.caption()
        tip = self.tr("Show the effect without changing the diagram")
        self.try_button = push_button(self, self.tr("&Try"), self._try, tip=tip)
        tip = self.tr("Change the diagram, as one undo")
        self.apply_button = push_button(self, self.tr("A&pply"), self._apply, tip=tip)
        tip, discarded = self.tr("Leave the diagram as it is (Esc)"), self.trialDiscarded.emit
        self.discard_button = push_button(self, self.tr("&Discard"), discarded, tip=tip)
        tip = self.tr("Continue in the Why panel")
        self.more = push_button(self, self.tr("&More"), self.moreRequested.emit, tip=tip)
        self._lay_out()
        self.hide()
        canvas.installEventFilter(self)
        canvas.explanationLeft.connect(self.dismiss)

    @property
    def subject(self) -> str:
        """Key of the wire, or name of the block, that the card is about; empty if it is closed."""
        return "" if self.isHidden() else self._wire or self._block

    def show_verdict(
        self, verdict: Verdict | None, *, wire: str = "", block: str = "", by_loss: str = ""
    ) -> None:
        """Show a verdict on a wire or a block of the page; None closes the card.

        ``by_loss`` says for which losses it carries gradient and for which not, if they differ.
        """
        if (wire, block) != (self._wire, self._block):
            self._wire, self._block, self._fix, self._dismissed = wire, block, None, False
        known, self._verdict = self._verdict, verdict
        is_known = known is not None and verdict is not None and known.sentence == verdict.sentence
        if verdict is not None and not (is_known and by_loss == self.losses.text()):
            self._fill(verdict, by_loss)
        self._update()

    def show_fix(self, fix: Fix | None) -> None:
        """Offer a repair, or none."""
        self._fix = fix
        self._update()

    def show_trial(self, steps: str) -> None:
        """Say that the verdict is that of a trial with these steps; empty without a trial."""
        self._trial = steps
        labels.show_or_hide(self.trial, steps and self.tr("What if: {0}").format(steps))
        self._update()

    def reopen(self) -> None:
        """Show the card again after it was dismissed."""
        self._dismissed = False
        self._update()

    def dismiss(self) -> None:
        """Close the card until something else is selected."""
        self._dismissed = True
        if self.isAncestorOf(self.focusWidget() or self):
            self._canvas.setFocus()
        self._update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
            self._pressed = kind == QEvent.Type.MouseButtonPress
            if not self._pressed:
                QTimer.singleShot(0, self, self._update)
        elif kind == QEvent.Type.Paint and not self._pressed and self._is_due():
            if self._find_anchor() != self._anchor or self.isHidden():
                QTimer.singleShot(0, self, self._update)
        elif kind == QEvent.Type.Resize and not self.isHidden():
            QTimer.singleShot(0, self, self._update)
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        used = theme.current_theme()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(used.ink_faint), 1.0))
            painter.setBrush(QColor(used.field))
            painter.drawRoundedRect(self.rect().toRectF().adjusted(0.5, 0.5, -0.5, -0.5), 6.0, 6.0)
            if self._verdict is not None:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(used.lane(self._verdict.state))
                painter.drawRoundedRect(6, 10, _EDGE, self.height() - 20, 2.0, 2.0)

    # ---- contents -----------------------------------------------------------------------------

    def _fill(self, verdict: Verdict, by_loss: str) -> None:
        self.title.setText(editor.tr(verdict.state.row.title))
        labels.show_or_hide(self.losses, by_loss)
        self.sentence.setText(linked(verdict))
        text = " ".join(filter(None, [f"{self.title.text()}.", by_loss, verdict.sentence]))
        self.setAccessibleDescription(text)
        labels.announce(self, text)

    def _try(self) -> None:
        self.repairTried.emit(self._fix)

    def _apply(self) -> None:
        """Apply the trial, or else the repair."""
        if self._trial:
            self.trialApplied.emit()
        else:
            self.repairRequested.emit(self._fix)

    def _lay_out(self) -> None:
        close = close_button(self, self.tr("Close this card (Esc)"), self.dismiss)
        head = make_row(None, (self.title, 1), close)
        buttons = self.try_button, self.apply_button, self.discard_button, STRETCH, self.more
        foot = make_row(None, *buttons, spacing=6)
        parts = self.trial, head, self.losses, self.sentence, 2, foot
        self._column = make_column(self, *parts, margins=(10 + _EDGE + 4, 6, 8, 8), spacing=4)
        self.trial.hide()

    # ---- place --------------------------------------------------------------------------------

    def _is_due(self) -> bool:
        return self._verdict is not None and not self._dismissed

    def _update(self) -> None:
        """Show the buttons that apply, and place the card, unless a mouse button is down."""
        anchor = self._find_anchor() if self._is_due() else QRect()
        if not anchor.intersects(self._canvas.rect()):
            self.hide()
            self._canvas.context.explained = ""
            return
        if self.isHidden() and self._pressed:
            return
        offered = self._fix is not None and self._fix.change is not None
        for button in (self.try_button, self.apply_button):
            button.setAccessibleDescription(self._fix.sentence if self._fix is not None else "")
        self.try_button.setVisible(offered and not self._trial)
        self.apply_button.setVisible(offered or bool(self._trial))
        self.discard_button.setVisible(bool(self._trial))
        self._canvas.context.explained = self._wire or self._block
        self._place(anchor)

    def _place(self, anchor: QRect) -> None:
        width = min(theme.scaled(_WIDTH), self._canvas.width() - 16)
        self._column.activate()
        size = QSize(width, self._column.totalHeightForWidth(width))
        pointer = QRect(QPoint(), _POINTER)
        pointer.moveCenter(self._canvas.mapFromGlobal(QCursor.pos()))
        moved = QRect(self.pos() + anchor.topLeft() - self._anchor.topLeft(), size)
        follows = anchor.size() == self._anchor.size() and not self.isHidden()
        if follows and self._is_free(moved, anchor):
            self.setGeometry(moved)  # what moves along does not jump to another side
        else:
            others = [other.geometry() for other in self._others()]
            room = self._canvas.rect()
            at = place_beside(self._canvas.view, anchor, size, room, others, pointer)
            self.setGeometry(QRect(at, size))
        self._anchor = anchor
        if self.isHidden():
            self.show()
            self.raise_()

    def _is_free(self, place: QRect, anchor: QRect) -> bool:
        return self._canvas.rect().contains(place) and not place.intersects(anchor)

    def _find_anchor(self) -> QRect:
        """The box of the wire or block in widget px; empty if it is not on the page any more."""
        scene, camera = self._canvas.view.scene, self._canvas.view.camera
        if self._block in scene.index:
            return self._canvas.block_rect(self._block)
        wire = scene.wire_index.get(self._wire)
        if wire is None:
            return QRect()
        left, top, right, bottom = camera.rows_to_widget(scene.wire_bounds[[wire]])[0].tolist()
        box = QRect(QPoint(round(left), round(top)), QPoint(round(right), round(bottom)))
        return box.adjusted(-4, -4, 4, 4)

    def _others(self) -> list[QWidget]:
        """The other widgets on the canvas."""
        children = [child for child in self._canvas.children() if isinstance(child, QWidget)]
        return [child for child in children if child is not self and child.isVisible()]
