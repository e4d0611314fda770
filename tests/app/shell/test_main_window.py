"""The window as a whole: what one part says reaches the others, and nothing is lost."""

import gc
import weakref

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QImage, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QInputDialog, QLabel, QMessageBox

from gradwire.app.panels.dialogs.export_sheet import ExportSheet
from gradwire.app.services import theme
from gradwire.app.services.examples import ExampleGroup, examples
from gradwire.app.services.settings import Settings
from gradwire.app.services.translation import editor
from gradwire.app.shell.actions.table import COMMANDS
from gradwire.app.shell.main_window import MainWindow
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.build import build, log, loss, mean, mul, stop_gradient, variable
from gradwire.runtime.diagram import (
    AddBlock,
    Diagram,
    MoveBlocks,
    Page,
    Point,
    PortName,
    SetParameters,
    load,
    save,
)
from tests.app.closing import give_up
from tests.app.mouse import LEFT, click_block, double_click, drop, drop_file, palette_row, retype

Button = QMessageBox.StandardButton


def seed() -> Diagram:
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    return build(loss(stop_gradient(3 * b, name="stop") + a), title="Seed")


def nested() -> Diagram:
    """A page ``twice`` (out = x + x, stopped) in use as ``enc``; its inner wire is stopped."""
    wires = {
        "main": {"enc.x": "w.out", "loss.x": "enc.y"},
        "twice": {"add.a": "x.out", "add.b": "x.out", "stop.x": "add.out", "y.x": "stop.out"},
    }
    blocks = {
        "main": {"w": Variable(value=[1.0]), "enc": PageBlock(page="twice"), "loss": Loss()},
        "twice": {"x": PageInput(), "add": Add(), "stop": StopGradient(), "y": PageOutput()},
    }
    parse = PortName.parse
    return Diagram(
        {
            name: Page(
                blocks[name],
                {parse(target): parse(source) for target, source in wires[name].items()},
                {block: Point(200.0 * i, 0.0) for i, block in enumerate(blocks[name])},
            )
            for name in blocks
        }
    )


@pytest.fixture
def opened(window, qtbot, tmp_path):
    """Opens a diagram as a file, and waits for its result."""

    def open_diagram(diagram):
        path = tmp_path / "diagram.gradwire.json"
        save(diagram, path)
        assert window.open_path(path)
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        return window

    return open_diagram


def answer(button):
    """Presses a button of the question that is about to be asked."""
    asked = []

    def press():
        box = QApplication.activeModalWidget()
        asked.append(box.text())
        box.button(button).click()

    QTimer.singleShot(0, press)
    return asked


def names(window):
    return list(window.document.diagram.main.blocks)


class TestActions:
    def test_every_row_can_be_done_and_says_what_it_does(self, window):
        for name in COMMANDS:
            action = window.actions_by_name[name]
            assert action.statusTip()
            assert action.text()

    def test_no_two_actions_have_the_same_keys(self, window):
        keys = [
            action.shortcut().toString()
            for action in window.actions_by_name.values()
            if not action.shortcut().isEmpty()
        ]
        assert len(keys) == len(set(keys))

    def test_menus_come_in_their_order(self, window):
        titles = [action.text() for action in window.menuBar().actions()]
        assert titles == ["&File", "&Edit", "&View", "&Run", "&Help"]

    def test_what_can_not_be_done_is_disabled(self, window, opened):
        by_name = window.actions_by_name
        assert not by_name["undo"].isEnabled()
        assert not by_name["delete"].isEnabled()
        assert not by_name["leave_page"].isEnabled()
        opened(seed())
        window.canvas.select({"a"})
        assert by_name["delete"].isEnabled()
        assert by_name["rename"].isEnabled()
        window.canvas.select({"a", "b"})
        assert not by_name["rename"].isEnabled()

    def test_undo_says_what_it_takes_back(self, window):
        window.edit.change(AddBlock("c", Add()))
        undo = window.actions_by_name["undo"]
        assert undo.text() == "&Undo Add c"
        undo.trigger()
        assert window.actions_by_name["redo"].text() == "&Redo Add c"
        assert names(window) == []

    def test_translations_are_asked_for(self, window, monkeypatch):
        monkeypatch.setattr(
            "gradwire.app.services.translation.QCoreApplication.translate",
            lambda context, text: f"{context}:{text}",
        )
        assert editor.tr("&File") == "editor:&File"


