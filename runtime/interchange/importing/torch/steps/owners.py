"""What the optimisers of a captured step own, and what they lack."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.comparison import Misstep
from gradwire.runtime.flow.structure.neighbours import SHAPES
from gradwire.runtime.interchange.importing.torch.steps.ledger import listed
from gradwire.runtime.interchange.importing.torch.steps.ledger import owned as parameters_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged, StagedBlock
    from gradwire.runtime.interchange.importing.torch.places import ProgramLine
    from gradwire.runtime.interchange.importing.torch.types import Optimizer, Tensor

_ARRANGING = SHAPES | {"Cast"}
_STALE = (
    " {} has tensors of the same shapes that the program doesn't use: if these were replaced after "
    "it was made, make it later, or call add_param_group."
)


def missteps(
    stepped: Sequence[tuple[Optimizer, ProgramLine]],
    reached: Mapping[int, ProgramLine],
    variables: Mapping[int, Staged],
    names: Mapping[int, str],
    owned: Collection[int],
    losses: Sequence[Staged],
) -> Iterator[Misstep]:
    """Parameters that two optimisers move, and that none does.

    ``stepped`` are the optimisers that have made steps, and where; ``reached`` where leaves got
    gradients, by identity, as ``variables`` and ``names``; ``owned`` is what any known optimiser
    has.
    """
    yield from _shared(stepped, names)
    lacking = [key for key in reached if key not in owned and key in names]
    if not stepped or not lacking:
        return
    stale = [p for optimizer, _ in stepped for p in parameters_of(optimizer) if id(p) not in names]
    shapes = [tuple(p.shape) for p in stale]
    found = {key: variables[key] for key in lacking if key in variables}
    replaced = [key for key, x in found.items() if x.shape in shapes]
    upstream = _followed_by(found, [variables[k] for k in owned if k in variables], losses)
    for keys, is_stale in ((replaced, True), ([k for k in upstream if k not in replaced], False)):
        if keys:
            yield _lacking(keys, reached, names, stepped, is_stale)


def of_others(optimizer: Optimizer, parameters: Mapping[str, Tensor]) -> str:
    """That an optimiser has other tensors than the program, and of its shapes; empty if not."""
    owned = parameters_of(getattr(optimizer, "optimizer", optimizer))
    known = {id(p) for p in parameters.values()}
    own = {id(p) for p in owned}
    shapes = [p.shape for p in owned if id(p) not in known]
    lacking = [n for n, p in parameters.items() if p.requires_grad and id(p) not in own]
    alike = [n for n in lacking if parameters[n].shape in shapes]
    if not alike:
        return ""
    kind = type(getattr(optimizer, "optimizer", optimizer)).__name__
    return f"{kind} lacks {listed(alike)}.{_STALE.format(kind)}"


def _shared(
    stepped: Sequence[tuple[Optimizer, ProgramLine]], names: Mapping[int, str]
) -> Iterator[Misstep]:
    """Two optimisers with some of the same parameters: with all of them, one wraps the other."""
    for i, (one, where) in enumerate(stepped):
        for other, there in stepped[i + 1 :]:
            keys = [{id(p) for p in parameters_of(x)} for x in (one, other)]
            both = [id(p) for p in parameters_of(one) if id(p) in keys[1]]
            if both and keys[0] != keys[1]:
                text = (
                    f"{_listed(both, names)} {_are(both)} in two optimisers: step() "
                    f"({where.line}) and step() ({there.line}) both move {_them(both)}. Give each "
                    "parameter to one."
                )
                yield Misstep(text=text, written=there.written)


def _lacking(
    keys: Sequence[int],
    reached: Mapping[int, ProgramLine],
    names: Mapping[int, str],
    stepped: Sequence[tuple[Optimizer, ProgramLine]],
    is_stale: bool,
) -> Misstep:
    place = reached[keys[0]]
    text = (
        f"{_listed(keys, names)} {'gets a gradient' if len(keys) == 1 else 'get gradients'} by "
        f"backward() ({place.line}), and no optimiser of this step has {_them(keys)}."
    )
    if is_stale:
        owner = next(type(x).__name__ for x, _ in stepped if _is_stale(x, names))
        text += _STALE.format(owner)
    elif empty := [
        (type(x).__name__, i)
        for x, _ in stepped
        for i, group in enumerate(x.param_groups)
        if not group["params"]
    ]:
        text += (
            f" Group {empty[0][1]} of {empty[0][0]} is empty, as where a generator of parameters "
            "was used up before: give it a list."
        )
    else:
        text += (
            f" Give {_them(keys)} to an optimiser; or, if {_them(keys)} is not to be trained, use "
            "requires_grad_(False), or detach() what comes of it."
        ).replace("them is", "they are")
    return Misstep(text=text, written=place.written)


def _is_stale(optimizer: Optimizer, names: Mapping[int, str]) -> bool:
    return any(id(p) not in names for p in parameters_of(optimizer))


def _listed(keys: Sequence[int], names: Mapping[int, str]) -> str:
    return listed([names.get(key, "a parameter") for key in keys])


def _are(keys: Sequence[int]) -> str:
    return "is" if len(keys) == 1 else "are"


def _them(keys: Sequence[int]) -> str:
    return "it" if len(keys) == 1 else "them"


def _followed_by(
    lacking: Mapping[int, Staged], owned: Sequence[Staged], losses: Sequence[Staged]
) -> list[int]:
    """Those of the variables whose results an owned one reads.

    What comes after all that is owned may be another player, or a frozen judge: it gets a gradient
    on its way to what is owned.
    """
    keys = {id(x.source): key for key, x in lacking.items() if x.source is not None}
    own = {id(x.source) for x in owned}
    reads: dict[int, set[int]] = {}
    found: set[int] = set()
    for block in _in_order(losses):
        inputs = [x for x in block.inputs.values() if x.source is not None]
        each = [reads[id(x.source)] for x in inputs]
        variables = [_variable(x) for x in inputs]
        reads[id(block)] = set().union(*each, {keys[id(block)]} if id(block) in keys else ())
        if any(id(v) in own for v in variables):
            for come, variable in zip(each, variables, strict=True):
                found |= come if variable is None else set()
    return [key for key in lacking if key in found]


def _variable(x: Staged) -> StagedBlock | None:
    """The variable that a value is, up to its shape."""
    block = x.source
    while block is not None and block.block.type_name() in _ARRANGING and block.inputs:
        block = next(iter(block.inputs.values())).source
    is_variable = block is not None and block.block.type_name() == "Variable"
    return block if is_variable else None


def _in_order(losses: Sequence[Staged]) -> list[StagedBlock]:
    """The blocks that losses depend on, each after those that it reads."""
    found: list[StagedBlock] = []
    done: set[int] = set()
    pending = [(x.source, False) for x in losses if x.source is not None]
    while pending:
        block, is_ready = pending.pop()
        if is_ready:
            found.append(block)
        elif id(block) not in done:
            done.add(id(block))
            pending.append((block, True))
            pending += [(x.source, False) for x in block.inputs.values() if x.source is not None]
    return found
