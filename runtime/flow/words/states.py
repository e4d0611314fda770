"""The table of states: everything that is shown, drawn, spoken or ranked by state reads it here.

A new numeric state is a member of ``State``, its row in ``STATES``, and a rule in
``gradwire.runtime.flow.numbers.rules``; nothing else repeats the list. Colours are roles, which
``gradwire.app.services.theme`` maps to a colour of each theme, and forms of lanes are names, which
``gradwire.app.canvas.paint.wires.lanes`` draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum, StrEnum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import OLDER_STATES

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath


class State(StrEnum):
    """What a wire says about the gradient of one loss; ``row`` is its row in the table."""

    CARRIES = "CARRIES"
    PARTIAL = "PARTIAL"
    ZERO = "ZERO"
    VANISHING = "VANISHING"
    EXPLODING = "EXPLODING"
    NONFINITE = "NONFINITE"
    STOPPED = "STOPPED"
    NO_RULE = "NO RULE"
    OFF_ROUTE = "OFF ROUTE"
    FROZEN = "FROZEN"
    NOTHING_TO_TRAIN = "NOTHING TO TRAIN"
    UNKNOWN = "UNKNOWN"
    FAINT = VANISHING
    FLOOD = EXPLODING
    """The last two are older names of others."""

    @classmethod
    def _missing_(cls, value: object) -> State | None:
        newer = OLDER_STATES.get(str(value))
        return None if newer is None else cls(newer)

    @property
    def row(self) -> StateRow:
        """What the table says about this state."""
        return STATES[self]


class Form(Enum):
    """The line of a lane: what tells states apart besides colour."""

    NONE = auto()
    SOLID = auto()
    LONG_DASH = auto()
    HOLLOW = auto()
    BEADS = auto()
    SAW = auto()
    ZIGZAG = auto()
    DASH = auto()
    DASH_DOT = auto()
    DOTS = auto()
    HATCH = auto()


class ColourRole(Enum):
    """What a colour of a lane stands for."""

    GRADIENT = auto()
    SMALL = auto()
    LARGE = auto()
    BROKEN = auto()
    STOPPED = auto()
    CUT = auto()
    ABSENT = auto()
    FROZEN = auto()
    PLAIN = auto()


@dataclass(frozen=True, slots=True)
class Complaint:
    """What the doctor complains of: its name in JSON, in words, and how grave it is.

    The lowest ``gravity`` is listed first. An error is wrong whatever was meant; the others may be
    intended.
    """

    name: str
    words: str
    gravity: int
    is_error: bool = False
    effect: str = ""
    """What a variable that it affects gets."""


NO_GRADIENT = Complaint("no_gradient", "no gradient", 3, effect="no gradient")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRow:
    """Everything that is particular to one state, but for the rule that assigns it.

    In ``legend`` thresholds stand in braces by name (see ``Thresholds``). In ``label``, the words
    beside a lane, ``{rms}`` and ``{zeros}`` stand for the size of the gradient and its share of
    zeros. ``sentence`` explains a numeric state that has no explanation of its own in
    ``numeric_sentences``: ``{rms}``, ``{peak}``, ``{zeros}`` and ``{total}`` stand for what was
    measured.
    """

    rank: int = 0
    """Over several losses a wire is in the state of lowest rank; 0 where gradient passes."""
    numeric: bool = False
    """Refines CARRIES after a run; the others follow from structure alone."""
    title: str
    legend: str
    spoken: str
    """What a screen reader says about a wire in this state."""
    search: str = ""
    """Words, besides the state's name, that find blocks with such a wire."""
    form: Form
    colour: ColourRole
    glyph: str = ""
    """Drawn in the middle of the lane."""
    cut: str = ""
    """Drawn where the gradient is cut."""
    label: str = ""
    sign: str = ""
    """Marks a page that has such a wire inside."""
    concern: int = 0
    """A page shows the sign of the wire of most concern inside it; 0 is no reason for concern."""
    complaint: Complaint | None = None
    """What the doctor says about a variable in this state; None where nothing is wrong."""
    accent: str = "bright_black"
    """Colour in a terminal, as rich names it."""
    sentence: str = ""

    @property
    def passes(self) -> bool:
        """Gradient passes, whatever its size."""
        return self.rank == 0

    def label_of(self, rms: str = "", zeros: str = "") -> str:
        """The words beside a lane: ``0``, ``37 %``, ``▲ 10⁵``, or none."""
        return self.label.format(rms=rms, zeros=zeros).strip()