class TestEditing:
    def test_a_block_from_the_palette_comes_where_the_canvas_looks(self, window, qtbot):
        tree = window.palette_panel.tree
        at = tree.visualRect(palette_row(window, "Variable")).center()
        for _ in range(2):
            double_click(tree.viewport(), at)
        assert names(window) == ["variable1", "variable2"]
        one, two = (window.canvas.block_rect(name) for name in names(window))
        assert window.canvas.rect().contains(one)
        assert one.topLeft() != two.topLeft()
        assert window.canvas.selection() == {"variable2"}

    def test_delete_in_a_field_deletes_text_and_on_the_canvas_the_block(
        self, window, opened, qtbot
    ):
        opened(seed())
        click_block(qtbot, window, "a")
        line = window.inspector.form.name_line
        line.setFocus()
        line.setCursorPosition(0)
        qtbot.keyClick(line, Qt.Key.Key_Delete)
        assert "a" in names(window)
        qtbot.keyClick(line, Qt.Key.Key_Escape)
        line.setText("a")
        click_block(qtbot, window, "a")
        window.canvas.setFocus()
        qtbot.keyClick(window.canvas, Qt.Key.Key_Delete)
        assert "a" not in names(window)

    def test_a_selected_wire_is_deleted(self, window, opened, qtbot):
        opened(seed())
        qtbot.mouseClick(window.canvas, LEFT, pos=window.canvas.wire_position("loss.x"))
        window.actions_by_name["delete"].trigger()
        assert PortName("loss", "x") not in window.document.diagram.main.wires

    def test_duplicates_keep_the_wires_among_them_and_are_one_undo(self, window, opened):
        opened(seed())
        before = window.document.diagram
        window.canvas.select({"b", "mul1"})
        window.actions_by_name["duplicate"].trigger()
        page = window.document.diagram.main
        assert window.canvas.selection() == {"b2", "mul2"}
        assert page.wires[PortName("mul2", "b")] == PortName("b2", "out")
        assert page.blocks["mul2"].literals == page.blocks["mul1"].literals
        window.actions_by_name["undo"].trigger()
        assert window.document.diagram is before

    def test_a_renamed_block_stays_selected_and_in_the_inspector(self, window, opened, qtbot):
        opened(seed())
        click_block(qtbot, window, "a")
        retype(qtbot, window.inspector.form.name_line, "alpha")
        assert window.canvas.selection() == {"alpha"}
        assert window.inspector.form.name == "alpha"

    def test_an_edited_value_shows_in_the_variables(self, window, opened, qtbot):
        opened(seed())
        click_block(qtbot, window, "b")
        retype(qtbot, window.inspector.form.fields["value"].text, "[[10, 20]]")
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        table = window.variables.table
        rows = {table.names[i]: table.index(i, 2).data() for i in range(table.rowCount())}
        assert rows["b"] == "[[10, 20]]"
        assert window.evaluator.result.values["loss.out"].tolist() == [[31.0, 62.0]]

    def test_select_all_and_arrange(self, window, opened):
        opened(seed())
        window.actions_by_name["select_all"].trigger()
        assert window.canvas.selection() == frozenset(names(window))
        window.edit.change(MoveBlocks({"a": Point(5000.0, 5000.0)}))
        window.actions_by_name["arrange"].trigger()
        assert window.document.diagram.main.layout["a"] != Point(5000.0, 5000.0)

    def test_only_the_selected_blocks_are_arranged(self, window, opened):
        opened(seed())
        far = {"b": Point(700.0, 900.0), "mul1": Point(100.0, 900.0), "a": Point(3.0, 4.0)}
        window.edit.change(MoveBlocks(far))
        window.canvas.select({"b", "mul1"})
        window.actions_by_name["arrange"].trigger()
        layout = window.document.diagram.main.layout
        assert layout["a"] == Point(3.0, 4.0)
        assert layout["b"].x < layout["mul1"].x
        window.document.undo_stack.undo()
        assert window.document.diagram.main.layout["b"] == far["b"]

    def test_rename_opens_the_field_on_the_face(self, window, opened, qtbot):
        opened(seed())
        window.canvas.setFocus()
        window.canvas.select({"a"})
        window.actions_by_name["rename"].trigger()
        field = window.canvas.focusWidget() or QApplication.focusWidget()
        field.selectAll()
        qtbot.keyClicks(field, "theta")
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert "theta" in names(window)
        assert window.canvas.selection() == {"theta"}

    def test_a_refused_change_is_told_and_the_next_one_takes_the_message_away(self, window, opened):
        opened(seed())
        assert not window.edit.change(AddBlock("a", Add()))
        assert window.notice.isVisible()
        assert "already" in window.notice.text()
        window.edit.change(AddBlock("c", Add()))
        assert not window.notice.isVisible()


