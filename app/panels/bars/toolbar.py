"""The tool bar: what people do most, as icons with labels, drawn in a colour at any size."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QByteArray, QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QToolBar, QToolButton

from gradwire.app.services import theme
from gradwire.app.services.examples import ASSETS
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenu, QWidget

    from gradwire.app.services.theme import Theme


def tool_icon(name: str, theme: Theme, *, marked: bool = False) -> QIcon:
    """The icon of a tool; a marked one has the theme's colour of warnings."""
    normal, active = (theme.warning,) * 2 if marked else (theme.ink_soft, theme.ink)
    return _icon(name, normal, active, theme.hairline)


@lru_cache(maxsize=256)
def _icon(name: str, normal: str, active: str, disabled: str) -> QIcon:
    return QIcon(_Drawing(name, normal, active, disabled))


class _Drawing(QIconEngine):
    """An icon that is drawn when it is shown, at the size and the resolution of that place."""

    def __init__(self, name: str, normal: str, active: str, disabled: str) -> None:
        super().__init__()
        self._name, self._normal, self._active, self._disabled = name, normal, active, disabled

    def clone(self) -> QIconEngine:
        return _Drawing(self._name, self._normal, self._active, self._disabled)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        ratio = painter.device().devicePixelRatio()
        painter.drawPixmap(rect, self.scaledPixmap(rect.size(), mode, state, ratio))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    def scaledPixmap(
        self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float
    ) -> QPixmap:
        colours = {QIcon.Mode.Active: self._active, QIcon.Mode.Disabled: self._disabled}
        pixels = round(size.width() * scale), round(size.height() * scale)
        picture = QPixmap(_drawn(self._name, colours.get(mode, self._normal), pixels))
        picture.setDevicePixelRatio(scale)
        return picture


@lru_cache(maxsize=256)
def _drawn(name: str, colour: str, size: tuple[int, int]) -> QPixmap:
    """The picture of a drawing of so many physical pixels."""
    picture = QPixmap(QSize(*size))
    picture.fill(QColor(Qt.GlobalColor.transparent))
    drawing = QSvgRenderer(QByteArray(_text(name).replace("currentColor", colour).encode()))
    with QPainter(picture) as painter:
        drawing.render(painter, QRectF(0.0, 0.0, *size))
    return picture


@cache
def _text(name: str) -> str:
    return (ASSETS / "icons" / f"tool_{name}.svg").read_text(encoding="utf-8")


_SIZE = 17
"""Width of an icon at the normal text size, px."""
_GAP = 1
"""Spacing of the buttons, px, as the style sheet has it."""


class Tool(NamedTuple):
    """The icon and the label of an action or a menu, and a tip for a menu that has none."""

    icon: str
    label: str
    tip: str = ""


TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "quick_add": Tool("add", editor.noop("Add")),
        "evaluate": Tool("run", editor.noop("Run")),
        "train": Tool("train", editor.noop("Train")),
        "step": Tool("step", editor.noop("Step")),
        "try_selected": Tool("what_if", editor.noop("What if")),
        "losses": Tool("loss", editor.noop("Loss")),
        "numbers": Tool(
            "numbers", editor.noop("Numbers"), editor.noop("Choose the numbers beside wires")
        ),
        "zoom_fit": Tool("fit", editor.noop("Fit")),
        "doctor": Tool("doctor", editor.noop("Doctor")),
    }
)
"""The tools by the names of their actions or menus, in the order shown."""


class ToolBar(QToolBar):
    """A button for each of ``TOOLS``; the one of the doctor has the number of its findings."""

    def __init__(
        self, actions: Mapping[str, QAction], menus: Mapping[str, QMenu], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Tools"))
        self.setObjectName("tools")
        self.setAccessibleName(self.windowTitle())
        self.setMovable(False)
        self.toggleViewAction().setVisible(False)
        self._count = 0
        self._theme: Theme = theme.LIGHT
        self.buttons = {
            name: self._button(actions.get(name), menus.get(name), tool)
            for name, tool in TOOLS.items()
        }
        self._actions = {name: actions[name] for name in TOOLS if name in actions}
        for action in self._actions.values():
            action.changed.connect(self._show_tips)
        self._show_tips()
        theme.follow_theme(self)

    def show_count(self, count: int) -> None:
        """Show the number of the doctor's findings, in the colour of warnings unless it is 0."""
        before, self._count = self._count, count
        if count == before:
            return
        label = editor.tr(TOOLS["doctor"].label)
        self.buttons["doctor"].setText(f"{label} {count}" if count else label)
        if bool(before) != bool(count):
            self._draw()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        layout = self.layout()
        if event.type() == QEvent.Type.StyleChange and layout is not None:
            # Qt takes those of the style when the style sheet is replaced.
            layout.setContentsMargins(0, 0, 0, 0)
            layout.setSpacing(_GAP)

    def _show_tips(self) -> None:
        """Show what the buttons do, with the keys as they are now."""
        for name, action in self._actions.items():
            self.buttons[name].setToolTip(_tip(action))

    def _draw(self) -> None:
        size = theme.scaled(_SIZE)
        self.setIconSize(QSize(size, size))
        for name, button in self.buttons.items():
            marked = name == "doctor" and self._count > 0
            button.setIcon(tool_icon(TOOLS[name].icon, self._theme, marked=marked))

    def _button(self, action: QAction | None, menu: QMenu | None, tool: Tool) -> QToolButton:
        button = QToolButton(self)
        button.setText(editor.tr(tool.label))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if action is not None:
            button.setEnabled(action.isEnabled())
            button.clicked.connect(action.trigger)
            action.enabledChanged.connect(button.setEnabled)
        elif menu is not None:
            button.setToolTip(menu.menuAction().statusTip() or editor.tr(tool.tip))
            button.setMenu(menu)
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.addWidget(button)
        return button


def _tip(action: QAction) -> str:
    """What an action does, with its keys."""
    keys = action.shortcut().toString()
    if not keys:
        return action.statusTip()
    return editor.tr("{0} ({1})").format(action.statusTip(), keys)
