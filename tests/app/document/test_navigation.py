from gradwire.app.document.navigation import Navigation
from gradwire.blocks.errors import Location
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import Scan
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import Diagram, Page
from gradwire.runtime.diagram.pages import page_at
from gradwire.runtime.diagram.paths import InstancePath


def nested() -> Diagram:
    return Diagram(
        {
            "main": Page({"enc": PageBlock(page="encoder"), "w": Variable()}),
            "encoder": Page({"layer": PageBlock(page="dense"), "w": Variable()}),
            "dense": Page({"w": Variable()}),
            "alone": Page({"w": Variable()}),
        }
    )


def at(diagram) -> Navigation:
    place = Navigation()
    place.set_diagram(diagram)
    return place


def test_pages_are_entered_and_left(qtbot):
    place = at(nested())
    with qtbot.waitSignal(place.changed):
        place.enter("enc")
    place.enter("layer")
    assert (place.page, place.use, place.trail) == ("dense", "enc/layer", ("enc", "layer"))
    place.leave()
    assert place.page == "encoder"
    place.go(())
    assert (place.page, place.use) == ("main", "")


def test_what_is_no_page_is_not_entered(qtbot):
    place = at(nested())
    with qtbot.assertNotEmitted(place.changed):
        place.enter("w")
        place.enter("nothing")
    assert place.page == "main"


def test_when_the_page_goes_the_place_falls_back_to_what_is_left():
    diagram = nested()
    place = at(diagram)
    place.go(("enc", "layer"))
    place.set_diagram(diagram.with_page("encoder", Page()))
    assert place.trail == ("enc",)
    place.set_diagram(Diagram())
    assert place.trail == ()


def test_places_are_found_by_path_and_by_page():
    place = at(nested())
    assert place.reveal(Location("main", "enc/layer/w")) == "w"
    assert place.trail == ("enc", "layer")
    assert place.reveal(Location("encoder", "w")) == "w"
    assert place.trail == ("enc",)
    assert place.reveal(Location(None, "w")) == "w"
    assert place.trail == ()
    assert place.reveal(Location("main")) is None
    assert place.reveal(Location("main", "gone")) is None


def test_a_page_that_nothing_uses_is_shown_by_itself_and_left_for_main():
    place = at(nested())
    place.open("dense")
    assert (place.root, place.trail) == ("main", ("enc", "layer"))
    place.open("alone")
    assert (place.root, place.trail, place.page, place.use) == ("alone", (), "alone", "alone:")
    place.leave()
    assert (place.root, place.page, place.use) == ("main", "main", "")
    place.open("alone")
    place.set_diagram(Diagram())
    assert place.page == "main"


def test_pages_are_entered_from_one_by_itself():
    alone = Page({"layer": PageBlock(page="dense")})
    place = at(nested().with_page("alone", alone))
    place.open("alone")
    place.enter("layer")
    assert (place.page, place.use, place.trail) == ("dense", "alone:/layer", ("layer",))
    place.leave()
    assert place.page == "alone"


def test_a_page_that_contains_itself_leads_nowhere_endless():
    diagram = Diagram(
        {
            "main": Page({"a": PageBlock(page="loop")}),
            "loop": Page({"b": PageBlock(page="loop"), "c": PageBlock(page="loop")}),
            "alone": Page(),
        }
    )
    place = at(diagram)
    place.reveal(Location("alone", "w"))
    assert place.trail == ()
    assert page_at(diagram, InstancePath("a/b/b/b")) == "loop"


def scanned() -> Diagram:
    cell = Page({"w": Variable(), "inner": PageBlock(page="dense")})
    scan = Scan(page="cell", steps=3, reverse=True)
    return Diagram({"main": Page({"rnn": scan}), "cell": cell, "dense": Page({"w": Variable()})})


def test_a_scan_is_entered_at_the_step_that_runs_first_and_left_at_once():
    place = at(scanned())
    place.enter("rnn")
    assert (place.page, place.use, place.steps) == ("cell", "rnn/2", {1: 3})
    place.enter("inner")
    place.step(-1)
    assert (place.page, place.use, place.steps) == ("dense", "rnn/1/inner", {1: 3})
    place.step(9)
    assert place.use == "rnn/2/inner"
    place.leave()
    place.leave()
    assert (place.use, place.steps) == ("", {})
    place.step(1)
    assert place.use == ""


def test_a_scan_of_no_steps_is_not_entered():
    place = at(scanned().with_page("main", Page({"rnn": Scan(page="cell", steps=0)})))
    place.enter("rnn")
    assert place.page == "main"


def test_a_place_inside_a_step_is_shown_in_that_step():
    place = at(scanned())
    assert place.reveal(Location("cell", "rnn/1/w")) == "w"
    assert place.use == "rnn/1"