class TestRunning:
    def test_a_gradient_step_is_one_undo_and_leaves_what_has_no_gradient(
        self, window, opened, qtbot, monkeypatch
    ):
        opened(seed())
        monkeypatch.setattr(QInputDialog, "getDouble", lambda *a, **k: (0.5, True))
        window.actions_by_name["rate"].trigger()
        before = window.document.diagram
        window.actions_by_name["step"].trigger()
        qtbot.waitUntil(lambda: window.training.step_shown == 1)
        page = window.document.diagram.main
        assert page.blocks["a"].value.array.tolist() == [[0.5, 1.5]]
        assert page.blocks["b"] == before.main.blocks["b"]
        window.actions_by_name["undo"].trigger()
        assert window.document.diagram is before
        qtbot.waitUntil(lambda: window.training.step_shown == 0)

    def test_a_step_that_can_not_be_made_is_told(self, window, qtbot):
        window.edit.change(AddBlock("v", Variable(value=[1.0, 2.0])))
        window.actions_by_name["step"].trigger()
        qtbot.waitUntil(lambda: "The training can't begin." in window.training.bar.text())
        qtbot.waitUntil(lambda: not window.evaluator.busy)

    def test_evaluate_runs_again(self, window, opened, qtbot):
        opened(seed())
        before = window.evaluator.result
        with qtbot.waitSignal(window.evaluator.resultChanged):
            window.actions_by_name["evaluate"].trigger()
        assert window.evaluator.result is not before

    def test_losses_stand_in_the_status_bar(self, window, opened):
        opened(seed())
        assert "loss 6" in [label.text() for label in window.statusBar().findChildren(QLabel)]


def nan_of_a_logarithm():
    """The logarithm of −1, whose NaN the loss takes on; gradients behind it are finite."""
    logs = log(variable("x", [-1.0, 4.0]), name="logs")
    return build(loss(mean(mul(logs, 2.0, name="double"))))


