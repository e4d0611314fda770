"""The tool bar: labels, icons in the colours of the theme, the doctor's count, and hiding it."""

import pytest
from PySide6.QtCore import QSize, Qt

from gradwire.app.panels.bars.toolbar import TOOLS, tool_icon
from gradwire.app.services import theme
from gradwire.app.services.settings import Settings
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import SetParameters
from tests.together import together

LEFT = Qt.MouseButton.LeftButton


def stopped():
    return build(loss(stop_gradient(variable("b", [1.0]), name="stop") * variable("a", [2.0])))


def colours(icon, ratio=1.0):
    picture = icon.pixmap(QSize(17, 17), ratio).toImage()
    return picture, {
        picture.pixelColor(x, y).name()
        for x in range(picture.width())
        for y in range(picture.height())
        if picture.pixelColor(x, y).alpha() == 255
    }


def test_each_tool_has_a_label_an_icon_and_a_tip(window):
    for name, tool in TOOLS.items():
        button = window.toolbar.buttons[name]
        assert button.text() == tool.label
        assert not button.icon().isNull()
        assert button.toolTip()
        assert button.focusPolicy() & Qt.FocusPolicy.TabFocus


@pytest.mark.night
@together("chosen", theme.THEMES.values(), ids=lambda chosen: chosen.name)
@together("name", [tool.icon for tool in TOOLS.values()])
def test_icons_have_the_ink_of_the_theme_and_are_drawn_for_every_screen(qapp, name, chosen):
    for ratio in (1.0, 1.5, 2.0):
        picture, seen = colours(tool_icon(name, chosen), ratio)
        assert picture.width() == round(17 * ratio)
        assert seen <= {chosen.ink_soft}
    assert chosen.warning in colours(tool_icon(name, chosen, marked=True), 2.0)[1]


def test_a_click_does_the_action(opened, qtbot):
    window = opened(stopped())
    window.canvas.set_zoom(5.0)
    qtbot.mouseClick(window.toolbar.buttons["zoom_fit"], LEFT)
    assert window.canvas.zoom() <= 2.0 * window.canvas.actual_zoom()
    with qtbot.waitSignal(window.evaluator.resultChanged):
        qtbot.mouseClick(window.toolbar.buttons["evaluate"], LEFT)


def test_the_doctor_is_counted_although_its_panel_is_closed(opened, qtbot):
    window = opened(stopped())
    window.docks.by_name["doctor"].hide()
    button = window.toolbar.buttons["doctor"]
    qtbot.waitUntil(lambda: button.text() == "Doctor 1")
    qtbot.mouseClick(button, LEFT)
    assert window.docks.by_name["doctor"].isVisible()
    window.document.apply(SetParameters("stop", {"open": True}))
    qtbot.waitUntil(lambda: button.text() == "Doctor")


def test_the_key_of_the_doctor_shows_it(window, qtbot):
    window.docks.by_name["doctor"].hide()
    window.actions_by_name["doctor"].trigger()
    assert window.docks.by_name["doctor"].isVisible()


def test_the_losses_are_a_menu(window):
    assert window.toolbar.buttons["losses"].menu() is window.menus.by_name["losses"]


def test_it_is_hidden_by_the_menu_and_stays_so(window, settings):
    action = window.actions_by_name["toolbar"]
    assert window.toolbar.isVisible() and action.isChecked()
    action.trigger()
    assert not window.toolbar.isVisible() and not action.isChecked()
    assert not Settings(settings.store).toolbar
    window.actions_by_name["put_panels_away"].trigger()
    window.actions_by_name["put_panels_away"].trigger()
    assert not window.toolbar.isVisible()
    action.trigger()
    assert window.toolbar.isVisible()
