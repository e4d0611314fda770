"""``gradwire.watch`` and ``gradwire.why``, which import PyTorch only where a program has."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.blocks.errors import RunError
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, reassurance
from gradwire.runtime.interchange.importing.capturing import capture
from gradwire.runtime.interchange.importing.torch.versions import within

if TYPE_CHECKING:
    import torch

    from gradwire.runtime.watch.reasons import Found
    from gradwire.runtime.watch.torch.watching import Watch

    Trained: TypeAlias = (
        torch.nn.Module | torch.Tensor | Sequence[torch.Tensor] | Mapping[str, torch.Tensor]
    )
    """A module, or trained tensors that belong to none."""


def watch(
    model: Trained,
    optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None = None,
    *,
    every: int = 1000,
    check_every: int | None = None,
    guard: bool = False,
    quiet: bool = False,
    on_finding: Callable[[Found], None] | None = None,
    on_look: Callable[[Watch], None] | None = None,
    source: bool = False,
    hooks: bool = True,
    capture: bool | None = None,
) -> Watch:
    """Watch a training of PyTorch while it runs, and say what is wrong with its gradients and why.

    ``model`` is a module, or trained tensors that belong to none: one, several in a list, or by
    name in a dict. ``optimizer`` is one, or several in a list. Without any, each call of
    ``backward`` counts as a step once the program is seen to update parameters itself; or call
    ``watched.step()`` before each update. The first step is recorded, then one of ``every`` so
    many, one after a complaint, and what ``record_next`` asks for; 0 for none of these regularly.
    Gradients are looked at each ``check_every`` steps: by default at each on a CPU, at one of ten
    on an accelerator, since a look waits for it. With ``guard`` a step whose loss or gradients are
    not finite raises NotFiniteError before the update.

    The first step is captured whole, as by ``gradwire.capture``, for all that the doctor finds in
    it: for a model of up to 67 million parameters without recurrent layers, wrappers or ``guard``;
    with ``capture`` any, without it (False) none. That takes some times as long as a step, and a
    copy of the parameters; its tensors are let go once the next step has begun.

    Findings go to standard error, on the first process only and each once, unless ``quiet``;
    ``on_finding`` is called with each, ``on_look`` after each look. Lines of source are quoted in
    reports and diagrams with ``source`` only. Without ``hooks`` no hook is set on the optimisers:
    call ``step`` yourself.

    Raises RunError for a model that is neither a module nor trained tensors of PyTorch, what is no
    optimiser, and numbers of steps that there are not.
    """
    torch = sys.modules.get("torch")
    if torch is None or isinstance(model, type) or not _is_watchable(model, torch):
        raise RunError(
            "Only a module or trained tensors of PyTorch can be watched.",
            expected="a torch.nn.Module, or leaves with requires_grad, in a list or a dict",
            got=type(model).__name__,
            next_step="For a function, use gradwire.capture.",
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise RunError(
            "A model of TorchScript takes no hooks, so that it can't be watched.",
            next_step="Watch the module that it was made of, before torch.jit.",
        )
    with within(str(torch.__version__)):
        from gradwire.runtime.watch.torch.tensors import Tensors, named
        from gradwire.runtime.watch.torch.watching import Watch
    if isinstance(model, Mapping):
        model = Tensors({str(name): x for name, x in model.items()})
    elif not isinstance(model, torch.nn.Module):
        model = Tensors(named([model] if isinstance(model, torch.Tensor) else list(model)))
    optimizers = [] if optimizer is None else optimizer
    if not isinstance(optimizers, list | tuple):
        optimizers = [optimizers]
    for given in optimizers:
        if not hasattr(given, "register_step_pre_hook") and not hasattr(given, "optimizer"):
            raise RunError(
                "This is no optimiser of PyTorch.",
                expected="an optimiser, or several in a list",
                got=type(given).__name__,
                next_step="Where the program updates the parameters itself, give none.",
            )
    for name, number, least in (("every", every, 0), ("check_every", check_every, 1)):
        if number is not None and number < least:
            raise RunError(f"{name} is too small.", expected=f"at least {least}", got=str(number))
    if check_every is None:
        on_cpu = all(p.device.type == "cpu" for p in model.parameters())
        check_every = 1 if on_cpu else 10
    return Watch(
        model,
        optimizers,
        every=every,
        check_every=check_every,
        guard=guard,
        quiet=quiet,
        on_finding=on_finding,
        on_look=on_look,
        source=source,
        hooks=hooks,
        capture=capture,
    )


def _is_watchable(model: Any, torch: Any) -> bool:
    if isinstance(model, torch.nn.Module):
        return True
    values = model.values() if isinstance(model, Mapping) else model
    tensors = values if isinstance(model, Mapping | list | tuple) else [model]
    return bool(tensors) and all(
        isinstance(x, torch.Tensor) and x.is_leaf and x.requires_grad for x in tensors
    )


def why(subject: object, *args: object, **kwargs: Any) -> str:
    """Why a tensor of PyTorch gets gradient or not, as far as is known; never a guess.

    Of a parameter that is watched, from the record of its step. Of others, from ``.grad``. Of a
    result, such as a loss, what gradient of it reaches, from autograd's graph while that exists.

    Of a function for JAX, or of PyTorch, that is followed by its arguments: what is wrong with the
    gradients of its result, by the parameters, found as ``gradwire.capture`` and ``diagnose`` do:
    ``why(loss_fn, params, batch)``.

    Raises RunError for what is neither, and what ``gradwire.capture`` does.
    """
    torch = sys.modules.get("torch")
    is_tensor = torch is not None and isinstance(subject, torch.Tensor)
    if callable(subject) and not is_tensor and (args or kwargs):
        return _why_function(subject, args, kwargs)
    tensor = subject
    if torch is None or not isinstance(tensor, torch.Tensor):
        raise RunError(
            "Only a tensor of PyTorch has gradient to ask for.",
            expected="a parameter, or a result such as the loss",
            got=type(tensor).__name__,
            next_step="Of a function, give its arguments too: why(loss_fn, params, batch).",
        )
    with within(str(torch.__version__)):
        from gradwire.runtime.watch.torch.asking import why_tensor

    return why_tensor(tensor)


def _why_function(function: Callable[..., object], args: Any, kwargs: Any) -> str:
    """What is wrong with the gradients of what a function computes."""
    imported = capture(function, *args, **kwargs)
    session = Session(imported.diagram)
    if not session.losses:
        return "It gives no single float, so there is nothing to differentiate."
    findings = [finding.sentence for finding in diagnose(session)]
    checked = [str(remark) for remark in imported.remarks if remark.kind == "checked"]
    lines = findings or [reassurance(session.program, session.losses)]
    return "\n".join(dict.fromkeys([*lines, *checked]))