class TestProblemsAndReasons:
    def test_a_click_on_a_problem_selects_its_block(self, window, opened, qtbot):
        opened(Diagram({"main": Page({"far": Mul(), "a": Variable(value=1.0)})}))
        table = window.problems
        assert "Problems (" in window.docks.by_name["problems"].windowTitle()
        rows = [table.table.index(row, 1).data() for row in range(table.table.rowCount())]
        row = next(i for i, place in enumerate(rows) if place.startswith("far"))
        window.docks.by_name["problems"].raise_()
        at = table.visualRect(table.table.index(row, 2)).center()
        qtbot.mouseClick(table.viewport(), LEFT, pos=at)
        assert window.canvas.selection() == {"far"}
        assert "far" in [window.inspector.form.name]

    def test_a_value_that_is_nan_is_a_problem_of_its_block(self, window, opened, qtbot):
        opened(nan_of_a_logarithm())
        table = window.problems
        places = [table.table.index(row, 1).data() for row in range(table.table.rowCount())]
        (row,) = [at for at, place in enumerate(places) if place == "logs"]
        assert table.table.index(row, 2).data() == (
            "logs is NaN: log of −1 (element 0 of x). That is why loss is not finite. "
            "Keep its input above 0: clip it, or make it positive with Softmax or Softplus."
        )
        window.docks.by_name["problems"].raise_()
        at = table.visualRect(table.table.index(row, 2)).center()
        qtbot.mouseClick(table.viewport(), LEFT, pos=at)
        assert window.canvas.selection() == {"logs"}

    def test_a_wire_that_carries_nan_names_its_origin(self, window, opened):
        opened(nan_of_a_logarithm())
        window.canvas.select_wire("double.a")
        assert "Carries" in window.why.text()
        (label,) = [
            label for label in window.why.findChildren(QLabel) if "is NaN: log of" in label.text()
        ]
        label.linkActivated.emit("logs")
        assert window.canvas.selection() == {"logs"}
        window.canvas.select_wire("logs.x")
        assert "is NaN: log of" in window.why.text()
        assert "Value," in window.why.text()

    def test_the_reason_links_to_the_block_that_cuts(self, window, opened, qtbot):
        opened(seed())
        window.canvas.select_wire("mul1.b")
        assert "Stopped" in window.why.text()
        (sentence, *_) = [
            label for label in window.why.findChildren(QLabel) if 'href="stop"' in label.text()
        ]
        sentence.linkActivated.emit("stop")
        assert window.canvas.selection() == {"stop"}
        window.canvas.select_wire(None)
        assert "Click a wire" in window.why.text()

    def test_a_click_on_a_variable_selects_it(self, window, opened, qtbot):
        opened(seed())
        table = window.variables
        assert table.table.index(1, 3).data().startswith("None — stop")
        at = table.visualRect(table.table.index(1, 0)).center()
        qtbot.mouseClick(table.viewport(), LEFT, pos=at)
        assert window.canvas.selection() == {"b"}

    def test_a_wire_with_numbers_shows_them(self, window, opened):
        opened(seed())
        window.canvas.select_wire("add1.b")
        assert "rms 1" in window.why.text()
        assert "1 × 2 · float32" in window.why.text()


class TestPages:
    def test_a_double_click_enters_and_the_breadcrumb_leads_back(self, window, opened, qtbot):
        opened(nested())
        assert not window.breadcrumbs.isVisible()
        face = window.canvas.block_rect("enc")
        double_click(window.canvas, face.center())
        assert window.navigation.page == "twice"
        assert window.breadcrumbs.isVisible()
        assert window.actions_by_name["leave_page"].isEnabled()
        window.canvas.select_wire("stop.x")
        assert "Stopped" in window.why.text()
        window.canvas.select({"add"})
        assert "float32" in "".join(x.text() for x in window.inspector.findChildren(QLabel))
        main = window.breadcrumbs.layout().itemAt(0).widget()
        qtbot.mouseClick(main, LEFT)
        assert window.navigation.page == "main"
        assert not window.breadcrumbs.isVisible()

    def test_an_edit_leaves_the_breadcrumbs_and_reads_no_recent_files(
        self, window, opened, monkeypatch
    ):
        opened(nested())
        window.navigation.go(("enc",))
        shown = window.breadcrumbs.layout().itemAt(0).widget()
        monkeypatch.setattr(Settings, "recent", property(lambda settings: pytest.fail("read")))
        window.document.apply(SetParameters("w", {"value": [2.0]}))
        assert window.breadcrumbs.layout().itemAt(0).widget() is shown

    def test_edits_inside_a_page_go_to_that_page(self, window, opened):
        opened(nested())
        window.navigation.enter("enc")
        window.edit.add_block("Tanh")
        assert "tanh1" in window.document.diagram.pages["twice"].blocks
        assert "tanh1" not in names(window)
        window.canvas.select({"tanh1"})
        window.actions_by_name["delete"].trigger()
        assert "tanh1" not in window.document.diagram.pages["twice"].blocks

    def test_a_reason_inside_a_page_leads_there(self, window, opened):
        opened(nested())
        window.reveal.path("enc/stop")
        assert window.navigation.trail == ("enc",)
        assert window.canvas.selection() == {"stop"}
        window.actions_by_name["leave_page"].trigger()
        assert window.navigation.trail == ()

    def test_undoing_the_page_away_leads_out_of_it(self, window, opened):
        opened(nested())
        window.edit.change(AddBlock("again", PageBlock(page="twice")))
        window.navigation.enter("again")
        window.actions_by_name["undo"].trigger()
        assert window.navigation.trail == ()


