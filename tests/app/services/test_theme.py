from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QColor, QFontMetricsF, QPalette
from PySide6.QtWidgets import QApplication, QMenuBar

from gradwire.app.evaluation.result import MAX_SIDE_BY_SIDE
from gradwire.app.services import theme
from gradwire.app.services.colours import contrast, oklch
from gradwire.app.services.theme import (
    BODY,
    DARK,
    HIGH_CONTRAST,
    LIGHT,
    SMALL,
    THEMES,
    TITLE,
    font,
    text_width,
)
from gradwire.blocks.registry import registry
from gradwire.runtime.flow import State

each = pytest.mark.parametrize("shown", THEMES.values(), ids=lambda shown: shown.name)


@each
def test_text_can_be_read(shown):
    faces = [shown.face(family) for family in registry().families()]
    for ground in (shown.canvas, shown.surface, shown.field, shown.note, *faces):
        for ink in (shown.ink, shown.ink_soft, shown.ink_faint, shown.accent, shown.error):
            assert contrast(ink, ground) >= 4.5
    for ink in (shown.ink, shown.ink_soft):
        assert contrast(ink, shown.accent_wash) >= 4.5
    assert contrast(shown.on_accent, shown.accent) >= 4.5
    for state in State:
        if not state.row.label:
            continue
        assert contrast(shown.lane(state), shown.canvas) >= 4.5


@each
def test_lines_can_be_seen(shown):
    for ground in (shown.canvas, shown.note):
        for line in (shown.wire, *shown.lanes.values()):
            assert contrast(line, ground) >= 3.0
    for family in registry().families():
        assert contrast(shown.wire, shown.face(family)) >= 3.0  # dots of ports
    for ground in (shown.canvas, shown.surface, shown.accent_wash):
        assert contrast(shown.accent, ground) >= 3.0  # rings of focus and selection
    assert contrast(shown.ink_faint, shown.surface) >= 3.0  # boxes to tick


@each
def test_faces_are_quiet_and_their_symbols_can_be_read(shown):
    for family in [*registry().families(), "a plug-in's"]:
        assert contrast(shown.symbol(family), shown.face(family)) >= 4.5
        assert contrast(shown.ink, shown.face(family)) >= 7.0
        assert contrast(shown.face(family), shown.canvas) <= 1.5


@each
def test_problems_stand_out(shown):
    for colour in (shown.error, shown.warning):
        for ground in (shown.canvas, shown.field, shown.surface):
            assert contrast(colour, ground) >= 4.5
        assert contrast(shown.canvas, colour) >= 4.5  # the sign on a badge


def simulated(colour: str, kind: str) -> tuple[float, float, float]:
    """How a dichromat sees it. Source: Viénot, Brettel & Mollon 1999, on linear RGB."""
    linear = [part**2.2 for part in QColor(colour).getRgbF()[:3]]
    matrix = {
        "protan": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
        "deutan": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
    }[kind]
    red, green, blue = (
        max(sum(w * part for w, part in zip(row, linear, strict=True)), 0.0) ** (1 / 2.2)
        for row in matrix
    )
    return red, green, blue


@pytest.mark.parametrize("kind", ["protan", "deutan"])
@pytest.mark.parametrize("shown", [LIGHT, DARK], ids=lambda shown: shown.name)
def test_gradient_stop_and_alarm_differ_for_the_colour_blind(shown, kind):
    told_apart = [State.CARRIES, State.EXPLODING, State.STOPPED]
    seen = [simulated(shown.lane(state).name(), kind) for state in told_apart]
    for i, one in enumerate(seen):
        for other in seen[:i]:
            assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 0.2


