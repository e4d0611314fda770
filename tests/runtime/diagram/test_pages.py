from __future__ import annotations

from itertools import islice

from gradwire.blocks.library.arithmetic import Mul
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.runtime.diagram import ROOT, Diagram, InstancePath, Page
from gradwire.runtime.diagram.pages import (
    Address,
    all_blocks,
    page_at,
    page_named,
    resolve,
    uses_of,
)


def nested() -> Diagram:
    return Diagram(
        {
            "main": Page({"net": PageBlock(page="net"), "enc": PageBlock(page="encoder")}),
            "net": Page({"enc": PageBlock(page="encoder"), "mul1": Mul()}),
            "encoder": Page({"mul1": Mul(), "lost": PageBlock(page="gone")}),
            "spare": Page({"mul1": Mul()}),
        }
    )


def test_a_path_leads_to_a_block_of_a_page() -> None:
    diagram = nested()
    assert resolve(diagram, InstancePath("net/enc/mul1")) == Address("encoder", "mul1")
    assert resolve(diagram, InstancePath("enc")) == Address("main", "enc")
    for path in ("mul1", "mul1/mul1", "enc/lost/mul1", "net/typo", ""):
        assert resolve(diagram, InstancePath(path)) is None


def test_a_use_shows_a_page() -> None:
    diagram = nested()
    assert page_at(diagram, ROOT) == "main"
    assert page_at(diagram, InstancePath("net/enc")) == "encoder"
    assert page_at(diagram, InstancePath("enc"), "net") == "encoder"
    assert page_at(diagram, ROOT, "spare") == "spare"
    for use, root in (("net/mul1", "main"), ("enc/lost", "main"), ("", "gone"), ("a", "gone")):
        assert page_at(diagram, InstancePath(use), root) is None


def test_a_page_is_named_by_its_name_or_by_a_path() -> None:
    scan = Scan(page="step", steps=2)
    diagram = Diagram(
        {
            "main": Page({"encoder_layer": PageBlock(page="layers"), "encoder": Mul()}),
            "layers": Page({"0": PageBlock(page="first"), "scan": scan}),
            "first": Page({}),
            "step": Page({"in": PageBlock(page="first")}),
        }
    )
    for text, page in (
        ("first", "first"),
        ("encoder_layer/0", "first"),
        ("encoder/layer/0", "first"),
        ("encoder/layer", "layers"),
        ("encoder/layer/scan", "step"),
        ("encoder/layer/scan/1/in", "first"),
    ):
        assert page_named(diagram, text) == page
    for text in ("encoder", "encoder/layer/1", "encoder/layer/scan/2/in", "layer/0"):
        assert page_named(diagram, text) is None


def test_uses_are_found_from_outside_in() -> None:
    diagram = nested()
    assert list(uses_of(diagram, "encoder")) == ["enc", "net/enc"]
    assert list(uses_of(diagram, "main")) == [ROOT]
    assert list(uses_of(diagram, "spare")) == []


def test_pages_without_end_are_walked_through_some_way() -> None:
    block = PageBlock(page="loop")
    diagram = Diagram({"main": Page({"a": block}), "loop": Page({"b": block, "c": block})})
    assert list(islice(uses_of(diagram, "loop"), 3)) == ["a", "a/b", "a/c"]
    assert len(list(uses_of(diagram, "gone"))) == 0
    assert [path for path, _ in all_blocks(diagram)] == ["a", "a/b", "a/c"]


def test_every_block_is_walked_through_by_path() -> None:
    diagram = nested()
    found = dict(all_blocks(diagram))
    assert list(found)[:2] == ["net", "enc"]
    for path, block in found.items():
        address = resolve(diagram, path)
        assert address is not None
        assert diagram.pages[address.page].blocks[address.name] is block
    assert "net/enc/mul1" in found and len(found) == 8


def scanning() -> Diagram:
    cell = Page({"h": PageInput(), "mul1": Mul(), "next": PageOutput()})
    rnn = Scan(page="cell", steps=3, carry={"h": "next"}, condition="next", reverse=True)
    return Diagram({"main": Page({"rnn": rnn}), "cell": cell})


def test_each_step_of_a_scan_is_a_use_and_the_scan_itself_is_none() -> None:
    diagram = scanning()
    assert page_at(diagram, InstancePath("rnn/2")) == "cell"
    for path in ("rnn", "rnn/3", "rnn/02", "rnn/-1", "rnn/x", "rnn/2/mul1", "rnn/²"):
        assert page_at(diagram, InstancePath(path)) is None
    assert list(uses_of(diagram, "cell")) == ["rnn/2", "rnn/1", "rnn/0"]
    assert [path for path, _ in all_blocks(diagram)][1:] == ["rnn/2/h", "rnn/2/mul1", "rnn/2/next"]


def test_what_joins_the_steps_of_a_scan_belongs_to_the_scan() -> None:
    diagram = scanning()
    assert resolve(diagram, InstancePath("rnn/1/mul1")) == Address("cell", "mul1")
    for part in ("h", "next", "next/2"):
        found = resolve(diagram, InstancePath("rnn") / part)
        assert found == Address("main", "rnn", part=part)
        assert found.block(diagram) == diagram.main.blocks["rnn"]
    for path in ("rnn/2", "rnn/mul1", "rnn/h/2", "rnn/next/3", "rnn/next/2/x", "rnn/y"):
        assert resolve(diagram, InstancePath(path)) is None