class TestFiles:
    def test_the_title_has_the_file_and_the_mark(self, window, opened):
        assert window.windowTitle() == "Untitled[*] — Gradwire"
        opened(seed())
        assert window.windowTitle() == "diagram.gradwire.json[*] — Gradwire"
        assert not window.isWindowModified()
        window.edit.change(AddBlock("c", Add()))
        assert window.isWindowModified()
        window.actions_by_name["undo"].trigger()
        assert not window.isWindowModified()

    def test_cancel_keeps_the_window_open(self, window):
        window.edit.change(AddBlock("c", Add()))
        asked = answer(Button.Cancel)
        assert not window.close()
        assert window.isVisible()
        assert "Untitled" in asked[0]

    def test_discard_closes(self, window):
        window.edit.change(AddBlock("c", Add()))
        answer(Button.Discard)
        assert window.close()

    def test_save_saves_and_closes(self, window, opened):
        opened(seed())
        window.edit.change(AddBlock("c", Add()))
        answer(Button.Save)
        assert window.close()
        assert "c" in load(window.document.path).main.blocks

    def test_a_name_that_is_being_written_is_asked_about_too(self, window, opened, qtbot):
        opened(seed())
        qtbot.waitUntil(window.isActiveWindow)
        window.canvas.inline_editor.edit_name("loss")
        QTest.keyClicks(QApplication.focusWidget(), "end")
        answer(Button.Save)
        assert window.close()
        assert "end" in load(window.document.path).main.blocks

    def test_a_closed_window_tells_nobody_of_its_canvas(self, window, qtbot):
        told = []
        window.canvas.selectionChanged.connect(told.append)
        window.edit.change(AddBlock("c", Add()))
        answer(Button.Discard)
        assert window.close()
        window.canvas.select(["c"])
        assert told == []

    def test_a_save_that_is_given_up_keeps_the_window_open(self, window, monkeypatch):
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: ("", ""))
        window.edit.change(AddBlock("c", Add()))
        answer(Button.Save)
        assert not window.close()
        assert window.isVisible()

    def test_a_save_that_fails_keeps_the_window_open(self, window, tmp_path, monkeypatch):
        nowhere = str(tmp_path / "no" / "such" / "folder")
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (nowhere, ""))
        window.edit.change(AddBlock("c", Add()))
        answer(Button.Save)
        assert not window.close()
        assert "was not saved" in window.notice.text()

    def test_a_name_without_an_ending_gets_one(self, window, tmp_path, monkeypatch):
        monkeypatch.setattr(
            QFileDialog, "getSaveFileName", lambda *a, **k: (str(tmp_path / "mine"), "")
        )
        window.actions_by_name["save_as"].trigger()
        assert (tmp_path / "mine.gradwire.json").exists()
        assert [path.name for path in window.settings.recent] == ["mine.gradwire.json"]

    def test_new_asks_first(self, window, opened):
        opened(seed())
        window.edit.change(AddBlock("c", Add()))
        answer(Button.Cancel)
        window.actions_by_name["new"].trigger()
        assert "c" in names(window)
        answer(Button.Discard)
        window.actions_by_name["new"].trigger()
        assert names(window) == []
        assert window.welcome.isVisible()

    def test_open_asks_for_a_file(self, window, tmp_path, monkeypatch):
        path = tmp_path / "x.gradwire.json"
        save(seed(), path)
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(path), ""))
        window.actions_by_name["open"].trigger()
        assert window.document.path == path
        assert window.settings.recent == [path.resolve()]

    def test_a_broken_file_is_told_and_what_is_open_stays(self, window, opened, tmp_path):
        opened(seed())
        broken = tmp_path / "broken.gradwire.json"
        broken.write_text("{", encoding="utf-8")
        assert not window.open_path(broken)
        assert "broken.gradwire.json" in window.notice.text()
        assert "a" in names(window)
        assert window.settings.recent[0].name == "diagram.gradwire.json"

    def test_a_dropped_file_is_opened(self, window, qtbot, tmp_path):
        path = tmp_path / "dropped.gradwire.json"
        save(seed(), path)
        assert drop_file(window, path)
        qtbot.waitUntil(lambda: window.document.path == path)

    def test_other_files_are_not_taken(self, window, tmp_path):
        path = tmp_path / "picture.png"
        path.touch()
        assert not drop_file(window, path)

    def test_recent_files_are_in_the_menu(self, window, opened, qtbot):
        opened(seed())
        menu = window.menus.by_name["recent"]
        menu.aboutToShow.emit()
        assert [action.text() for action in menu.actions()] == ["diagram.gradwire.json"]
        window.actions_by_name["new"].trigger()
        menu.aboutToShow.emit()
        menu.actions()[0].trigger()
        assert "a" in names(window)

    @pytest.mark.parametrize("ending", ["svg", "png"])
    def test_the_page_is_exported_as_a_picture(self, window, opened, tmp_path, monkeypatch, ending):
        opened(seed())
        path = tmp_path / f"page.{ending}"
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(path), ""))
        window.actions_by_name["export"].trigger()
        (sheet,) = window.findChildren(ExportSheet)
        sheet.export.click()
        if ending == "svg":
            assert path.read_text(encoding="utf-8").count("<path") > 10
        else:
            image = QImage(str(path))
            colours = {image.pixel(x, y) for x in range(0, image.width(), 7)
                       for y in range(0, image.height(), 7)}  # fmt: skip
            assert image.width() > 500
            assert len(colours) > 3

    def test_a_picture_that_can_not_be_written_is_told(self, window, tmp_path, monkeypatch):
        for ending in ("svg", "png"):
            path = str(tmp_path / "no" / f"page.{ending}")
            monkeypatch.setattr(
                QFileDialog, "getSaveFileName", lambda *a, path=path, **k: (path, "")
            )
            window.actions_by_name["export"].trigger()
            next(
                each for each in window.findChildren(ExportSheet) if each.isVisible()
            ).export.click()
            assert "was not written" in window.notice.text()
            window.notice.dismiss()


