"""What is seen of a class alone is what each of its blocks says."""

from dataclasses import replace

import pytest

from gradwire.blocks.block import Block, Opaque, Source
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.model import Page
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.diagram.plain import blocks_of, plain_ports, survey


@pytest.mark.parametrize("name", sorted(registry().classes))
def test_plain_ports_are_those_of_every_block(name: str) -> None:
    block = registry().get(name)()
    plain = plain_ports(type(block))
    if plain is None:
        return
    ports = block.input_ports()
    assert not any(port.variadic for port in ports)
    assert plain.inputs == tuple(port.name for port in ports)
    assert plain.required == tuple(port.name for port in ports if port.required)
    assert plain.outputs == block.output_names()


@pytest.mark.parametrize("name", ["AddN", "Formula", "Page", "PageInput", "Scan", "Unpack"])
def test_ports_that_depend_on_the_block_are_not_plain(name: str) -> None:
    assert plain_ports(registry().get(name)) is None


def page_of(block: Block, *wires: tuple[str, str]) -> Page:
    source = registry().get("Variable")(value=1.0)
    return Page(
        {"w": source, "b": block},
        {PortName("b", port): PortName("w", output) for port, output in wires},
    )


def test_a_block_is_complete_with_a_wire_or_literal_for_each_required_input() -> None:
    mul = registry().get("Mul")
    assert survey(page_of(mul(), ("a", "out"), ("b", "out"))) == ([], [], True)
    assert not survey(page_of(mul(b=2.0), ("a", "out"))).blocks
    assert survey(page_of(mul(), ("a", "out"))).blocks == ["b"]
    assert survey(page_of(mul(a=2.0), ("a", "out"))).blocks == ["b"]
    assert survey(page_of(mul(a=2.0, b=1.0), ("a", "out"))).blocks == []


def test_blocks_that_are_not_plain_are_left_open() -> None:
    get = registry().get
    assert survey(page_of(get("AddN")(), ("terms.0", "out"))) == (["b"], [PortName("b", "terms.0")],
                                                                  True)  # fmt: skip
    assert survey(page_of(get("Mul")(bypassed=True), ("a", "out"), ("b", "out"))).blocks == ["b"]


def test_a_wire_is_joined_if_both_of_its_ends_exist() -> None:
    page = page_of(registry().get("Mul")(), ("a", "out"), ("c", "out"), ("b", "no"))
    assert survey(page).wires == [PortName("b", "c"), PortName("b", "b")]
    joined = PortName("b", "a"), PortName("w", "out")
    for target, source in (
        (PortName("gone", "a"), PortName("w", "out")),
        (PortName("b", "b"), PortName("gone", "out")),
    ):
        wires = dict([joined, (target, source)])
        assert survey(replace(page, wires=wires)).wires == [target]


def test_blocks_are_in_order_if_each_reads_earlier_ones() -> None:
    page = page_of(registry().get("Mul")(), ("a", "out"), ("b", "out"))
    assert survey(page).in_order
    turned = dict(reversed(page.blocks.items()))
    assert not survey(replace(page, blocks=turned)).in_order
    itself = {**page.wires, PortName("b", "a"): PortName("b", "out")}
    assert not survey(replace(page, wires=itself)).in_order


def test_blocks_are_found_by_their_class_and_those_derived_from_it() -> None:
    page = page_of(registry().get("Mul")())
    assert blocks_of(page, Source) == {"w": page.blocks["w"]}
    assert blocks_of(page, Source, Block) == page.blocks
    assert blocks_of(page, Opaque) == {}
