"""From the names in a call to ports, heads, seeds and gradient requests of a program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.block import Source
from blocks.errors import HeadError, Location, NotRunnableError, RunError
from blocks.library.gradient import StopGradient
from runtime.diagram.paths import InstancePath, PortPath, WirePath

if TYPE_CHECKING:
    from runtime.engine.program import Program

GradientRequest: TypeAlias = Literal["write", "add", "null"]
GradientRequests: TypeAlias = GradientRequest | Mapping[str, GradientRequest] | Sequence[str]

REQUESTS = ("write", "add", "null")


def listed(names: Iterable[str]) -> list[str]:
    """The names; a string is one name, not its letters."""
    return [names] if isinstance(names, str) else list(names)


def find_port(program: Program, name: str) -> PortPath:
    """A port, or a leaf of one, by its name, or by its block's when that has one output.

    Raises RunError.
    """
    instance = program.instances.get(InstancePath(program.flat.first(name)))
    if instance is not None and len(outputs := instance.block.output_names()) == 1:
        return instance.port(outputs[0])
    port = program.flat.source(PortPath(name))
    owner = program.instances.get(port.block)
    made = () if owner is None else map(owner.port, owner.block.output_names())
    if port in made or port in program.ports:
        return port
    near = get_close_matches(name, [*program.instances, *program.ports], n=3)
    raise RunError(
        f"There is no block or output {name!r}.",
        next_step=f"Did you mean {', '.join(near)}?" if near else None,
    )


def traced_ports(program: Program, names: Iterable[str]) -> tuple[PortPath, ...]:
    """Ports by name, all of which were traced, those of trees by leaf.

    Raises NotRunnableError with what is in the way.
    """
    ports = [
        leaf for name in listed(names) for leaf in program.leaf_ports(find_port(program, name))
    ]
    for port in ports:
        if port not in program.ports:
            path = port.block
            culprit = program.culprit(path)
            errors = [d for d in program.diagnostics if d.severity == "error"]
            own = program.instances[culprit]
            told = [d for d in errors if d.location.block in (culprit, own.name)] or errors
            raise NotRunnableError(
                " ".join(str(d) for d in told) or f"{culprit} can't run.",
                location=Location(own.page, path) if path != culprit else None,
            )
    return tuple(ports)


def all_ports(program: Program, partial: bool) -> tuple[PortPath, ...]:
    """Every port; those of blocks that can't run are an error, or left out when ``partial``."""
    if partial:
        return tuple(program.ports)
    return program.derived("all ports", lambda: traced_ports(program, _outputs(program)))


def _outputs(program: Program) -> list[PortPath]:
    return [
        instance.port(output)
        for instance in program.instances.values()
        for output in instance.block.output_names()
    ]


def find_heads(
    program: Program, losses: Sequence[str] | None, partial: bool
) -> tuple[PortPath, ...]:
    """The ports that backward starts from; raises HeadError when there is none."""
    if losses is not None:
        return traced_ports(program, losses)
    heads = tuple(program.heads())
    if not heads and not partial:
        all_ports(program, partial)
        raise HeadError(
            "The diagram has no loss: no Loss block, and no scalar that nothing reads.",
            next_step="Add a Loss block, or say which output to differentiate.",
        )
    return heads


def find_seeds(
    program: Program, heads: tuple[PortPath, ...], given: Mapping[str, ArrayLike]
) -> dict[PortPath, NDArray[Any]]:
    """Output gradients by head; raises HeadError for one that is no head or has another shape."""
    seeds = {}
    for name, seed in given.items():
        port = find_port(program, name)
        if port not in heads:
            raise HeadError(
                f"{name!r} has an output gradient but is no head of this run.",
                expected=f"one of {', '.join(heads)}" if heads else None,
            )
        array, shape = np.asarray(seed), program.ports[port].shape
        if array.shape != shape:
            raise HeadError(
                "The output gradient has the wrong shape.",
                location=port.location(),
                expected=str(list(shape)),
                got=str(list(array.shape)),
            )
        seeds[port] = array
    return seeds


def adjoint_ports(
    program: Program, wanted: Literal["all", "stops"] | Collection[str]
) -> tuple[PortPath, ...]:
    """Ports whose adjoints are asked for; at stops, those of the leaves that are stopped."""
    if wanted == "all":
        return tuple(program.ports)
    if wanted == "stops":
        return program.derived("stopped ports", lambda: _stopped_ports(program))
    return traced_ports(program, wanted)


def _stopped_ports(program: Program) -> tuple[PortPath, ...]:
    return tuple(
        port
        for port, value in program.ports.items()
        if value.primitive.stops and isinstance(program.block(port.block), StopGradient)
    )


def wires_named(program: Program, wanted: bool | Collection[str]) -> tuple[WirePath, ...]:
    """Wires by their targets, in any order, those with trees by leaf; all or none for a bool.

    Raises RunError.
    """
    if isinstance(wanted, bool):
        return tuple(program.wires) if wanted else ()
    wires = [WirePath(name) for name in listed(wanted)]
    for name in wires:
        if name not in program.wire_sources:
            near = get_close_matches(name, program.wire_sources, n=3)
            raise RunError(
                f"There is no wire into {name!r}.",
                next_step=f"Did you mean {', '.join(near)}?" if near else None,
            )
    return tuple(dict.fromkeys(leaf for name in wires for leaf in program.leaf_wires(name)))


def gradient_requests(
    program: Program,
    arguments: Sequence[str],
    wrt: Sequence[str] | None,
    request: GradientRequests,
) -> dict[str, str]:
    """What to do with each gradient, by variable or port; raises RunError for a wrong request."""
    trained = [name for name in program.trainable if name in program.leaves]
    names = (
        trained if wrt is None else [n for name in listed(wrt) for n in _leaves_of(program, name)]
    )
    requests: dict[str, str]
    if isinstance(request, str):
        requests = dict.fromkeys(names, request)
    elif isinstance(request, Mapping):
        given = {leaf: how for n, how in request.items() for leaf in _leaves_of(program, n)}
        requests = {name: given.get(name, "null") for name in dict.fromkeys([*names, *given])}
    elif len(request) == len(arguments):
        requests = dict(zip(arguments, request, strict=True))
    else:
        raise RunError(
            "One gradient request for each argument is needed.",
            expected=f"{len(arguments)} ({', '.join(arguments)})",
            got=str(len(request)),
        )
    for name, how in requests.items():
        if name not in program.leaves:
            traced_ports(program, [name])
        if how not in REQUESTS:
            raise RunError(
                f"The gradient request for {name!r} is wrong.",
                expected="write, add or null",
                got=repr(how),
            )
    return requests


def _leaves_of(program: Program, name: str) -> tuple[str, ...]:
    """The leaves of the port of that name, where it is a tree; else its path."""
    port = program.flat.source(PortPath.named(name))
    return program.leaf_ports(port) if port in program.trees else (program.flat.first(name),)


def graph_order(program: Program, heads: Sequence[PortPath]) -> list[InstancePath]:
    """Variables and inputs that the heads read: depth first, inputs in port order."""
    flat = program.flat
    stack = [port.block for port in reversed(heads)] or list(reversed(flat.instances))
    seen: set[InstancePath] = set()
    found = []
    while stack:
        path = stack.pop()
        if path in seen or path not in flat.instances:
            continue
        seen.add(path)
        instance = flat.instances[path]
        if isinstance(instance.block, Source) and instance.block.kind != "constant":
            found.append(path)
        stack += reversed(flat.before(instance))
    return found