class TestWelcome:
    def test_it_offers_every_example_and_opens_a_copy(self, window, qtbot):
        assert examples()
        versions = [version for card in window.welcome.cards for version in card.versions]
        assert {v.path for v in versions} == {example.path for example in examples()}
        (first,) = [e for e in examples() if e.path == versions[0].path]
        QTest.mouseClick(window.welcome.cards[0].picture, Qt.MouseButton.LeftButton)
        assert window.document.diagram.title == first.title
        assert window.document.path is None
        assert not window.welcome.isVisible()
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert window.evaluator.result.error is None

    def test_the_help_menu_has_them_too(self, window):
        groups = [action.menu() for action in window.menus.by_name["examples"].actions()]
        for group in (*groups, *groups):
            group.aboutToShow.emit()
        titles = [action.text() for group in groups for action in group.actions()]
        assert sorted(titles) == sorted(example.title for example in examples())
        assert titles[0] == next(e for e in examples() if e.group is ExampleGroup.TRAINING).title

    def test_what_is_dropped_on_it_reaches_the_canvas(self, window):
        row = palette_row(window, "Variable")
        assert drop(window.welcome, row.model().mimeData([row]), QPoint(5, 5))
        assert names(window) == ["variable1"]
        assert not window.welcome.isVisible()


