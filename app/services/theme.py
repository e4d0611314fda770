"""The themes of the editor (light, dark, high contrast): colours, one accent, three text sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QPalette

from gradwire.app.services import style_sheet, typeface
from gradwire.app.services.colours import oklch
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import ColourRole

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from gradwire.runtime.flow import State

SMALL = 11
"""Size of port names, values and captions, px at 100 %."""
BODY = 13
"""Size of block names and of all text in panels, px at 100 %."""
TITLE = 17
"""Size of symbols and headings, px at 100 %."""
_FIGURES = str.maketrans("123456789", "000000000")
TEXT_SIZES = MappingProxyType({"small": 12, "normal": BODY, "large": 16, "projector": 24})
"""Text size of the panels, px, by its name in the settings; the last one is for presentations."""

HUES: Mapping[str, float | None] = MappingProxyType(
    {
        "sources": 85.0,
        "arithmetic": 250.0,
        "functions": 250.0,
        "activations": 150.0,
        "logic": 305.0,
        "reduce": 200.0,
        "linear": 270.0,
        "linear_algebra": 270.0,
        "shape": 225.0,
        "convolution": 175.0,
        "sampling": 175.0,
        "gradient": 20.0,
        "losses": 50.0,
        "views": None,
        "pages": None,
        "": None,
    }
)
"""OKLCH hue of each family in degrees; None is grey, also used for missing blocks."""


@dataclass(frozen=True, slots=True)
class Tone:
    """OKLCH lightness 0 … 1 and chroma of one part of a block, for every family."""

    lightness: float
    chroma: float


@dataclass(frozen=True)
class Theme:
    """Every colour of the editor as ``#rrggbb``; those of lanes by their role."""

    name: str
    dark: bool
    canvas: str
    """Background of the diagram."""
    surface: str
    """Background of panels and bars."""
    field: str
    """Background of input fields and lists."""
    hairline: str
    """Separators and frames."""
    ink: str
    ink_soft: str
    ink_faint: str
    """Unobtrusive text: captions, stale values."""
    accent: str
    """Gradient, selection and focus."""
    on_accent: str
    accent_wash: str
    """Background of selected items."""
    wire: str
    """Wires, which carry values forward."""
    error: str
    warning: str
    note: str
    lanes: Mapping[ColourRole, str]
    losses: tuple[str, ...]
    """Gradient of each of several losses whose lanes lie side by side."""
    tint: Tone
    edge: Tone
    glyph: Tone

    def face(self, family: str) -> QColor:
        """Fill of a block of ``family``."""
        return _toned(family, self.tint)

    def border(self, family: str) -> QColor:
        """Outline of a block of ``family``."""
        return _toned(family, self.edge)

    def symbol(self, family: str) -> QColor:
        """Symbol of a block of ``family``."""
        return _toned(family, self.glyph)

    def lane(self, state: State, loss: int | None = None) -> QColor:
        """Colour of the gradient lane in ``state``.

        Of several losses, that with the number ``loss`` gives its colour to gradient; what is wrong
        with a gradient looks the same for all.
        """
        role = state.row.colour
        if loss is not None and role is ColourRole.GRADIENT:
            return QColor(self.losses[loss % len(self.losses)])
        return QColor(self.lanes[role])

    def lane_name(self, state: State, loss: int | None = None) -> str:
        """The name of that colour, such as ``#3b7dd8``."""
        known = self._lane_names
        if (state, loss) not in known:
            known[state, loss] = self.lane(state, loss).name()
        return known[state, loss]

    @cached_property
    def _lane_names(self) -> dict[tuple[State, int | None], str]:
        return {}


def font(size: int, *, bold: bool = False, italic: bool = False) -> QFont:
    """The typeface at ``size`` px, unhinted so that it scales, with tabular figures."""
    return QFont(_font(typeface.families(), size, bold, italic))


@cache
def _font(families: tuple[str, ...], size: int, bold: bool, italic: bool) -> QFont:
    weight = QFont.Weight.Bold if bold else QFont.Weight.Normal
    made = QFont(families, -1, weight, italic)
    made.setPixelSize(size)
    made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


