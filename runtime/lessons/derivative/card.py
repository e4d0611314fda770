"""The derivative card of a block: its formula, the rule of each input, and all of it in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.runtime.calculus.choices.table import notes
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.numbers.gradient_check import Check, check_gradients
from gradwire.runtime.flow.observed import ObservedFlow
from gradwire.runtime.lessons.recording import record_run
from gradwire.runtime.lessons.steps import BackwardStep, Phase, Steps
from gradwire.runtime.lessons.words import arrival_text, return_text

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine import Session
    from gradwire.runtime.lessons.derivative.local import LocalBlock


@dataclass(frozen=True, eq=False)
class VectorJacobian:
    """A Jacobian that is too large to be shown, times the gradient that arrives in this run.

    ``arriving`` has the shape of the output, ``returned`` that of the input.
    """

    output: str
    port: str
    arriving: Array
    returned: Array
    local: LocalBlock = field(repr=False)

    def row(self, index: int) -> Array:
        """The row of the Jacobian for one element of the output, in row-major order."""
        row = self.local.row(self.output, self.port, index)
        assert row is not None  # something goes back
        return row


@dataclass(frozen=True, eq=False)
class InputRule:
    """One input of a block.

    ``rule`` is the LaTeX of what goes back, for ``g`` arriving; None where nothing goes back,
    empty where it would be too long. ``jacobian`` is that of the first output: it has its shape,
    of ``output_rank`` axes, then that of the input; None for a large one, of which ``product`` has
    what there is to see if gradient arrives. ``text`` says what goes back in this run.
    """

    port: str
    rule: str | None
    jacobian: Array | None
    output_rank: int
    text: str
    product: VectorJacobian | None = None


@dataclass(frozen=True, eq=False)
class DerivativeCard:
    """What there is to say about the derivative of a block at the values of a run.

    ``formula`` is LaTeX. ``arrivals`` say what arrives at the outputs. ``check`` compares with a
    central difference; None where there is nothing to compare. ``differences`` say where other
    systems differ.
    """

    path: InstancePath
    type_name: str
    formula: str
    summary: str
    arrivals: tuple[str, ...]
    inputs: tuple[InputRule, ...]
    check: Check | None
    differences: tuple[str, ...]


@explained
def derivative_card(
    session: Session, block: str, losses: Sequence[str] | None = None
) -> DerivativeCard:
    """The card of the block at the path ``block``.

    Raises RunError if there is no such block, and what ``Session.backward`` does.
    """
    program, path = session.program, InstancePath(block)
    if path not in program.instances:
        raise RunError("There is no such block.", got=block, expected="the path of a block")
    flow = analyse(program, losses)
    run = record_run(session, flow, None)
    steps = Steps(ObservedFlow(flow, {"": run}, diagram=session.diagram), run, {}, {})
    local = steps.local(path)
    backward = steps.of(Phase.BACKWARD, path) if run.losses else None
    assert backward is None or isinstance(backward, BackwardStep)
    kind = program.block(path)
    return DerivativeCard(
        path,
        type(kind).type_name(),
        type(kind).formula,
        type(kind).summary(),
        () if backward is None else tuple(arrival_text(backward, a) for a in backward.arrivals),
        () if local is None else tuple(_inputs(local, backward)),
        _check(session, path),
        tuple(notes(type(kind).type_name())),
    )


def _inputs(local: LocalBlock, step: BackwardStep | None) -> list[InputRule]:
    rules = local.rules()
    texts = {back.port: return_text(step, back, local) for back in step.returns} if step else {}
    (output, *_) = local.outputs
    found = []
    for port in local.inputs:
        jacobian = None if rules[port] is None else _jacobian(local, output, port)
        is_large = jacobian is None and rules[port] is not None
        product = _product(local, output, port, step) if is_large else None
        rank, text = local.outputs[output].ndim, texts.get(port, "")
        found.append(InputRule(port, rules[port], jacobian, rank, text, product))
    return found


def _jacobian(local: LocalBlock, output: str, port: str) -> Array | None:
    try:
        return local.derivative(output, port).jacobian
    except GradwireError:
        return None  # such as of an output that is no float


def _product(
    local: LocalBlock, output: str, port: str, step: BackwardStep | None
) -> VectorJacobian | None:
    arrivals = () if step is None else step.arrivals
    arrived = {arrival.port.port: arrival.total for arrival in arrivals}
    arriving = arrived.get(output)
    returned = None if arriving is None else local.returned({output: arriving})[port]
    if arriving is None or returned is None:
        return None
    return VectorJacobian(output, port, arriving, returned, local)


def _check(session: Session, path: InstancePath) -> Check | None:
    return next(iter(check_gradients(session, [path])), None)