class TestLooks:
    @pytest.mark.night
    @pytest.mark.parametrize(
        ("action", "chosen"),
        [("light", theme.LIGHT), ("dark", theme.DARK), ("high_contrast", theme.HIGH_CONTRAST)],
    )
    def test_a_theme_is_chosen_and_remembered(self, window, settings, action, chosen):
        window.actions_by_name[f"theme_{action}"].trigger()
        assert settings.theme == chosen.name
        assert window.actions_by_name[f"theme_{action}"].isChecked()
        ground = window.canvas.grab().toImage().pixelColor(3, 3).name()
        assert ground == chosen.canvas

    def test_the_system_s_theme_is_the_start(self, window, settings):
        window.actions_by_name["theme_system"].trigger()
        assert settings.theme == "system"
        assert window.actions_by_name["theme_system"].isChecked()

    def test_the_zoom_is_shown_and_changed(self, window, opened):
        opened(seed())
        window.actions_by_name["zoom_actual"].trigger()
        shown = [label.text() for label in window.statusBar().findChildren(QLabel)]
        assert "100 %" in shown
        window.actions_by_name["zoom_in"].trigger()
        assert window.canvas.zoom() == pytest.approx(1.25)
        window.actions_by_name["zoom_out"].trigger()
        window.actions_by_name["zoom_out"].trigger()
        assert window.canvas.zoom() == pytest.approx(0.8)
        window.canvas.select({"a"})
        window.actions_by_name["zoom_selection"].trigger()
        window.actions_by_name["zoom_fit"].trigger()
        for name in names(window):
            assert window.canvas.rect().contains(window.canvas.block_rect(name))

    def test_the_legend_comes_and_goes(self, window):
        legend = window.actions_by_name["legend"]
        legend.trigger()
        assert window.canvas.legend.isVisible()
        legend.trigger()
        assert not window.canvas.legend.isVisible()

    def test_a_click_puts_the_legend_away_and_the_menu_knows(self, window):
        legend = window.actions_by_name["legend"]
        legend.trigger()
        QTest.mouseClick(window.canvas.legend, Qt.MouseButton.LeftButton)
        assert not window.canvas.legend.isVisible()
        assert not legend.isChecked()

    def test_the_arrangement_is_remembered(self, qtbot, settings, window):
        window.docks.by_name["palette"].hide()
        window.close()
        again = MainWindow(settings)
        qtbot.addWidget(again)
        again.show()
        assert not again.docks.by_name["palette"].isVisible()
        again.close()

    def test_about_names_the_version(self, window, monkeypatch):
        shown = []
        monkeypatch.setattr(QMessageBox, "about", lambda parent, title, text: shown.append(text))
        window.actions_by_name["about"].trigger()
        assert "Gradwire" in shown[0]

    def test_keys_of_the_table_are_standard(self):
        standard = {c.name: QKeySequence(c.shortcut) for c in COMMANDS.values() if c.shortcut}
        assert standard["undo"] == QKeySequence("Ctrl+Z")
        assert standard["save"] == QKeySequence("Ctrl+S")


def lived_in(qtbot, settings) -> MainWindow:
    """A window in which something was done."""
    window = MainWindow(settings)
    window.show()
    window.document._begin(seed(), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.select({"a"})
    window.canvas.select_wire("stop.x")
    return window


@pytest.mark.night
def test_a_closed_window_leaves_nothing_behind(qtbot, settings):
    window = lived_in(qtbot, settings)
    parts = window.document, window.canvas, window.inspector, window.evaluator.result
    kept = [weakref.ref(part) for part in parts]
    assert window.close()
    window.deleteLater()
    del window, parts
    qtbot.wait(20)
    gc.collect()
    assert [part() for part in kept] == [None] * 4


def test_a_first_window_fits_the_screen(qtbot, settings):
    """Or the buttons below the panels could not be reached."""
    made = MainWindow(settings)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    made.show()
    qtbot.waitExposed(made)
    room, size = made.screen().availableSize(), made.frameSize()
    assert size.width() <= room.width() and size.height() <= room.height()
    give_up(made)


def test_the_panel_of_lessons_asks_for_a_prediction_where_it_is_opened_first(qtbot, settings):
    window = MainWindow(settings)
    window.resize(1300, 850)
    window.show()
    qtbot.waitExposed(window)
    assert not window.learn.count()
    window.docks.bring_up("learn")
    qtbot.waitUntil(lambda: window.learn.currentWidget() is not None)
    assert window.learn.currentWidget() is window.lazy.predict.panel
    assert window.lazy.predict.panel.isVisible()
    give_up(window)


@pytest.mark.night
@pytest.mark.parametrize("size", theme.TEXT_SIZES)
def test_the_panel_of_lessons_takes_the_same_room_before_it_is_filled(qtbot, settings, size):
    settings.text = size
    window = MainWindow(settings)
    before = window.learn.sizeHint(), window.learn.minimumSizeHint()
    assert window.lazy.predict.panel is not window.lazy.player.panel
    after = window.learn.sizeHint(), window.learn.minimumSizeHint()
    for taken, needed in zip(before, after, strict=True):
        assert abs(taken.width() - needed.width()) <= 2
        assert abs(taken.height() - needed.height()) <= 6
    give_up(window)
