"""The ledger: what each wire brings to a port or variable, adding up to its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.gradient import Gradient
from gradwire.runtime.calculus.primitives.base import WIRE
from gradwire.runtime.diagram.paths import PortPath, WirePath
from gradwire.runtime.engine.norms import rms
from gradwire.runtime.flow.words.formatting import cosine

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine import Run
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.observed import ObservedFlow


@dataclass(frozen=True, eq=False)
class LedgerEntry:
    """One share of a gradient. ``by`` is a wire (its target); the loss itself, ``loss``; or a
    Gradient block that reads the value from inside another block, where no wire shows it.
    """

    by: str
    kind: str
    amount: Array


@dataclass(frozen=True, eq=False)
class Account:
    """The entries of one port, and their sum: the port's adjoint, or None where nothing arrives."""

    port: str
    entries: tuple[LedgerEntry, ...]
    total: Array | None

    @property
    def shares(self) -> dict[str, float | None]:
        """Each entry's cosine with the total times its size, as a share of the total's size; they
        add up to 1. None where the total is 0.
        """
        if self.total is None or not rms(self.total) > 0:
            return {entry.by: None for entry in self.entries}
        size = rms(self.total)
        return {
            entry.by: (cosine(entry.amount, self.total) or 0.0) * rms(entry.amount) / size
            for entry in self.entries
        }


def ledger(program: Program, run: Run) -> dict[PortPath, Account]:
    """The account of every port that gradient arrives at and goes on from to a trained variable.

    The order of the entries is that in which backward adds them, so that adding them up gives the
    gradient to the last bit. Where a Gradient block reads values from inside other blocks the
    run must have the adjoint of the port (``adjoints="all"``), or the entry is missing.
    """
    leaving: dict[PortPath, list[WirePath]] = {}
    for wire, source in program.wire_sources.items():
        if run.contributions.get(wire) is not None:
            leaving.setdefault(source, []).append(wire)
    readers = _inside_readers(program)
    found = {}
    for port, value in program.ports.items():
        if value not in program.reached:
            continue
        account = _account(program, run, port, leaving.get(port, []), readers.get(port, ()))
        if account.entries:
            found[port] = account
    return found


def account(program: Program, run: Run, port: str) -> Account | None:
    """The account of one port; None for one that the ledger does not have."""
    path = program.flat.source(PortPath(port))
    if program.ports.get(path) not in program.reached:
        return None
    wires = [
        wire
        for wire, source in program.wire_sources.items()
        if source == path and run.contributions.get(wire) is not None
    ]
    found = _account(program, run, path, wires, _inside_readers(program).get(path, ()))
    return found if found.entries else None


def _account(
    program: Program, run: Run, port: PortPath, wires: list[WirePath], readers: tuple[str, ...]
) -> Account:
    entries = []
    if port in run.losses:
        value = program.ports[port]
        entries.append(LedgerEntry("loss", "seed", np.ones(value.shape, value.dtype)))
    for wire in sorted(wires, key=lambda wire: -program.wires[wire].index):
        amount = run.contributions[wire]
        assert amount is not None  # only such wires are listed
        entries.append(LedgerEntry(wire, "wire", amount))
    known = run.adjoints.get(port)
    if known is None:
        known = run.gradients.get(port.short)
    if readers and known is not None:
        through = known - _sum(entries) if entries else known
        entries.append(LedgerEntry(" and ".join(readers), "gradient block", through))
        return Account(port, tuple(entries), known)
    return Account(port, tuple(entries), _sum(entries) if entries else None)


def _sum(entries: list[LedgerEntry]) -> Array:
    with np.errstate(all="ignore"):
        total = entries[0].amount
        for entry in entries[1:]:
            total = total + entry.amount
    return np.asarray(total)


def _inside_readers(program: Program) -> dict[PortPath, tuple[str, ...]]:
    """Gradient blocks that read a port's value other than over a wire."""
    ports = {value: port for port, value in program.ports.items()}
    found: dict[PortPath, dict[str, None]] = {}
    gradients = {p for p, i in program.instances.items() if isinstance(i.block, Gradient)}
    if not gradients:
        return {}
    for value in program.trace.values[: program.forward_end]:
        if value.primitive is not WIRE and value.owner in gradients:
            for source in value.inputs:
                if source in ports and source.owner != value.owner:
                    found.setdefault(ports[source], {})[str(value.owner)] = None
    return {port: tuple(blocks) for port, blocks in found.items()}


@dataclass(frozen=True)
class LossMatrix:
    """Losses against variables: how large each gradient is, and how it points.

    ``norms[loss][variable]`` is the root mean square, None where no path connects;
    ``cosines[loss][variable]`` the cosine with the gradient of all losses together; and
    ``between[variable][a, b]`` that of the gradients of two losses: −1 where they work against
    each other. None where one of both is None or 0.
    """

    losses: tuple[PortPath, ...]
    variables: tuple[str, ...]
    norms: dict[PortPath, dict[str, float | None]]
    cosines: dict[PortPath, dict[str, float | None]]
    between: dict[str, dict[tuple[PortPath, PortPath], float | None]]


@explained
def loss_matrix(observed: ObservedFlow) -> LossMatrix:
    """Of a observed in which each loss was run by itself (see ``observe``)."""
    losses = observed.losses
    variables = tuple(observed.program.trainable)
    gradients = {loss: {v: observed.gradient(v, loss) for v in variables} for loss in losses}
    total = {v: observed.gradient(v) for v in variables}
    return LossMatrix(
        losses,
        variables,
        {a: {v: None if g is None else rms(g) for v, g in entry.items()}
         for a, entry in gradients.items()},
        {a: {v: cosine(g, total[v]) for v, g in entry.items()} for a, entry in gradients.items()},
        {
            v: {
                (a, b): cosine(gradients[a][v], gradients[b][v])
                for i, a in enumerate(losses)
                for b in losses[i + 1 :]
            }
            for v in variables
        },
    )  # fmt: skip
