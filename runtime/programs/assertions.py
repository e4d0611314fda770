"""What tests require of gradients: ``gradients(model, batch).flows("loss -> encoder/*")``.

Raised errors are those of pytest: what was required, what breaks it and why, with the route.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from gradwire.runtime.engine import Session
from gradwire.runtime.flow import Contract, needs_run, observe
from gradwire.runtime.flow.analyse import Flow, analyse
from gradwire.runtime.flow.measured import compared, measured_flow
from gradwire.runtime.flow.tools.contracts import Requirement, parse_contracts, unowned
from gradwire.runtime.flow.tools.patterns import matches
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.interchange.importing.capturing import capture
from gradwire.runtime.programs.naming import check_named
from gradwire.runtime.publish.contracts import contract_lines

if TYPE_CHECKING:
    from gradwire.runtime.flow import ObservedFlow
    from gradwire.runtime.interchange.importing.imported import Imported

_MOST = 10
"""Parameters that a message names, at most."""


class Gradients:
    """What a captured model's gradients do, to assert about; each method returns the same object.

    Requirements are those of contracts: ``LOSS -> PARAMETERS``, where ``*`` stands for anything.
    Parameters go by the model's own names, with ``/`` or ``.`` between parts.
    """

    def __init__(self, imported: Imported) -> None:
        self.imported = imported

    @cached_property
    def flow(self) -> Flow:
        """Which parameter has a route from which loss, and what cuts it."""
        return analyse(self.session.program)

    @cached_property
    def observed(self) -> ObservedFlow:
        """The same after a run, with sizes."""
        measured = measured_flow(self.session, self.flow)
        return observe(compared(self.session)) if measured is None else measured

    @cached_property
    def session(self) -> Session:
        """The diagram, ready to run."""
        return Session(self.imported.diagram)

    def flows(self, *requirements: str) -> Self:
        """Every one of these parameters gets gradient from this loss."""
        __tracebackhide__ = True
        return self._require("flows", requirements)

    def blocked(self, *requirements: str) -> Self:
        """None of these parameters gets gradient from this loss."""
        __tracebackhide__ = True
        return self._require("blocked", requirements)

    def nonzero(self, *requirements: str) -> Self:
        """Every one of them gets gradient that is not all zeros."""
        __tracebackhide__ = True
        return self._require("nonzero", requirements)

    def finite(self, *requirements: str) -> Self:
        """No gradient of this loss with respect to them has NaN or infinity in it."""
        __tracebackhide__ = True
        return self._require("finite", requirements)

    def keep(self, *contracts: str | Contract) -> Self:
        """Contracts hold, each one line such as ``flows(loss -> encoder/*)``.

        Raises FileError for a line that is no contract.
        """
        __tracebackhide__ = True
        texts = "\n".join(c for c in contracts if isinstance(c, str))
        stated = [c for c in contracts if isinstance(c, Contract)]
        return self._check([*parse_contracts(texts), *stated])

    def why(self, parameter: str) -> str:
        """Why a parameter gets gradient or not, by its own name or its path in the diagram."""
        return self.flow.variable(self.imported.parameters.get(parameter, parameter)).sentence

    def _require(self, kind: Requirement, requirements: Sequence[str]) -> Self:
        __tracebackhide__ = True
        return self._check(parse_contracts("\n".join(f"{kind}({r})" for r in requirements)))

    def _check(self, contracts: Sequence[Contract]) -> Self:
        __tracebackhide__ = True
        observed = self.observed if needs_run(contracts) else None
        training, names = self.imported.diagram.training, self.imported.parameters
        outcomes = check_named(contracts, observed, self.flow, training, names)
        if broken := [outcome for outcome in outcomes if not outcome.kept]:
            raise AssertionError("\n".join(contract_lines(broken)))
        return self

    def __repr__(self) -> str:
        losses = ", ".join(loss.block for loss in self.flow.losses) or "no loss"
        return f"<Gradients of {len(self.imported.parameters)} parameters from {losses}>"


def gradients(model: Callable[..., Any], *args: Any, **options: Any) -> Gradients:
    """What the gradients of a model or a step do for these arguments, to assert about.

    Arguments and options are those of ``gradwire.capture``; the model or function returns its loss,
    or calls ``backward`` on it. Raises what that raises, and AssertionError where there is no loss.
    """
    __tracebackhide__ = True
    found = Gradients(capture(model, *args, **options))
    if not found.flow.losses:
        raise AssertionError(
            "There is no loss: the model must return a single float, or the function that is "
            "given must compute one or call backward() on it; loss=NAME picks one of several."
        )
    return found


def assert_all_trained(
    model: Callable[..., object],
    *args: object,
    but: Sequence[str] = (),
    optimizer: object = None,
    **options: object,
) -> None:
    """Assert that a model's every trained parameter gets gradient for these arguments.

    That is, from some loss, finite and not all zeros; with an ``optimizer`` also that it updates
    them. ``but`` are patterns of names that are left out. See ``gradients``.
    """
    __tracebackhide__ = True
    found = gradients(model, *args, optimizer=optimizer, **options)
    named = {path: own for own, path in found.imported.parameters.items()}
    left_out = [pattern.replace(".", "/") for pattern in but]
    trained = [
        name
        for name in found.flow.program.trainable
        if not any(matches(p, named.get(name, name).replace(".", "/")) for p in left_out)
    ]
    observed = found.observed
    lines = []
    for name in trained:
        verdict = observed.variable(name)
        if not verdict.state.row.passes or verdict.state in (State.ZERO, State.NONFINITE):
            lines.append(f"{named.get(name, name)}: {verdict.sentence}")
    if optimizer is not None:
        missed = set(unowned(found.flow.program, (), (), found.imported.diagram.training))
        lines += [
            f"{named.get(name, name)}: The optimizer does not update it."
            for name in trained
            if name in missed
        ]
    if lines:
        more = [f"and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
        head = f"{len(lines)} of {len(trained)} trained parameters are not trained:"
        raise AssertionError("\n  ".join([head, *lines[:_MOST], *more]))
