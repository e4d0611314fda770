"""The search box for adding blocks: a few letters or a formula, then Enter.

It opens at the pointer or at the end of an open wire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLabel,
    QLineEdit,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from gradwire.app.canvas.input import changes
from gradwire.app.canvas.input.entry.candidates import Candidate, candidates, search
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.canvas.paint.blocks.rows import (
    BLOCK_ROLE,
    KIND_ROLE,
    STAR_ROLE,
    BlockRows,
    Stars,
    is_star,
)
from gradwire.app.canvas.paint.wires.lanes import draw_open_wire
from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.translation import editor
from gradwire.blocks.errors import BuildError
from gradwire.blocks.formulas.places import FormulaError
from gradwire.blocks.formulas.reading import looks_like_formula
from gradwire.runtime.diagram import Change
from gradwire.runtime.formulas import Addition, add_formula

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.services.favourites import Favourites
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.diagram import Point

CANDIDATE_ROLE = Qt.ItemDataRole.UserRole + 2
SIZE = (300, 280)
_MAX_ROWS = 60
"""Largest number of listed rows."""
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_UP_DOWN = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class QuickAdd(QFrame):
    """Open from its construction until a choice is made, Esc is pressed, or it loses the focus.

    ``done`` is called once, with the chosen block, the typed formula, or None. ``compose`` makes
    the change that adds a formula, or raises FormulaError; without it, only blocks are offered.
    """

    def __init__(
        self,
        parent: QWidget,
        at: QPoint,
        candidates: Sequence[Candidate],
        theme: Theme,
        favourites: Favourites,
        done: Callable[[Candidate | Addition | None], None],
        compose: Callable[[str], Addition] | None = None,
    ) -> None:
        super().__init__(parent)
        self._compose = compose
        self._addition: Addition | None = None
        """What the typed formula adds."""
        self._mistake: int | None = None
        """Index of the character where the typed formula is wrong."""
        self._candidates = candidates
        self._favourites = favourites
        self._done: Callable[[Candidate | Addition | None], None] | None = done
        self.line = QLineEdit(self)
        asked = self.tr("Add a block") if compose is None else self.tr("Add a block or a formula")
        self.line.setPlaceholderText(asked)
        self.line.setAccessibleName(self.tr("Add a block"))
        self.list = QTreeView(self)
        self._rows = BlockRows(self.list)
        self._rows.set_theme(theme)
        self._model = QStandardItemModel(self)
        self._set_up_list()
        self.preview = QLabel(self)
        self.preview.setTextFormat(Qt.TextFormat.PlainText)
        self.preview.setWordWrap(True)
        self.preview.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.preview.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 6, 6, 6)
        column.setSpacing(4)
        column.addWidget(self.line)
        column.addWidget(self.list, 1)
        column.addWidget(self.preview, 1)
        self.setAutoFillBackground(True)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._put(at, parent.size())
        self.line.textChanged.connect(self._search)
        self.line.installEventFilter(self)
        self._search("")
        self.show()
        self.line.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_box(self, chosen: Candidate | Addition | None = None) -> None:
        """Close and report the choice, once."""
        done, self._done = self._done, None
        if done is None:
            return
        self.hide()
        self.deleteLater()
        done(chosen)

    def titles(self) -> list[str]:
        """The titles that are listed, from the top."""
        return [self._model.item(row).text() for row in range(self._model.rowCount())]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        if event.type() == QEvent.Type.FocusOut and not self.list.hasFocus():
            self.close_box()
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent) -> bool:
        """Handle a key of the list; False for any other."""
        if event.key() in _UP_DOWN:
            self.list.event(event)
        elif event.key() in (*_ENTER, Qt.Key.Key_Tab):
            self._enter()
        elif is_star(event):
            self._star(self.list.currentIndex())
        elif event.key() == Qt.Key.Key_Escape:
            self.close_box()
        else:
            return False
        return True

    def _set_up_list(self) -> None:
        self.list.setModel(self._model)
        self.list.setItemDelegate(self._rows)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setAccessibleName(self.tr("Blocks"))
        self.list.clicked.connect(self._choose)
        Stars(self.list).clicked.connect(self._star)

    def _enter(self) -> None:
        """Add what is chosen; of a formula that is wrong, select the character that is."""
        if self._addition is not None:
            self.close_box(self._addition)
        elif self._mistake is not None:
            self.line.setSelection(self._mistake, 1)
        else:
            self._choose(self.list.currentIndex())

    def _search(self, text: str) -> None:
        is_formula = self._compose is not None and looks_like_formula(text)
        self._addition = self._mistake = None
        self.list.setVisible(not is_formula)
        self.preview.setVisible(is_formula)
        if is_formula:
            self._read(text)
        else:
            self._list(text)

    def _read(self, text: str) -> None:
        """Show what a formula adds, or where it is wrong."""
        assert self._compose is not None
        try:
            self._addition = self._compose(text)
        except FormulaError as error:
            self._mistake = min(error.offset, len(text))
            pointed = f"{text[: self._mistake]}▸{text[self._mistake :]}"
            self.preview.setText(f"{pointed}\n\n{error}")
        except BuildError as error:
            self._mistake = 0
            self.preview.setText(str(error))
        else:
            blocks = self._addition.blocks
            added = self.tr("Enter adds {0} blocks: {1}").format(len(blocks), ", ".join(blocks))
            self.preview.setText(added)

    def _list(self, text: str) -> None:
        self._model.clear()
        for candidate in search(self._candidates, text, self._favourites)[:_MAX_ROWS]:
            item = QStandardItem(candidate.title)
            item.setData(type(candidate.block), BLOCK_ROLE)
            item.setData(type(candidate.block).type_name(), KIND_ROLE)
            item.setData(candidate, CANDIDATE_ROLE)
            item.setData(candidate.kind in self._favourites.starred, STAR_ROLE)
            item.setToolTip(tooltip(type(candidate.block).summary()))
            self._model.appendRow(item)
        self.list.setCurrentIndex(self._model.index(0, 0))

    def _star(self, index: QModelIndex) -> None:
        """Toggle a favourite; the row stays where it is until the next search."""
        candidate = index.data(CANDIDATE_ROLE)
        if candidate is not None and candidate.kind:
            self._favourites.toggle(candidate.kind)
            starred = candidate.kind in self._favourites.starred
            self._model.itemFromIndex(index).setData(starred, STAR_ROLE)

    def _choose(self, index: QModelIndex) -> None:
        candidate = index.data(CANDIDATE_ROLE)
        if candidate is not None:
            self.close_box(candidate)

    def _put(self, at: QPoint, room: QSize) -> None:
        """Move the box to ``at``, or as near as it fits into ``room``."""
        width, height = min(SIZE[0], room.width()), min(SIZE[1], room.height())
        left = max(0, min(at.x(), room.width() - width))
        top = max(0, min(at.y(), room.height() - height))
        self.setGeometry(left, top, width, height)


_Add: TypeAlias = Callable[[Candidate], tuple[str, Change]]
"""Gives the name of a new block, and the change that adds it."""


class BlockAdder:
    """Opens and closes the search box of one canvas."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self.box: QuickAdd | None = None
        self._wire: tuple[int, QPointF] | None = None

    def open(self, at: QPointF, port: int | None = None) -> None:
        """Open the box at a widget point, for a block there, wired to ``port`` if given."""
        view = self._context.view
        corner = view.camera.to_scene(np.array([at.x(), at.y()]))
        offered = self._offered() if port is None else self._fitting(port)
        place = corner if port is None else None
        self._open(
            at, offered, lambda c: changes.placing(view, c, corner, port), port, formula_at=place
        )

    def open_at(self, corner: Floats) -> None:
        """Open the box for a block with its top left at a scene point (2,)."""
        view = self._context.view
        self._open_there(
            corner,
            self._offered(),
            lambda c: changes.placing(view, c, corner, None),
            formula_at=corner,
        )

    def open_for_port(self, port: int) -> None:
        """Open the box for a block at the other end of a wire from ``port``."""
        view = self._context.view
        corner = changes.vacancy_for(view.scene, port)
        end = corner + changes.port_offset(from_output=not view.scene.port_is_input[port])
        self._open_there(
            end, self._fitting(port), lambda c: changes.placing(view, c, end, port), port
        )

    def open_for_wire(self, wire: str) -> None:
        """Open the box for a block that is inserted into a wire."""
        view, context = self._context.view, self._context
        corner = changes.vacancy_in(view.scene, wire)
        offered = [c for c in self._offered() if c.input and c.output]

        def place(candidate: Candidate) -> tuple[str, Change]:
            inserted = changes.inserting(view, candidate, corner, wire)
            if inserted is None:
                text = editor.tr("{0} can't be inserted into the wire to {1}.")
                context.hint(text.format(candidate.title, wire))
            return inserted or changes.placing(view, candidate, corner, None)

        self._open_there(corner, offered, place)

    def _offered(self) -> list[Candidate]:
        scene = self._context.view.scene
        return candidates(scene.diagram, scene.page_name)

    def _fitting(self, port: int) -> list[Candidate]:
        from_output = not self._context.view.scene.port_is_input[port]
        return [c for c in self._offered() if c.fits(from_output=from_output)]

    def _open_there(
        self,
        place: Floats,
        offered: list[Candidate],
        add: _Add,
        port: int | None = None,
        formula_at: Floats | None = None,
    ) -> None:
        """Open the box at a scene point; the added block is brought into view."""
        at = QPointF(*self._context.view.camera.to_widget(place).tolist())
        self._open(at, offered, add, port, shown=True, formula_at=formula_at)

    def _open(
        self,
        at: QPointF,
        offered: list[Candidate],
        add: _Add,
        port: int | None,
        *,
        shown: bool = False,
        formula_at: Floats | None = None,
    ) -> None:
        self.close()
        context = self._context
        self._wire = None if port is None else (port, at)

        def done(chosen: Candidate | Addition | None) -> None:
            self.box = self._wire = None
            context.widget.setFocus()
            context.redraw()
            if isinstance(chosen, Addition):
                is_first = not context.view.scene.names
                self._put(chosen.change, chosen.blocks, shown=True)
                if is_first:
                    context.camera.zoom_to_fit()
            elif chosen is not None:
                context.favourites.use(chosen.kind)
                name, change = add(chosen)
                self._put(change, [name], shown=shown)

        self.box = QuickAdd(
            context.widget,
            at.toPoint(),
            offered,
            context.view.theme,
            context.favourites,
            done,
            None if formula_at is None else partial(self._compose, changes.on_grid(formula_at)),
        )
        context.redraw()

    def _compose(self, at: Point, text: str) -> Addition:
        """The change that adds a formula; raises BuildError."""
        scene = self._context.view.scene
        return add_formula(scene.diagram, text, at, scene.page_name)

    def _put(self, change: Change, names: Sequence[str], *, shown: bool) -> None:
        """Make the change, and room for its blocks; select them."""
        context = self._context
        context.request(make_space(context.view.scene, change, names))
        context.selection.select(names)
        context.view = replace(context.view, focus=None)  # keys continue from the selection
        bounds = context.view.scene.bounds_of(names)
        if shown and bounds is not None:
            context.camera.reveal(bounds)

    def close(self) -> None:
        """Close the box if it is open; nothing is added."""
        if self.box is not None:
            self.box.close_box()

    def paint(self, painter: QPainter) -> None:
        """Draw the open wire while the box is open."""
        if self._wire is not None:
            port, at = self._wire
            draw_open_wire(painter, self._context.view, port, np.array([at.x(), at.y()]))