def text_width(text: str, size: int, *, bold: bool = False) -> float:
    """Width of ``text`` in :func:`font`, px. All figures are equally wide, so a number that changes
    in place is measured once.
    """
    return _text_width(text.translate(_FIGURES), typeface.families(), size, bold)


@lru_cache(maxsize=8192)
def _text_width(text: str, families: tuple[str, ...], size: int, bold: bool) -> float:
    return QFontMetricsF(_font(families, size, bold, False)).horizontalAdvance(text)


def scale() -> float:
    """The current text size relative to the normal one, from the application's font."""
    size = QGuiApplication.font().pixelSize()
    return size / BODY if size > 0 else 1.0


def scaled(size: float) -> int:
    """A text size of the panels, px, scaled by the user's setting."""
    return round(size * scale())


LIGHT = Theme(
    name="light",
    dark=False,
    canvas="#ffffff",
    surface="#f5f5f3",
    field="#ffffff",
    hairline="#d9d9d5",
    ink="#1b1f24",
    ink_soft="#555d66",
    ink_faint="#676e76",
    accent="#0a5fc4",
    on_accent="#ffffff",
    accent_wash="#d5e5f8",
    wire="#848b93",
    error="#c0271d",
    warning="#9a5b00",
    note="#fbf8ec",
    lanes=MappingProxyType(
        {
            ColourRole.GRADIENT: "#0a5fc4",
            ColourRole.SMALL: "#2374b2",
            ColourRole.LARGE: "#c2480a",
            ColourRole.BROKEN: "#b3108f",
            ColourRole.STOPPED: "#5b636c",
            ColourRole.CUT: "#8a5a00",
            ColourRole.ABSENT: "#7d858e",
            ColourRole.FROZEN: "#2d7f96",
            ColourRole.PLAIN: "#848b93",
        }
    ),
    losses=("#0a5fc4", "#1a7a3c", "#7a3ec8", "#6b6a00"),
    tint=Tone(0.968, 0.016),
    edge=Tone(0.80, 0.045),
    glyph=Tone(0.46, 0.095),
)

DARK = Theme(
    name="dark",
    dark=True,
    canvas="#16191d",
    surface="#1e2227",
    field="#14171a",
    hairline="#363c43",
    ink="#e6e8eb",
    ink_soft="#a9b0b8",
    ink_faint="#8a929b",
    accent="#6cb0ff",
    on_accent="#0b1420",
    accent_wash="#203a58",
    wire="#727a83",
    error="#ff7b70",
    warning="#e9b04d",
    note="#26261f",
    lanes=MappingProxyType(
        {
            ColourRole.GRADIENT: "#6cb0ff",
            ColourRole.SMALL: "#5b96d1",
            ColourRole.LARGE: "#ff9150",
            ColourRole.BROKEN: "#f07ad8",
            ColourRole.STOPPED: "#a3abb4",
            ColourRole.CUT: "#d3a65a",
            ColourRole.ABSENT: "#838b94",
            ColourRole.FROZEN: "#74c3d8",
            ColourRole.PLAIN: "#727a83",
        }
    ),
    losses=("#6cb0ff", "#66cc88", "#c39bff", "#cfcf5a"),
    tint=Tone(0.265, 0.018),
    edge=Tone(0.43, 0.045),
    glyph=Tone(0.80, 0.085),
)

HIGH_CONTRAST = Theme(
    name="high contrast",
    dark=True,
    canvas="#000000",
    surface="#000000",
    field="#000000",
    hairline="#ffffff",
    ink="#ffffff",
    ink_soft="#ffffff",
    ink_faint="#d0d0d0",
    accent="#ffe14d",
    on_accent="#000000",
    accent_wash="#4a4000",
    wire="#c8c8c8",
    error="#ff8a80",
    warning="#ffc04d",
    note="#000000",
    lanes=MappingProxyType(
        {
            ColourRole.GRADIENT: "#ffe14d",
            ColourRole.SMALL: "#ffe14d",
            ColourRole.LARGE: "#ff9a3d",
            ColourRole.BROKEN: "#ff8cf0",
            ColourRole.STOPPED: "#ffffff",
            ColourRole.CUT: "#7fe0ff",
            ColourRole.ABSENT: "#c8c8c8",
            ColourRole.FROZEN: "#7fe0ff",
            ColourRole.PLAIN: "#c8c8c8",
        }
    ),
    losses=("#ffe14d", "#5dff9b", "#cdb0ff", "#8fb8ff"),
    tint=Tone(0.0, 0.0),
    edge=Tone(0.90, 0.09),
    glyph=Tone(0.92, 0.10),
)

