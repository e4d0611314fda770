"""Pages shared between files: what goes along, what differs, and how all uses are updated."""

import numpy as np
import pytest

from gradwire.blocks import Tensor
from gradwire.blocks.errors import FileError
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.sources import Constant
from gradwire.runtime.diagram import MAIN, Diagram, Page, apply, loads
from gradwire.runtime.diagram.edits.clipboard import (
    differs,
    inserted,
    page_offered,
    shared_page,
    updated,
)


def library(*, weight=1.0):
    """Page "net" uses "layer", which has an array."""
    layer = Page({"w": Constant(value=Tensor(np.full(100_000, weight)))})
    net = Page({"one": PageBlock(page="layer"), "two": PageBlock(page="layer")})
    return Diagram({MAIN: Page({"other": Add()}), "net": net, "layer": layer, "unused": Page()})


def test_a_page_goes_with_the_pages_that_it_uses():
    shared = shared_page(library(), "net")
    assert page_offered(shared) == "net"
    assert set(shared.pages) == {MAIN, "net", "layer"}
    assert list(shared.main.blocks) == ["net"]


def test_it_arrives_as_a_use_of_a_copy_with_its_arrays():
    change = inserted(Diagram(), MAIN, shared_page(library(), "net"), label="Insert net").change
    after = apply(Diagram(), change).after
    assert after.main.blocks["net"].page == "net"
    assert after.pages["layer"] == library().pages["layer"]
    again = inserted(after, MAIN, shared_page(library(), "net"), label="Insert net").change
    twice = apply(after, again).after
    assert set(twice.pages) == set(after.pages)  # equal pages are used again
    assert len(twice.main.blocks) == 2


def test_pages_of_the_same_name_and_another_content_are_kept_apart():
    mine = Diagram({MAIN: Page(), "layer": Page({"mine": Mul()})})
    change = inserted(mine, MAIN, shared_page(library(), "net"), label="Insert net").change
    after = apply(mine, change).after
    assert after.pages["layer"] == mine.pages["layer"]
    (inner,) = {block.page for block in after.pages["net"].blocks.values()}
    assert after.pages[inner] == library().pages["layer"]


def test_a_page_differs_if_one_that_it_uses_does():
    shared = shared_page(library(), "net")
    assert not differs(library(), shared)
    assert differs(library(weight=2.0), shared)
    assert differs(Diagram(), shared)


def test_an_update_replaces_the_page_in_all_its_uses():
    old = library()
    user = old.with_page(MAIN, Page({name: PageBlock(page="net") for name in "ab"}))
    new = library(weight=2.0)
    new = new.with_page("net", Page({"only": PageBlock(page="layer")}))
    edit = apply(user, updated(user, shared_page(new, "net")))
    after = edit.after
    assert edit.label == "Update page net"
    assert {block.page for block in after.main.blocks.values()} == {"net"}
    assert list(after.pages["net"].blocks) == ["only"]
    inner = after.pages["net"].blocks["only"].page
    assert after.pages[inner] == new.pages["layer"]
    assert after.pages["layer"] == old.pages["layer"]  # other pages may use it
    assert edit.before == user


def test_an_update_to_an_equal_page_leaves_its_content():
    user = library()
    after = apply(user, updated(user, shared_page(user, "net"))).after
    assert after.pages["net"] == user.pages["net"]
    assert set(after.pages) == set(user.pages)


@pytest.mark.parametrize(
    "main",
    [
        "{}",
        '{"blocks": {"a": {"type": "Add"}}}',
        '{"blocks": {"a": {"type": "Page", "page": "p"}, "b": {"type": "Add"}}}',
        '{"blocks": {"a": {"type": "Page", "page": "elsewhere"}}}',
        '{"blocks": {"a": {"type": "Page", "page": "main"}}}',
    ],
)
def test_a_file_that_shares_no_page_is_refused(main):
    with pytest.raises(FileError, match="shares no page"):
        page_offered(loads(f'{{"gradwire": 3, "pages": {{"main": {main}, "p": {{}}}}}}'))


def test_a_page_that_uses_itself_comes_to_an_end():
    text = (
        '{"gradwire": 3, "pages": {"main": {"blocks": {"a": {"type": "Page", "page": "p"}}}, '
        '"p": {"blocks": {"again": {"type": "Page", "page": "p"}}}}}'
    )
    shared = loads(text)
    after = apply(Diagram(), inserted(Diagram(), MAIN, shared, label="Insert").change).after
    assert set(after.pages) == {MAIN, "p"}
    assert not differs(after, shared)
    edit = apply(after, updated(after, shared))
    assert edit.after.pages["p"].blocks["again"].page == "p"
