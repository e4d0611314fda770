import pytest
from PySide6.QtCore import QEvent, QModelIndex, QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent, QFocusEvent
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.input.dropping import BLOCK_MIME
from gradwire.app.canvas.input.entry.candidates import LAYERS
from gradwire.app.canvas.paint.blocks.rows import BLOCK_ROLE, STAR_ROLE
from gradwire.app.panels.palette.model import tooltip
from gradwire.app.panels.palette.palette import Palette
from gradwire.app.services import theme
from gradwire.app.services.favourites import Favourites
from gradwire.blocks.library.activations import Softmax
from gradwire.blocks.registry import registry
from tests.app.mouse import double_click


@pytest.fixture
def favourites(settings):
    return Favourites(settings)


@pytest.fixture
def palette(qtbot, favourites):
    made = Palette(registry(), favourites)
    made.set_theme(theme.LIGHT)
    made.resize(240, 600)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.mark.night
@pytest.mark.parametrize("comes_by", ["mouse", "keyboard", "rest"])
def test_modules_are_imported_one_by_one_before_a_user_searches(
    comes_by, favourites, qtbot, monkeypatch
):
    imported = []
    modules = (imported.append(name) or name for name in ("arithmetic", "logic", "shape"))
    monkeypatch.setattr("gradwire.app.panels.palette.palette.library_modules", lambda: modules)
    palette = Palette(registry(), favourites)
    qtbot.addWidget(palette)
    qtbot.wait(20)
    assert imported == []
    if comes_by == "mouse":
        at = QPointF(5, 5)
        QApplication.sendEvent(palette, QEnterEvent(at, at, at))
    elif comes_by == "keyboard":
        QApplication.sendEvent(palette.search_line, QFocusEvent(QEvent.Type.FocusIn))
    else:
        palette.await_rest()
    qtbot.waitUntil(lambda: imported == ["arithmetic", "logic", "shape"])
    qtbot.waitUntil(lambda: not palette._ahead.isActive())


def names(palette):
    model = palette.tree.model()
    return [
        model.index(row, 0, model.index(family, 0)).data()
        for family in range(model.rowCount())
        for row in range(model.rowCount(model.index(family, 0)))
    ]


def row_of(palette, name):
    model = palette.tree.model()
    for family in range(model.rowCount()):
        head = model.index(family, 0)
        for row in range(model.rowCount(head)):
            if model.index(row, 0, head).data() == name:
                return model.index(row, 0, head)
    raise AssertionError(name)


def test_it_has_every_block_in_the_order_of_the_library_and_the_recurrent_layers(palette):
    families = registry().families()
    wanted = {family: [cls.type_name() for cls in row] for family, row in families.items()}
    wanted["pages"] += LAYERS
    assert names(palette) == [name for row in wanted.values() for name in row]


@pytest.mark.parametrize(
    ("typed", "first"),
    [("mul", "Mul"), ("stop", "StopGradient"), ("relu", "Relu"), ("cross", "CrossEntropy")],
)
def test_the_best_name_comes_first(palette, qtbot, typed, first):
    qtbot.keyClicks(palette.search_line, typed)
    assert names(palette)[0] == first
    assert palette.tree.currentIndex().data() == first


def test_summaries_are_searched_too(palette, qtbot):
    qtbot.keyClicks(palette.search_line, "logarithm")
    assert "Log" in names(palette)
    assert "Mul" not in names(palette)


def test_escape_brings_everything_back_in_order(palette, qtbot):
    before = names(palette)
    qtbot.keyClicks(palette.search_line, "zzz")
    assert names(palette) == []
    qtbot.keyClick(palette.search_line, Qt.Key.Key_Escape)
    assert names(palette) == before


def test_enter_in_the_search_chooses_the_best(palette, qtbot):
    qtbot.keyClicks(palette.search_line, "stopg")
    with qtbot.waitSignal(palette.blockChosen) as chosen:
        qtbot.keyClick(palette.search_line, Qt.Key.Key_Return)
    assert chosen.args == ["StopGradient"]


def test_the_arrows_lead_from_the_search_into_the_list(palette, qtbot):
    qtbot.keyClicks(palette.search_line, "max")
    first = palette.tree.currentIndex().data()
    qtbot.keyClick(palette.search_line, Qt.Key.Key_Down)
    assert palette.tree.hasFocus()
    assert palette.tree.currentIndex().data() != first
    with qtbot.waitSignal(palette.blockChosen) as chosen:
        qtbot.keyClick(palette.tree, Qt.Key.Key_Return)
    assert chosen.args == [palette.tree.currentIndex().data()]


def test_a_double_click_chooses_a_block_once(palette, qtbot):
    chosen = []
    palette.blockChosen.connect(chosen.append)
    at = palette.tree.visualRect(row_of(palette, "Variable")).center()
    double_click(palette.tree.viewport(), at)
    assert chosen == ["Variable"]


