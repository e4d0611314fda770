"""The order in which instances are traced, and those that depend on a cycle."""

from blocks.registry import registry
from runtime.diagram.paths import InstancePath
from runtime.engine.flat import Flat, Instance, topological_order


def flat(**reads: str) -> Flat:
    """A flat diagram of blocks, each with the names of those that it reads."""
    block, found = registry().get("AddN")(), Flat()
    for name, sources in reads.items():
        path = InstancePath(name)
        wires = {
            port: (path.wire(port), InstancePath(source).port("out"))
            for port, source in enumerate_ports(sources)
        }
        found.instances[path] = Instance(path, "main", name, block, tuple(wires), wires)
    return found


def enumerate_ports(sources: str) -> list[tuple[str, str]]:
    return [(f"terms.{i}", source) for i, source in enumerate(sources.split())]


def order(found: Flat) -> tuple[str, str]:
    instances, looped = topological_order(found)
    return " ".join(instance.path for instance in instances), " ".join(looped)


def test_what_is_in_order_stays_so() -> None:
    assert order(flat(a="", b="", c="b a", d="a")) == ("a b c d", "")


def test_inputs_come_first_in_port_order() -> None:
    assert order(flat(d="c a", a="b", b="", c="b")) == ("b c a d", "")


def test_what_depends_on_a_cycle_is_left_out() -> None:
    assert order(flat(a="", b="c", c="b a", d="c", e="a", f="f")) == ("a e", "c b d f")


def test_a_source_that_does_not_exist_is_no_obstacle() -> None:
    assert order(flat(a="gone", b="a")) == ("a b", "")
