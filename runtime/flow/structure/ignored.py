"""What bypassed blocks ignore: inputs that do not go through, and what leads only to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.diagram.bypass import Bypassed

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath, WirePath
    from gradwire.runtime.engine.program import Program


def ignored(program: Program) -> dict[str, InstancePath]:
    """The bypassed block that ignores a wire or a block, by the path of either.

    Takes linear time for each bypassed block; empty at once without any.
    """
    found: dict[str, InstancePath] = {}
    for path, instance in program.instances.items():
        if not isinstance(instance.block, Bypassed):
            continue
        waiting = list(instance.wires.values())[1:]
        own = [other for other in program.instances if other.is_inside(path)]
        found |= dict.fromkeys(own, path)
        while waiting:
            wire, port = waiting.pop()
            if wire in found:
                continue
            found[wire] = path
            block = program.flat.source(port).block
            found.setdefault(block, path)
            if (before := program.instances.get(block)) is not None:
                waiting += before.wires.values()
    return found


def passed_on(program: Program, bypassed: InstancePath) -> WirePath:
    """The wire that goes through a bypassed block."""
    return next(iter(program.instances[bypassed].wires.values()))[0]
