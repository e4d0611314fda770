import pytest
from PySide6.QtCore import QModelIndex, Qt

from app import theme
from app.canvas import BLOCK_MIME
from app.panels.palette import Palette, tooltip
from app.panels.rows import BLOCK_ROLE
from blocks.library.activations import Softmax
from blocks.registry import registry


@pytest.fixture
def palette(qtbot):
    made = Palette(registry())
    made.set_theme(theme.LIGHT)
    made.resize(240, 600)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


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


def test_it_has_every_block_in_the_order_of_the_library(palette):
    families = registry().families()
    assert names(palette) == [cls.type_name() for f in families.values() for cls in f]


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
    viewport = palette.tree.viewport()
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=at)
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