@each
def test_losses_have_colours_of_their_own(shown):
    carries = [shown.lane(State.CARRIES, loss) for loss in range(MAX_SIDE_BY_SIDE)]
    assert carries[0] == shown.lane(State.CARRIES)
    others = {shown.lane(state).name() for state in State if state is not State.CARRIES}
    assert len({colour.name() for colour in carries} - others) >= MAX_SIDE_BY_SIDE - 1
    for colour in carries:
        assert contrast(colour, shown.canvas) >= 4.5
    assert shown.lane(State.NONFINITE, 2) == shown.lane(State.NONFINITE)  # wrong for any loss


def test_three_sizes_of_type():
    assert SMALL < BODY < TITLE
    assert [theme.font(size).pixelSize() for size in (SMALL, BODY, TITLE)] == [SMALL, BODY, TITLE]


@each
def test_it_dresses_the_application(qapp, shown):
    before = qapp.palette(), qapp.styleSheet(), qapp.font()
    theme.apply(shown, qapp)
    palette = QApplication.palette()
    assert palette.color(QPalette.ColorRole.Base) == shown.field
    assert palette.color(QPalette.ColorRole.Highlight) == shown.accent
    assert qapp.font().pixelSize() == BODY
    qapp.setPalette(before[0])
    qapp.setStyleSheet(before[1])
    qapp.setFont(before[2])


class Polishings(QObject):
    """Counts how often a widget gets a new style, and how often the theme is announced."""

    def __init__(self, widget):
        super().__init__()
        self.count = 0
        self.themes = []
        widget.installEventFilter(self)
        theme.follow_theme(self)

    def set_theme(self, shown):
        self.themes.append(shown)

    def eventFilter(self, watched, event):
        self.count += event.type() == QEvent.Type.StyleChange
        return False


def test_what_is_worn_already_is_not_put_on_again(qtbot, qapp):
    bar = QMenuBar()
    qtbot.addWidget(bar)
    bar.show()
    polishings = Polishings(bar)
    theme.apply(LIGHT, qapp)
    assert (polishings.count, polishings.themes) == (0, [LIGHT])
    for shown, text, size in (
        (LIGHT, "large", 16),
        (DARK, "large", 16),
        (DARK, "normal", BODY),
        (LIGHT, "normal", BODY),
        (LIGHT, "large", 16),
    ):
        polishings.count, polishings.themes = 0, []
        theme.apply(shown, qapp, text)
        assert polishings.themes == [shown]
        assert polishings.count
        assert bar.fontInfo().pixelSize() == size
        assert qapp.palette().color(QPalette.ColorRole.Base) == shown.field
        polishings.count, polishings.themes = 0, []
        theme.apply(shown, qapp, text)
        assert (polishings.count, polishings.themes) == (0, [])


def test_the_system_is_followed(qapp, monkeypatch):
    class Hints:
        def __init__(self, scheme):
            self.scheme = scheme

        def colorScheme(self):
            return self.scheme

    from PySide6.QtCore import Qt
    from PySide6.QtGui import QGuiApplication

    for scheme, expected in (
        (Qt.ColorScheme.Dark, DARK),
        (Qt.ColorScheme.Light, LIGHT),
        (Qt.ColorScheme.Unknown, LIGHT),
    ):
        monkeypatch.setattr(QGuiApplication, "styleHints", staticmethod(lambda s=scheme: Hints(s)))
        assert theme.system() is expected
    assert HIGH_CONTRAST.name == "high contrast"


def test_oklch_gives_known_colours():
    assert oklch(1.0, 0.0, 0.0) == QColor("white")
    assert oklch(0.0, 0.0, 0.0) == QColor("black")
    red = oklch(0.62796, 0.25768, 29.234)
    assert (red.red(), red.green() <= 1, red.blue() <= 1) == (255, True, True)
    assert contrast("white", "black") == pytest.approx(21.0)


def test_figures_are_equally_wide(qapp):
    widths = {text_width(f"{figure}.{figure}", 11) for figure in range(10)}
    assert widths == {QFontMetricsF(font(11)).horizontalAdvance("0.0")}
    assert text_width("12", 11, bold=True) == QFontMetricsF(font(11, bold=True)).horizontalAdvance(
        "12"
    )
