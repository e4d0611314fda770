"""Whether the parameters of a model are those that its optimisers update."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn, optim

from gradwire.blocks.errors import RunError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.flow.checks.leaving import REGISTERED
from gradwire.runtime.flow.words.sentences import names as listed
from gradwire.runtime.interchange.importing.torch.capture.unregistered import kept_aside
from gradwire.runtime.watch.reasons import Found, Trouble
from gradwire.runtime.watch.step import SourceLine, shown
from gradwire.runtime.watch.torch.measures import parameters_of

if TYPE_CHECKING:
    from gradwire.runtime.watch.step import RecordedStep


def unwrapped(model: nn.Module) -> nn.Module:
    """The module in wrappers that distribute, compile or adapt it to devices."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and isinstance(
            model, torch.nn.parallel.DistributedDataParallel | torch.nn.DataParallel
        ):
            inner = model.module
        if inner is None:
            return model
        model = inner


def innermost(optimizer: optim.Optimizer) -> optim.Optimizer:
    """The optimiser of PyTorch in wrappers, such as Accelerate's, whose hooks are never called."""
    inner = getattr(optimizer, "optimizer", None)
    return innermost(inner) if isinstance(inner, torch.optim.Optimizer) else optimizer


def name_among(parameters: Mapping[str, Tensor], given: str | Tensor) -> str:
    """The name of one of these that is given by its name or itself; raises RunError for others."""
    if isinstance(given, str):
        if given in parameters:
            return given
        text, cure = f"{given!r} is no parameter of the model.", did_you_mean(given, parameters)
        raise RunError(text, next_step=cure)
    name = next((n for n, p in parameters.items() if p is given), None)
    if name is None:
        raise RunError(
            "This tensor is no parameter of the model.",
            next_step="Give the name of a parameter, as model.named_parameters() has it.",
        )
    return name


def is_open(parameters: Iterable[Tensor]) -> str:
    """What is to be said where nothing on the way to parameters makes their gradient 0."""
    hooks = [hook for p in parameters for hook in (p._backward_hooks or {}).values()]
    codes = dict.fromkeys(hook.__code__ for hook in hooks if hasattr(hook, "__code__"))
    places = [shown(SourceLine(code.co_filename, code.co_firstlineno)) for code in codes]
    by = f" It has a hook that may change its gradient ({listed(places)})." if places else ""
    return f"Its route to the loss is open.{by}"


def owned_by(optimizers: Sequence[optim.Optimizer]) -> dict[int, Tensor]:
    """What optimisers update, by identity."""
    return {id(p): p for o in optimizers for group in o.param_groups for p in group["params"]}


def ownership(
    model: nn.Module, optimizers: Sequence[optim.Optimizer], step: int, has_gradient: set[str]
) -> Iterator[Found]:
    """Tensors that an optimiser updates in vain, and parameters that get gradient and no update."""
    if not optimizers:
        return
    own = {id(p): name for name, p in parameters_of(model).items()}
    owned = owned_by(optimizers)
    if not owned:
        text = "The optimiser has no parameters: it was made of an iterator that was at its end."
        yield Found(Trouble.STALE, (), text, step)
        return
    if own.keys().isdisjoint(owned):
        text = (
            "The optimiser updates no tensor that the model has: it belongs to another model, or "
            "was made before this one was built or converted. Make it afterwards."
        )
        yield Found(Trouble.STALE, (), text, step)
        return
    unowned = [(name, p) for name, p in parameters_of(model).items() if id(p) not in owned]
    unowned = [(name, p) for name, p in unowned if name in has_gradient]
    if not unowned:
        return
    names, them = tuple(name for name, _ in unowned), "them" if len(unowned) > 1 else "it"
    text = (
        f"{listed(names)} {'get' if len(names) > 1 else 'gets'} gradient, and no optimiser that is "
        f"watched updates {them}."
    )
    spare = [p.shape for i, p in owned.items() if i not in own]
    if all(p.shape in spare for _, p in unowned):
        cure = (
            " It has tensors of the same shapes that the model lacks: it was made before layers "
            "were replaced. Make it afterwards."
        )
        yield Found(Trouble.STALE, names, text + cure, step)
    else:
        cure = f" Give {them} to one (add_param_group), or freeze what is not to be trained."
        yield Found(Trouble.UNOWNED, names, text + cure, step)


def strangers(
    model: nn.Module, optimizers: Sequence[optim.Optimizer], recorded: RecordedStep, number: int
) -> Iterator[Found]:
    """Trained tensors that the step reads and the model does not have."""
    if not recorded.leaves:
        return
    owned = owned_by(optimizers)
    aside = {
        id(kept.kept): kept
        for path, module in model.named_modules()
        for kept in kept_aside(path, module)
    }
    hidden: dict[str, list[tuple[str, SourceLine]]] = {}
    for leaf in recorded.leaves.values():
        kept = aside.get(leaf.identity) if not leaf.is_gone else None
        if kept is not None and leaf.identity not in owned:
            hidden.setdefault(kept.where, []).append((kept.name, leaf.line))
        elif leaf.is_gone:
            place = shown(leaf.line)
            text = (
                f"A trained tensor that is read at {place} is made in the step itself, so what it "
                "learns is lost. Make it once, in __init__."
            )
            yield Found(Trouble.MADE_IN_STEP, (), text, number, (place,))
    for where, members in hidden.items():
        places = tuple(dict.fromkeys(shown(line) for _, line in members))
        parameters = tuple(name for name, _ in members)
        text = (
            f"{where} keeps {listed(parameters)}, read at {places[0]}, where parameters() of the "
            f"model does not find {'them' if len(parameters) > 1 else 'it'}. {REGISTERED}"
        )
        yield Found(Trouble.UNREGISTERED, parameters, text, number, places)
