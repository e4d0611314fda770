"""A page that gets another name stays what is looked at, from where it is looked at."""

import pytest

from gradwire.app.document.diff import renamed_pages
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import Diagram, InsertPage, Page, RemovePage, RenamePage, apply, group
from tests.app.document.test_diff import seed


def test_it_is_told_by_the_very_same_page():
    one, other = Page({"w": PageBlock(page="p")}), Page()
    before = Diagram({"main": Page(), "p": one, "q": other})
    after = apply(before, RenamePage("q", "r")).after
    assert renamed_pages(before, after) == {"q": "r"}
    assert renamed_pages(after, before) == {"r": "q"}
    assert renamed_pages(before, apply(before, RemovePage("q")).after) == {}
    assert renamed_pages(before, apply(before, InsertPage("copy", other)).after) == {}


@pytest.fixture
def window(window):
    window.document._begin(seed(), None)
    window.edit.change(group(window.document.diagram, "main", ["mul1"]))
    window.edit.change(InsertPage("idle", window.document.diagram.pages["group1"]))
    return window


@pytest.mark.parametrize("name", ["group1", "idle"])
def test_the_view_stays_also_when_the_name_is_taken_back(window, name):
    window.pages.open(name)
    window.canvas.zoom_to_fit()
    window.canvas.set_camera(window.canvas.view.camera.panned(-70.0, 33.0).zoomed(0.8, 0.0, 0.0))
    camera = window.canvas.view.camera
    window.pages.rename(name, "encoder")
    assert (window.navigation.page, window.canvas.view.camera) == ("encoder", camera)
    window.actions_by_name["undo"].trigger()
    assert (window.navigation.page, window.canvas.view.camera) == (name, camera)
    window.actions_by_name["redo"].trigger()
    assert (window.navigation.page, window.canvas.view.camera) == ("encoder", camera)


def test_the_view_of_a_page_that_is_not_shown_is_kept_too(window):
    window.pages.open("group1")
    window.canvas.set_camera(window.canvas.view.camera.panned(-70.0, 33.0))
    camera = window.canvas.view.camera
    window.navigation.go(())
    window.pages.rename("group1", "encoder")
    window.pages.open("encoder")
    assert window.canvas.view.camera == camera
