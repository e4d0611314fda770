"""What is seen of a class alone is what each of its blocks says."""

import pytest

from blocks import registry
from blocks.block import Block
from runtime.diagram.model import Page
from runtime.diagram.paths import PortName
from runtime.diagram.plain import is_complete, is_joined, plain_ports


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
    assert is_complete(page_of(mul(), ("a", "out"), ("b", "out")), "b", mul())
    assert is_complete(page_of(mul(b=2.0), ("a", "out")), "b", mul(b=2.0))
    assert not is_complete(page_of(mul(), ("a", "out")), "b", mul())


def test_a_wire_is_joined_if_both_of_its_ends_exist() -> None:
    page = page_of(registry().get("Mul")(), ("a", "out"), ("c", "out"), ("b", "no"))
    assert is_joined(page, PortName("w", "out"), PortName("b", "a"))
    assert not is_joined(page, PortName("w", "out"), PortName("b", "c"))
    assert not is_joined(page, PortName("w", "no"), PortName("b", "b"))
    assert not is_joined(page, PortName("gone", "out"), PortName("b", "a"))
    assert not is_joined(page, PortName("w", "out"), PortName("gone", "a"))
