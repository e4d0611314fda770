"""The block instances of a diagram whose pages are expanded, and the aliases of their paths."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import InstancePath, PortName, PortPath, WirePath

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from gradwire.blocks.block import Block
    from gradwire.blocks.library.pages import Scan
    from gradwire.runtime.diagram.comparison import Comparison
    from gradwire.runtime.diagram.training import Training


@dataclass(slots=True)
class Instance:
    """One instance of a block: its path and, for each connected input, the wire and its source.

    ``wires`` maps input port → (wire, source port). A wire into a use of a page belongs to the
    PageInput behind that port but keeps its own path, ``enc.x``. The own variable of ``fc.weight``
    is an instance at ``fc/weight``, with a wire like that of any other variable.
    """

    path: InstancePath
    page: str
    name: str
    block: Block
    inputs: tuple[str, ...]
    wires: dict[str, tuple[WirePath, PortPath]] = field(default_factory=dict)
    outputs: tuple[PortPath, ...] = ()
    """Its outputs as the wires from them name them; empty where they follow from what it uses."""
    owned: str = ""
    """The input of the block ``name`` whose own variable this is; empty for the block itself."""
    part: str = ""
    """The block inside the Formula block ``name`` that this is, or what joins the steps of the
    Scan ``name``; empty for others."""
    like: InstancePath | None = None
    """The instance whose shape and dtype it must have: that of the step before, for what a Scan
    carries."""
    loop: InstancePath | None = None
    """The Scan of which this is in the step that stands for others."""
    after: tuple[PortPath, ...] = ()
    """What comes before it, beside what it reads."""

    @property
    def owner(self) -> PortName:
        """The input on its page that it is the own variable of."""
        return PortName(self.name, self.owned)

    def port(self, name: str) -> PortPath:
        """The path of a port of this block."""
        return self.path.port(name)


class FlatLoop(NamedTuple):
    """A Scan of which one step stands for all, or for all but the first to run.

    ``carried`` has what carries an output in, ``rows`` what gives a step its element, ``leaving``
    by output what the loop gives out.
    """

    scan: Scan
    standing: int
    """The number of the step that stands for others."""
    first: int | None
    """The number of the first step to run, where that is no part of the loop."""
    carried: Mapping[InstancePath, str]
    rows: Collection[InstancePath]
    leaving: Mapping[str, InstancePath]

    @property
    def steps(self) -> int:
        """The steps that it stands for."""
        return self.scan.steps - (self.first is not None)

    @property
    def start(self) -> int:
        """The lowest number of these steps."""
        return 1 if self.first == 0 else 0


class Loops(NamedTuple):
    """From when on Scans are loops."""

    long: int
    """Steps up to which a Scan is never a loop."""
    many: int
    """Steps up to which all steps are as good, unless the arrays of all are large."""


COMPILED = Loops(8, 8)
"""For what compiles a loop once, or writes it once."""
IN_ROWS = Loops(64, 256)
"""For NumPy, which computes many steps in a row fast while they fit into the caches."""


@dataclass
class Flat:
    """All instances in document order, and the aliases of their paths.

    ``aliases`` maps an output of a use (``enc.y``) to the PageOutput behind it; ``uses`` maps a
    page to the paths of its uses, each step of a Scan (``rnn/3``) one of them. ``scans`` has the
    Scans by path.

    ``aliases`` does the same for the outputs of Formula blocks and Scans.

    Uses of a page share its variables. A shared variable is one instance; its canonical path is
    that in the first use: the least nested, then the first in the document. ``shared`` maps its
    other paths to the canonical one, ``aliases`` their outputs to its output. ``owned`` maps an
    input (``fc.weight``) to the variable that its block owns (``fc/weight``).
    """

    instances: dict[InstancePath, Instance] = field(default_factory=dict)
    owned: dict[str, InstancePath] = field(default_factory=dict)
    aliases: dict[PortPath, PortPath] = field(default_factory=dict)
    uses: dict[str, list[InstancePath]] = field(default_factory=dict)
    scans: dict[InstancePath, Scan] = field(default_factory=dict)
    loops: dict[InstancePath, FlatLoop] = field(default_factory=dict)
    """The Scans of which one step stands for others, see ``flatten``."""
    shared: dict[InstancePath, InstancePath] = field(default_factory=dict)
    folder: Path | None = None
    """Where the file of the diagram is."""
    comparison: Comparison | None = None
    """How the diagram compares with the program that it comes from."""
    training: Training | None = None
    """How the diagram is trained."""
    in_order: bool = False
    """Whether it is known that each instance comes after those that it reads."""

    def canonical(self, name: str) -> str:
        """The path of a block or port, with that of an own or shared variable made canonical, and
        that of an output of a page, a Formula block or a Scan that of the output inside.
        """
        if self.loops:
            name = self.first_step(name)
        name = self.owned.get(name, self.aliases.get(PortPath(name), name))
        path = PortPath(name)
        variable = self.shared.get(path.block)
        if variable is None:
            return name
        return variable.port(path.port) if path.port else variable

    def names(self, variable: str) -> tuple[InstancePath, ...]:
        """All paths of a variable, the canonical one first."""
        first = InstancePath(self.canonical(variable))
        names = self._names.get(first, (first,))
        return tuple(dict.fromkeys(name for each in names for name in self._in_steps(each)))

    def first_step(self, name: str) -> str:
        """What a path in a step of a loop is called in the first one, if it stands for a variable;
        other paths as they are.
        """
        first = self.in_first_step(InstancePath(name))
        return first if first in self.owned or self._is_variable(first) else name

    def in_first_step(self, name: InstancePath) -> InstancePath:
        """A path in a step of a loop as it is in the first one; other paths as they are."""
        for path, loop in self.loops.items():
            if name.is_inside(path) and loop.scan.has_step(name.block_below(path) or ""):
                return name.in_step(path, 0)
        return name

    def _is_variable(self, name: str) -> bool:
        path = PortPath(name).block
        instance = self.instances.get(path)
        block = None if instance is None else instance.block
        return path in self.shared or (isinstance(block, Source) and block.kind == "variable")

    def _in_steps(self, path: InstancePath) -> list[InstancePath]:
        """A path in the first step of a loop as it is in each."""
        for scan, loop in self.loops.items():
            if path.is_inside(scan / "0"):
                return [path.in_step(scan, step) for step in range(loop.scan.steps)]
        return [path]

    @cached_property
    def _names(self) -> dict[InstancePath, tuple[InstancePath, ...]]:
        found: dict[InstancePath, list[InstancePath]] = {}
        for path, first in self.shared.items():
            found.setdefault(first, [first]).append(path)
        return {first: tuple(paths) for first, paths in found.items()}

    def source(self, port: PortPath) -> PortPath:
        """The port, or leaf, of the block that computes the value of ``port``."""
        if not self.aliases:
            return port
        whole = port.whole if port.leaf else port
        found = whole
        while found in self.aliases:
            found = self.aliases[found]
        return port if found is whole else found.with_leaf(port.leaf)

    def predecessors(self, instance: Instance) -> list[InstancePath]:
        """The blocks that an instance reads, in port order."""
        blocks = [self.source(source).block for _, source in instance.wires.values()]
        if instance.after:
            blocks += [self.source(source).block for source in instance.after]
        return [block for block in blocks if block in self.instances]


def topological_order(flat: Flat) -> tuple[list[Instance], list[InstancePath]]:
    """Instances in topological order, and the paths of those that depend on a cycle.

    Depth first, inputs in port order, like ``graph_order`` of arguments.
    """
    instances = list(flat.instances.values())
    if flat.in_order:
        return instances, []
    before = _sources(flat, instances)
    if all(source < place for place, sources in enumerate(before) for source in sources):
        return instances, []
    done = bytearray(len(before))
    result: list[int] = []
    for start in range(len(before)):
        stack = [start]
        while stack:
            place = stack.pop()
            if place < 0:  # all that it reads is done
                result.append(~place)
            elif not done[place]:
                done[place] = 1
                stack.append(~place)
                stack += [source for source in reversed(before[place]) if not done[source]]
    position = [0] * len(before)
    for i, place in enumerate(result):
        position[place] = i
    dependent: dict[int, None] = {}
    for place in result:
        if any(position[s] >= position[place] or s in dependent for s in before[place]):
            dependent[place] = None
    looped = [instances[place].path for place in dependent]
    return [instances[place] for place in result if place not in dependent], looped


def _sources(flat: Flat, instances: list[Instance]) -> list[list[int]]:
    """The places of the blocks that each instance reads, in port order."""
    places = {path: place for place, path in enumerate(flat.instances)}
    return [[places[block] for block in flat.predecessors(each)] for each in instances]