STATES: Mapping[State, StateRow] = MappingProxyType(
    {
        State.CARRIES: StateRow(
            title="Carries gradient",
            legend="carries gradient; width: its size",
            spoken="carries gradient",
            form=Form.SOLID,
            colour=ColourRole.GRADIENT,
            accent="green",
        ),
        State.PARTIAL: StateRow(
            numeric=True,
            title="Carries, partly zero",
            legend="carries; at least {partial} of it is zero",
            spoken="carries gradient, partly zero",
            form=Form.LONG_DASH,
            colour=ColourRole.GRADIENT,
            label="{zeros}",
            sign="½",
            concern=2,
            accent="green",
        ),
        State.ZERO: StateRow(
            numeric=True,
            title="Connected, but zero",
            legend="connected, but zero",
            spoken="connected, but its gradient is zero",
            form=Form.HOLLOW,
            colour=ColourRole.GRADIENT,
            label="0",
            sign="0",
            concern=4,
            complaint=Complaint("zero", "zero gradient", 4, effect="0"),
            accent="yellow",
        ),
        State.VANISHING: StateRow(
            numeric=True,
            title="Carries, vanishing",
            legend="vanishing: below {vanishing}, or {vanishing_relative} × the loss's own",
            spoken="carries a vanishing gradient",
            search="vanishing",
            form=Form.BEADS,
            colour=ColourRole.SMALL,
            label="▽ {rms}",
            sign="▽",
            concern=5,
            complaint=Complaint("vanishing", "too small", 6, effect="a gradient that is too small"),
            accent="yellow",
        ),
        State.EXPLODING: StateRow(
            numeric=True,
            title="Carries, exploding",
            legend="exploding: above {exploding}, or {exploding_relative} × the loss's own",
            spoken="carries an exploding gradient",
            search="exploding",
            form=Form.SAW,
            colour=ColourRole.LARGE,
            label="▲ {rms}",
            sign="▲",
            concern=8,
            complaint=Complaint("exploding", "too large", 5, effect="a gradient that is too large"),
            accent="yellow",
        ),
        State.NONFINITE: StateRow(
            numeric=True,
            title="Not finite",
            legend="NaN or infinite",
            spoken="its gradient is not finite",
            search="nan infinite",
            form=Form.ZIGZAG,
            colour=ColourRole.BROKEN,
            label="NaN",
            sign="NaN",
            concern=9,
            complaint=Complaint("nonfinite", "not finite", 1, is_error=True, effect="NaN or ∞"),
            accent="red",
        ),
        State.STOPPED: StateRow(
            rank=2,
            title="Stopped",
            legend="stopped by StopGradient",
            spoken="stopped",
            form=Form.DASH,
            colour=ColourRole.STOPPED,
            cut="⊣",
            sign="⊣",
            concern=6,
            complaint=NO_GRADIENT,
            accent="red",
        ),
        State.NO_RULE: StateRow(
            rank=3,
            title="No derivative",
            legend="cut: not differentiable",
            spoken="cut, not differentiable",
            search="cut not differentiable",
            form=Form.DASH_DOT,
            colour=ColourRole.CUT,
            cut="∅",
            sign="∅",
            concern=7,
            complaint=NO_GRADIENT,
            accent="magenta",
        ),
        State.OFF_ROUTE: StateRow(
            rank=5,
            title="Off route",
            legend="no path to the loss",
            spoken="on no path to the loss",
            search="no path",
            form=Form.DOTS,
            colour=ColourRole.ABSENT,
            glyph="↛",
            sign="↛",
            concern=3,
            complaint=NO_GRADIENT,
        ),
        State.FROZEN: StateRow(
            rank=1,
            title="Frozen",
            legend="only frozen variables behind it",
            spoken="only frozen variables behind it",
            form=Form.NONE,
            colour=ColourRole.FROZEN,
            glyph="❄",
        ),
        State.NOTHING_TO_TRAIN: StateRow(
            rank=4,
            title="Nothing to train",
            legend="no variable behind it",
            spoken="no variable behind it",
            form=Form.NONE,
            colour=ColourRole.PLAIN,
        ),
        State.UNKNOWN: StateRow(
            rank=6,
            title="Not known",
            legend="not computed",
            spoken="not computed",
            search="not computed",
            form=Form.HATCH,
            colour=ColourRole.ABSENT,
            glyph="?",
            sign="?",
            concern=1,
            accent="yellow",
        ),
    }
)
"""A row for every state, in the order of the legend."""

PASSING = frozenset(state for state, row in STATES.items() if row.passes)
"""States in which gradient passes, whatever its size."""


def best(states: Iterable[State], default: State = State.UNKNOWN) -> State:
    """The state of lowest rank, of equals the first."""
    return min(states, key=lambda state: state.row.rank, default=default)


@dataclass(frozen=True, slots=True)
class Cutter:
    """A closed slot that cuts: input ``port`` of ``block``.

    ``kind`` is "stop" for a StopGradient, "no rule" for arithmetic without a derivative;
    ``why`` says the latter in words, and ``remedy`` what would help, None where nothing would
    because the slot is closed on purpose. In a repair ``leaf`` is the path of the leaf of a tree
    that a StopGradient would have to let through; else it is empty. ``bypassable`` is False where
    no StraightThrough fits, as the shapes before and behind the slot differ. ``written`` is where
    an imported program has the block.
    """

    block: InstancePath
    port: str
    kind: str
    why: str = ""
    leaf: str = ""
    remedy: str | None = field(default=None, compare=False)
    bypassable: bool = field(default=True, compare=False)
    written: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.block

    @property
    def named(self) -> str:
        """The block, and where a program has it: ``detach (model.py:42)``.

        What the program says there, which may follow a colon, is left out.
        """
        place, _, _ = self.written.partition(": ")
        return f"{self.block} ({place})" if place else self.block

    @property
    def wire(self) -> WirePath:
        """The wire into the slot."""
        return self.block.wire(self.port)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why one wire, or one variable, carries the gradient of a loss or not.

    ``wire`` is the wire's key (or the variable's path), ``witness`` the blocks of the cheapest
    route from the loss to it, ``cutters`` the closed slots on the way, ``frozen`` the variables
    that would have to be trainable. ``repair`` are the fewest slots that would have to open, from
    the loss on. Long ones are computed on demand (see LazySequence); ``frozen`` has the
    first few. On a wire with a tree ``leaves`` is how many of its arrays carry gradient, and how
    many there are.
    """

    wire: str
    loss: PortPath | None
    state: State
    sentence: str
    cutters: Sequence[Cutter] = ()
    witness: Sequence[str] = ()
    frozen: tuple[str, ...] = ()
    repair: Sequence[Cutter] = ()
    leaves: tuple[int, int] | None = None
    cure: str = ""

    def __repr__(self) -> str:
        return f"<{self.state.value} {self.wire}: {self.sentence}>"