def test_a_click_on_a_family_folds_it(palette, qtbot):
    head = palette.tree.model().index(0, 0)
    at = palette.tree.visualRect(head).center()
    qtbot.mouseClick(palette.tree.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert not palette.tree.isExpanded(head)
    qtbot.mouseClick(palette.tree.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert palette.tree.isExpanded(head)


def test_a_block_is_dragged_by_its_type_name_and_a_family_not_at_all(palette):
    index = row_of(palette, "Variable")
    mime = index.model().mimeData([index])
    assert mime.data(BLOCK_MIME).data() == b"Variable"
    assert index.flags() & Qt.ItemFlag.ItemIsDragEnabled
    assert not index.parent().flags() & Qt.ItemFlag.ItemIsDragEnabled


def test_a_tooltip_says_what_it_does_and_draws_the_formula(palette):
    text = row_of(palette, "Softmax").data(Qt.ItemDataRole.ToolTipRole)
    assert text == tooltip(Softmax)
    assert Softmax.summary().split(",")[0] in text
    assert "data:image/png;base64," in text
    assert palette.tree.model().index(0, 0).data(Qt.ItemDataRole.ToolTipRole) is None


@pytest.mark.night
def test_every_formula_of_the_library_can_be_drawn():
    unread = [
        cls.type_name()
        for cls in registry().classes.values()
        if cls.formula and "data:image" not in tooltip(cls)
    ]
    assert unread == []


def test_rows_know_their_class(palette):
    assert row_of(palette, "Softmax").data(BLOCK_ROLE) is Softmax
    assert QModelIndex().data() is None


CONTROL = Qt.KeyboardModifier.ControlModifier


class TestFavourites:
    def star(self, qtbot, palette, name):
        palette.tree.scrollTo(row_of(palette, name))
        row = palette.tree.visualRect(row_of(palette, name))
        viewport = palette.tree.viewport()
        qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=row.center() + _to_star(row))

    def test_a_click_on_the_star_puts_a_block_first_and_another_takes_it_away(
        self, qtbot, palette, favourites
    ):
        before = names(palette)
        chosen = []
        palette.blockChosen.connect(chosen.append)
        self.star(qtbot, palette, "Tanh")
        self.star(qtbot, palette, "Mul")
        assert palette.tree.model().index(0, 0).data() == "Favourites"
        assert names(palette) == ["Tanh", "Mul", *before]
        assert favourites.starred == ("Tanh", "Mul")
        assert palette.tree.isExpanded(palette.tree.model().index(0, 0))
        self.star(qtbot, palette, "Tanh")
        self.star(qtbot, palette, "Mul")
        assert names(palette) == before
        assert chosen == []

    def test_ctrl_b_does_it_from_the_search_line_and_in_the_list(self, qtbot, palette, favourites):
        qtbot.keyClicks(palette.search_line, "relu")
        qtbot.keyClick(palette.search_line, Qt.Key.Key_B, CONTROL)
        assert favourites.starred == ("Relu",)
        assert names(palette).count("Relu") == 1
        qtbot.keyClick(palette.search_line, Qt.Key.Key_Down)
        second = palette.tree.currentIndex().data()
        qtbot.keyClick(palette.tree, Qt.Key.Key_B, CONTROL)
        assert favourites.starred == ("Relu", second)
        palette.search_line.clear()
        assert names(palette)[:2] == ["Relu", second]

    def test_of_names_that_fit_favourites_stand_first(self, qtbot, palette, favourites):
        qtbot.keyClicks(palette.search_line, "max")
        assert names(palette)[0] == "Max"
        favourites.toggle("Softmax")
        palette.search_line.setText("ma")
        assert names(palette)[0] == "Softmax"
        palette.search_line.setText("max")
        assert names(palette)[0] == "Max"

    def test_they_are_kept_and_shown_in_every_palette(self, qtbot, palette, favourites, settings):
        favourites.toggle("Exp")
        again = Favourites(settings)
        assert again.starred == ("Exp",)
        again.use("Mul")
        again.use("Add")
        again.use("Mul")
        assert Favourites(settings).used == ("Mul", "Add")
        assert names(palette)[0] == "Exp"

    def test_a_block_that_is_not_installed_any_more_is_not_listed(self, palette, favourites):
        before = names(palette)
        favourites.toggle("OfAPlugIn")
        assert names(palette) == before

    def test_a_family_has_no_star(self, palette):
        head = palette.tree.model().index(0, 0)
        assert head.data(STAR_ROLE) is None
        assert row_of(palette, "Mul").data(STAR_ROLE) is False


def _to_star(row):
    return QPoint(row.width() // 2 - 10, 0)