THEMES: Mapping[str, Theme] = MappingProxyType(
    {theme.name: theme for theme in (LIGHT, DARK, HIGH_CONTRAST)}
)


class Themed(Protocol):
    """A widget that draws with the colours of a theme."""

    def set_theme(self, theme: Theme) -> object:
        """Use the colours of ``theme``."""


class _Current(QObject):
    """Holds the theme of the application, and announces a new one."""

    themeChanged = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.theme = LIGHT


_current = _Current()


def current_theme() -> Theme:
    """The theme of the application; widgets are painted again when it changes."""
    return _current.theme


def follow_theme(widget: Themed) -> None:
    """Give ``widget`` the application's theme, now and whenever it changes."""
    widget.set_theme(_current.theme)
    _current.themeChanged.connect(widget.set_theme)


def system() -> Theme:
    """The theme that the system asks for, light by default. Needs a QGuiApplication."""
    hints = QGuiApplication.styleHints()
    accessibility = getattr(hints, "accessibility", None)  # Qt 6.10
    if accessibility and accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast:
        return HIGH_CONTRAST
    return DARK if hints.colorScheme() == Qt.ColorScheme.Dark else LIGHT


def apply(theme: Theme, app: QApplication, text: str = "normal") -> None:
    """Apply a theme to the application: style, palette, font, style sheet, and all followers.

    ``text`` is a key of :data:`TEXT_SIZES`. If nothing changes, the style sheet is not set again,
    since that polishes every widget.
    """
    if not app.styleSheet():  # only once: a style sheet wraps the style, which then stays
        app.setStyle("Fusion")
    app.setPalette(palette(theme))
    used = app.font()
    used.setFamilies(typeface.families())
    used.setPixelSize(TEXT_SIZES.get(text, BODY))
    used.setFeature(QFont.Tag("tnum"), 1)
    app.setFont(used)
    # The sheet uses the text size, so the font comes first.
    sheet = style_sheet.sheet(theme, small=scaled(SMALL), body=scaled(BODY), title=scaled(TITLE))
    if sheet == app.styleSheet() and theme is _current.theme:
        return
    app.setStyleSheet(sheet)
    _current.theme = theme
    _current.themeChanged.emit(theme)


def palette(theme: Theme) -> QPalette:
    """The theme as a palette for Qt's widgets."""
    made = QPalette(QColor(theme.surface))
    role = QPalette.ColorRole
    for target, colour in {
        role.Window: theme.surface,
        role.WindowText: theme.ink,
        role.Base: theme.field,
        role.AlternateBase: theme.surface,
        role.Text: theme.ink,
        role.PlaceholderText: theme.ink_faint,
        role.Button: theme.surface,
        role.ButtonText: theme.ink,
        role.BrightText: theme.error,
        role.Highlight: theme.accent,
        role.HighlightedText: theme.on_accent,
        role.Accent: theme.accent,
        role.Link: theme.accent,
        role.LinkVisited: theme.accent,
        role.ToolTipBase: theme.field,
        role.ToolTipText: theme.ink,
        role.Light: theme.field,
        role.Midlight: theme.hairline,
        role.Mid: theme.hairline,
        role.Dark: theme.ink_faint,
        role.Shadow: theme.hairline,
    }.items():
        made.setColor(target, QColor(colour))
    disabled = QPalette.ColorGroup.Disabled
    for target in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(disabled, target, QColor(theme.ink_faint))
    return made


@cache
def _toned(family: str, tone: Tone) -> QColor:
    hue = HUES.get(family, math.nan)
    if hue is None:
        return oklch(tone.lightness, 0.0, 0.0)
    if math.isnan(hue):  # a plug-in's family gets a stable hue of its own
        hue = sum(family.encode()) * 37.0 % 360.0
    return oklch(tone.lightness, tone.chroma, hue)
