"""Thresholds chosen in the window: lanes and legend follow, and settings keep them."""

import pytest
from PySide6.QtCore import Qt

from gradwire.app.canvas.paint.legend import legend_content
from gradwire.app.canvas.state.lanes import STATE_OF
from gradwire.app.evaluation.evaluator import Evaluation, evaluate
from gradwire.app.panels.dialogs.thresholds import ThresholdsDialog
from gradwire.app.services.settings import Settings
from gradwire.runtime.build import build, loss, relu, variable
from gradwire.runtime.flow import State, Thresholds
from tests.app.mouse import LEFT, retype


def scaled():
    """2,000 comes back over mul1.a, half zeros over gate.x."""
    x, y = variable("x", [1.0]), variable("y", [1.0, -1.0])
    return build(loss(x * 2000.0, name="big"), loss(relu(y, name="gate"), name="L"))


@pytest.fixture
def window(opened):
    return opened(scaled())


@pytest.fixture
def dialog(window, qtbot):
    window.actions_by_name["thresholds"].trigger()
    found = window.findChild(ThresholdsDialog)
    qtbot.waitExposed(found)
    yield found
    found.close()


def lane(window, key):
    view = window.canvas.view
    return STATE_OF[int(view.annotations.total.codes[view.scene.wire_index[key]])]


def settled(qtbot, window):
    qtbot.waitUntil(lambda: not window.evaluator.busy)


class TestDialog:
    @pytest.mark.night
    def test_it_shows_those_in_force(self, dialog):
        assert dialog.fields["vanishing"].text() == "1e-07"
        assert dialog.fields["partial"].text() == "0.1"

    def test_lanes_legend_and_settings_follow_at_once(self, window, dialog, qtbot):
        assert lane(window, "mul1.a") is State.CARRIES
        retype(qtbot, dialog.fields["exploding"], "1000")
        settled(qtbot, window)
        assert lane(window, "mul1.a") is State.EXPLODING
        assert legend_content(window.canvas.view.annotations).thresholds.exploding == 1000.0
        assert window.settings.thresholds == Thresholds(exploding=1000.0)
        assert dialog.isVisible(), "Enter takes the number and leaves the dialog open"

    def test_another_share_of_zeros(self, window, dialog, qtbot):
        assert lane(window, "gate.x") is State.PARTIAL
        retype(qtbot, dialog.fields["partial"], "0.6")
        settled(qtbot, window)
        assert lane(window, "gate.x") is State.CARRIES

    def test_nothing_is_run_for_it(self, window, dialog, qtbot, monkeypatch):
        monkeypatch.setattr(Evaluation, "__call__", lambda *given: 1 / 0)
        retype(qtbot, dialog.fields["exploding"], "1000")
        settled(qtbot, window)
        assert lane(window, "mul1.a") is State.EXPLODING

    def test_what_is_no_threshold_is_not_taken(self, window, dialog, qtbot):
        for text in ("-1", "0", "nan", "inf", "much"):
            retype(qtbot, dialog.fields["vanishing"], text)
            assert window.settings.thresholds == Thresholds()
            assert "a number above 0" in dialog.error.text()
        retype(qtbot, dialog.fields["vanishing"], "2e-6")
        assert dialog.error.isHidden()
        assert window.settings.thresholds.vanishing == 2e-6

    def test_defaults_come_back(self, window, dialog, qtbot):
        retype(qtbot, dialog.fields["exploding"], "1000")
        settled(qtbot, window)
        qtbot.mouseClick(dialog.defaults, LEFT)
        settled(qtbot, window)
        assert dialog.fields["exploding"].text() == "10000"
        assert lane(window, "mul1.a") is State.CARRIES

    def test_escape_closes_it(self, dialog, qtbot):
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        assert not dialog.isVisible()

    def test_the_doctor_looks_again(self, window, dialog, qtbot):
        window.docks.by_name["doctor"].raise_()
        worker = window.doctor.worker
        qtbot.waitUntil(lambda: not worker.is_pending("doctor"))
        assert not window.doctor.panel.causes
        retype(qtbot, dialog.fields["exploding"], "1000")
        settled(qtbot, window)
        qtbot.waitUntil(lambda: bool(window.doctor.panel.causes))


class TestKept:
    def test_they_are_there_the_next_time(self, settings):
        settings.thresholds = Thresholds(exploding=5.0, cancels=0.25)
        settings.store.sync()
        assert Settings(settings.store).thresholds == Thresholds(exploding=5.0, cancels=0.25)

    def test_older_names_are_read_until_newer_ones_are_kept(self, settings):
        settings.store.setValue("thresholds/flood", "7")
        settings.store.setValue("thresholds/faint_relative", "0.25")
        assert settings.thresholds == Thresholds(exploding=7.0, vanishing_relative=0.25)
        settings.thresholds = Thresholds(exploding=8.0)
        assert settings.thresholds == Thresholds(exploding=8.0)

    @pytest.mark.parametrize("stored", ["much", "-1", "nan", "inf", ""])
    def test_what_is_of_no_use_is_the_default(self, settings, stored):
        settings.store.setValue("thresholds/exploding", stored)
        assert settings.thresholds == Thresholds()

    def test_a_new_window_judges_by_them(self, settings, qtbot, opened):
        settings.thresholds = Thresholds(exploding=1000.0)
        window = opened(scaled())
        assert lane(window, "mul1.a") is State.EXPLODING


def test_a_result_is_judged_anew():
    result = evaluate(scaled())
    assert result.states["mul1.a"] is State.CARRIES
    other = result.judged(Thresholds(exploding=1000.0))
    assert other.states["mul1.a"] is State.EXPLODING
    assert "Grows ×2000" in other.verdict("mul1.a").sentence
    assert other.values is result.values
    assert result.states["mul1.a"] is State.CARRIES
