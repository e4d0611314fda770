"""The choice of an engine in the editor."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.app.evaluation import worker as choosing
from gradwire.app.evaluation.evaluator import Evaluation
from gradwire.app.evaluation.worker import Engines, why_missing
from gradwire.runtime.build import build, loss, square, variable
from gradwire.runtime.build import sum as total
from gradwire.runtime.diagram import SetParameters, apply
from gradwire.runtime.engine.compilation import Compilation, listening, tell
from gradwire.runtime.engine.session import engines as opening


def model(start=(1.0, -2.0)):
    w = variable("w", [*start])
    return build(loss(total(square(w, name="squared") * 3.0), name="L"))


def by_jax(settings):
    settings.engine = "jax"
    return Engines(settings)


def show(window, qtbot, diagram):
    window.document._begin(diagram, None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)


@pytest.mark.night
def test_a_choice_is_kept_and_used(window, qtbot, settings):
    pytest.importorskip("jax")
    show(window, qtbot, model())
    actions, told = window.actions_by_name, []
    assert actions["engine_numpy"].isChecked() and window.settings.engine == "numpy"
    values = dict(window.evaluator.result.values)
    with listening(told.append):
        actions["engine_jax"].trigger()
        qtbot.waitUntil(lambda: bool(told) and not window.evaluator.busy)
    result = window.evaluator.result
    assert result.flow.flow.program is not None and result.error is None
    assert settings.engine == "jax" and actions["engine_jax"].isChecked()
    assert result.values is not values and result.values.keys() == values.keys()
    for name, value in values.items():
        np.testing.assert_allclose(result.values[name], value, rtol=1e-6)
    assert "Compiled for JAX in" in window.statusBar().currentMessage()
    other = window.windows.new()
    assert other.actions_by_name["engine_jax"].isChecked()
    actions["engine_numpy"].trigger()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert settings.engine == "numpy" and other.actions_by_name["engine_numpy"].isChecked()
    other.document.undo_stack.setClean()
    other.close()


def test_scrubbing_a_number_compiles_nothing(settings):
    pytest.importorskip("jax")
    evaluation, told = Evaluation(by_jax(settings)), []
    with listening(told.append):
        evaluation(model())
        assert told and told[-1].seconds is not None
        told.clear()
        for number in (1.5, 2.0, -7.25):
            result = evaluation(model((number, 3.0)))
            assert result.values["L.out"] == 3 * number**2 + 27
            assert result.gradients["w"].tolist() == [6 * number, 18]
        assert told == []
        evaluation(model((1.0, 2.0, 3.0)))
        assert told


def test_a_session_is_kept_where_its_engine_is_unfit(settings, monkeypatch):
    pytest.importorskip("jax")
    engines = by_jax(settings)
    monkeypatch.setattr(engines.open(), "unfit", lambda values: "it is too small", raising=False)
    evaluation = Evaluation(engines)
    result = evaluation(model())
    assert any("NumPy computes this diagram" in each.what for each in result.diagnostics)
    session = evaluation._session
    assert session.engine.name == "numpy"
    evaluation(model((3.0, 4.0)))
    assert evaluation._session is session


def test_numpy_takes_over_from_an_engine_that_can_not_be_opened(window, qtbot, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.extras.find_spec", lambda name: None)
    show(window, qtbot, model())
    window.actions_by_name["engine_jax"].setEnabled(True)
    window.actions_by_name["engine_jax"].trigger()
    qtbot.waitUntil(lambda: "not installed" in window.notice.text())
    assert "NumPy computes now." in window.notice.text()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert window.settings.engine == "numpy"
    assert window.actions_by_name["engine_numpy"].isChecked()
    result = window.evaluator.result
    assert result.error is None and result.values["L.out"] == 15.0


def test_a_package_that_is_broken_is_refused_too(settings, qtbot, monkeypatch):
    def fail(*how, **more):
        raise ImportError("cannot import name 'jaxlib'")

    monkeypatch.setattr(opening, "open_engine", fail)
    found, told = by_jax(settings), []
    found.refused.connect(told.append)
    monkeypatch.setattr(choosing, "_NUMPY", type("Numpy", (), {"name": "numpy", "open": dict})())
    assert found.open() == {}
    assert told == ["cannot import name 'jaxlib'"] and settings.engine == "numpy"


def test_an_unknown_engine_in_the_settings_is_numpy(settings):
    settings.engine = "abacus"
    assert Engines(settings).choice.name == Engines().open().name == "numpy"


def test_a_missing_engine_says_what_to_install(monkeypatch, window):
    monkeypatch.setattr("gradwire.runtime.extras.find_spec", lambda name: None)
    assert why_missing("numpy") == "" and why_missing("jax") == 'pip install "gradwire[jax]"'
    window.states.close_missing("jax")
    action = window.actions_by_name["engine_jax"]
    assert not action.isEnabled() and "gradwire[jax]" in action.toolTip()
    assert window.menus.by_name["engine"].toolTipsVisible()


def test_the_status_bar_tells_of_compiling(window, qtbot):
    status, bar = window.status, window.statusBar()
    window.evaluator.busyChanged.emit(True)
    tell(Compilation(1234))
    qtbot.waitUntil(lambda: status.busy.text() == "Compiling 1,234 operations for JAX …")
    tell(Compilation(1234, 1.0))
    assert status.busy.text() == "Computing …"
    assert bar.currentMessage() == "Compiled for JAX in 1 s"
    tell(Compilation(7))
    tell(Compilation(7, 0.25))
    assert bar.currentMessage() == "Compiled for JAX in 1.25 s"
    window.evaluator.busyChanged.emit(False)
    assert status.busy.text() == ""
    tell(Compilation(7))
    qtbot.waitUntil(lambda: status.busy.text() == "Compiling 7 operations for JAX …")
    tell(Compilation(7, 0.5))
    assert status.busy.text() == "" and bar.currentMessage() == "Compiled for JAX in 500 ms"


@pytest.mark.night
def test_training_uses_the_engine(window, qtbot):
    pytest.importorskip("jax")
    show(window, qtbot, model())
    window.actions_by_name["engine_jax"].trigger()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    sent = []
    begin = window.training.worker.begin
    window.training.worker.begin = lambda *given: sent.append(given[-1]) or begin(*given)
    window.actions_by_name["step"].trigger()
    qtbot.waitUntil(lambda: window.training.step_shown == 1 and not window.training.is_playing)
    assert [choice.name for choice in sent] == ["jax"]
    (w,) = (b for n, b in window.document.diagram.main.blocks.items() if n == "w")
    assert w.value.array.tolist() == pytest.approx([1 - 0.1 * 6, -2 + 0.1 * 12])


def test_an_edit_of_a_parameter_reaches_the_compiled_program(settings):
    pytest.importorskip("jax")
    evaluation, diagram = Evaluation(by_jax(settings)), model()
    evaluation(diagram)
    edited = apply(diagram, SetParameters("w", {"value": [2.0, 0.0]})).after
    assert evaluation(edited).values["L.out"] == 12.0
