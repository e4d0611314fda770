"""Dependencies between blocks, also through pages, and cycles among them, which are errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.diagram.plain import blocks_of

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import DiagramView, PageView

Node: TypeAlias = str | PortName
"""A block, or one port of a use of a page, whose outputs need not depend on all its inputs."""

N = TypeVar("N", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Blocks of one page, each read by the next and the last by the first."""

    page: str
    blocks: tuple[str, ...]

    def __str__(self) -> str:
        return " → ".join((*self.blocks, self.blocks[0]))


class Dependencies:
    """The dependencies between blocks in each page of a diagram."""

    def __init__(self, diagram: DiagramView) -> None:
        self._pages = diagram.pages

    @cached_property
    def used(self) -> Mapping[str, tuple[str, ...]]:
        """The existing pages that each page uses as blocks."""
        return {
            name: tuple(
                dict.fromkeys(
                    block.page
                    for block in blocks_of(page, PageBlock).values()
                    if block.page in self._pages
                )
            )
            for name, page in self._pages.items()
        }

    @cached_property
    def recursive(self) -> tuple[tuple[str, ...], ...]:
        """Groups of pages that contain one another, and single pages that contain themselves."""
        groups = [set(group) for group in _loops(self.used, self.used.__getitem__)]
        return tuple(tuple(name for name in self.used if name in group) for group in groups)

    @cached_property
    def through(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """The PageOutputs that depend on each PageInput, by page; recursive pages are omitted."""
        found: dict[str, Mapping[str, tuple[str, ...]]] = {}
        entangled = {name for group in self.recursive for name in group}
        for name, *_ in strong_components(self.used, self.used.__getitem__):
            if name not in entangled:
                found[name] = _outputs_by_input(self._pages[name], _PageGraph(self, name, found))
        return found

    def users(self, page: str) -> list[str]:
        """The pages that use this one, directly or through others; not the page itself."""
        found: dict[str, None] = {page: None}
        queue = deque([page])
        while queue:
            inner = queue.popleft()
            for name, used in self.used.items():
                if inner in used and name not in found:
                    found[name] = None
                    queue.append(name)
        return list(found)[1:]

    def cycles(self, page: str) -> list[Cycle]:
        """A shortest cycle of each strongly connected component of the page."""
        if _is_acyclic(self._pages[page]):
            return []
        graph = _PageGraph(self, page)
        rank = {block: i for i, block in enumerate(self._pages[page].blocks)}
        found = []
        for component in _loops(graph.nodes(), graph.readers):
            first = min(component, key=lambda node: rank[_block(node)])
            found.append(Cycle(page, _blocks(_path(first, first, graph.readers))))
        return sorted(found, key=lambda cycle: rank[cycle.blocks[0]])

    def cycle_along(self, page: str, targets: Collection[PortName]) -> Cycle | None:
        """A cycle through one of these wires of the page, or None."""
        wires = self._pages[page].wires
        if not any(_may_lead(self._pages[page], to.block, wires[to].block) for to in targets):
            return None
        graph = _PageGraph(self, page)
        entered = [graph.node(target) for target in targets]
        components = strong_components(entered, graph.readers)
        component_of = {node: i for i, nodes in enumerate(components) for node in nodes}
        for target, entry in zip(targets, entered, strict=True):
            source = graph.node(wires[target])
            if component_of.get(source) == component_of[entry]:
                return Cycle(page, _blocks(_path(entry, source, graph.readers)))
        return None


class _PageGraph:
    """The dependency graph of one page: its nodes, and the readers of each."""

    def __init__(
        self,
        dependencies: Dependencies,
        page: str,
        through: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
    ) -> None:
        self._page = dependencies._pages[page]
        self._dependencies = dependencies
        self._through = through

    def node(self, port: PortName) -> Node:
        return port.block if self._inside(port.block) is None else port

    def nodes(self) -> Iterator[Node]:
        """The nodes where paths begin: blocks, and the inputs of uses of pages."""
        for name in self._page.blocks:
            inside = self._inside(name)
            if inside is None:
                yield name
            else:
                yield from (PortName(name, port) for port in inside)

    def readers(self, node: Node) -> list[Node]:
        blocks = self._page.blocks
        if isinstance(node, str):
            targets = self._page.ends.outward.get(node, ())
        else:
            inside = self._inside(node.block) or {}
            if node.port in inside:
                return [PortName(node.block, output) for output in inside[node.port]]
            wires = self._page.wires
            targets = tuple(
                target
                for target in self._page.ends.outward.get(node.block, ())
                if wires[target].port == node.port
            )
        return [self.node(target) for target in targets if target.block in blocks]

    def _inside(self, name: str) -> Mapping[str, tuple[str, ...]] | None:
        block = self._page.blocks.get(name)
        if not isinstance(block, PageBlock):
            return None
        through = self._dependencies.through if self._through is None else self._through
        once = through.get(block.page)
        return _over_steps(block, once) if isinstance(block, Scan) and once is not None else once


def _may_lead(page: PageView, begin: str, end: str) -> bool:
    """Whether wires lead from one block to another if all outputs of each block depend on all of
    its inputs. Searched from both ends, so that it takes no longer than the smaller side does.
    """
    inward, outward = page.ends
    ahead, behind, first, last = {begin}, {end}, {begin}, {end}
    while first and last:
        if ahead & last or behind & first:
            return True
        if len(first) <= len(last):
            first = {to.block for name in first for to in outward.get(name, ())} - ahead
            ahead |= first
        else:
            sources = (page.wires[to].block for name in last for to in inward.get(name, ()))
            last = {*sources} - behind
            behind |= last
    return False


def _is_acyclic(page: PageView) -> bool:
    """Whether there is no cycle even if all outputs of each block depend on all of its inputs.

    Source: Kahn 1962.
    """
    if _is_in_order(page):
        return True
    waiting = dict.fromkeys(page.blocks, 0)
    for target, source in page.wires.items():
        if target.block in waiting and source.block in waiting:
            waiting[target.block] += 1
    ready = [name for name, count in waiting.items() if not count]
    outward = page.ends.outward
    for name in ready:
        for target in outward.get(name, ()):
            block = target.block
            if block in waiting:
                waiting[block] -= 1
                if not waiting[block]:
                    ready.append(block)
    return len(ready) == len(waiting)


def _is_in_order(page: PageView) -> bool:
    """Whether each block comes after those that it reads, as in most files."""
    places = {name: place for place, name in enumerate(page.blocks)}
    for target, source in page.wires.items():
        reader, read = places.get(target.block), places.get(source.block)
        if reader is not None and read is not None and read >= reader:
            return False
    return True


def _over_steps(scan: Scan, once: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """The outputs of a Scan that depend on each input: also by what is carried between steps.

    ``once`` is the same for one step. All outputs depend on the condition.
    """
    carried: dict[str, list[str]] = {}
    for name, output in scan.carry.items():
        carried.setdefault(output, []).append(name)
    everything = dict.fromkeys(output for outputs in once.values() for output in outputs)
    found: dict[str, tuple[str, ...]] = {}
    for name in once:
        reached = dict.fromkeys([scan.carry[name]] if name in scan.carry else [])
        waiting, seen = [name], {name}
        while waiting:
            for output in once.get(waiting.pop(), ()):
                reached[output] = None
                again = [each for each in carried.get(output, ()) if each not in seen]
                seen.update(again)
                waiting += again
        found[name] = tuple(everything if scan.condition in reached else reached)
    return found


def _outputs_by_input(page: PageView, graph: _PageGraph) -> dict[str, tuple[str, ...]]:
    """The PageOutputs that depend on each PageInput.

    One pass over the components, readers first, with a bit mask of the outputs.
    """
    outputs = [name for name, block in page.blocks.items() if isinstance(block, PageOutput)]
    bit = {name: 1 << i for i, name in enumerate(outputs)}
    reach: dict[Node, int] = {}
    for component in strong_components(graph.nodes(), graph.readers):
        mask = 0
        for node in component:
            if isinstance(node, str):
                mask |= bit.get(node, 0)
            for reader in graph.readers(node):
                mask |= reach.get(reader, 0)
        reach.update(dict.fromkeys(component, mask))
    return {
        name: tuple(output for output in outputs if reach[name] & bit[output])
        for name, block in page.blocks.items()
        if isinstance(block, PageInput)
    }


def strong_components(
    nodes: Iterable[N], successors: Callable[[N], Iterable[N]]
) -> Iterator[list[N]]:
    """The strongly connected components reachable from ``nodes``, successors first.

    Iterative, so that the recursion limit does not restrict the depth. Source: Tarjan 1972.
    """
    index: dict[N, int] = {}
    low: dict[N, int] = {}
    stack: list[N] = []
    waiting: set[N] = set()
    for root in nodes:
        work: list[tuple[N, Iterator[N]]] = []
        following: N | None = None if root in index else root
        while following is not None or work:
            if following is not None:
                index[following] = low[following] = len(index)
                stack.append(following)
                waiting.add(following)
                work.append((following, iter(successors(following))))
                following = None
            node, rest = work[-1]
            for successor in rest:
                if successor not in index:
                    following = successor
                    break
                if successor in waiting:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component = [stack.pop()]
                    while component[-1] != node:
                        component.append(stack.pop())
                    waiting.difference_update(component)
                    yield component


def _loops(nodes: Iterable[N], successors: Callable[[N], Iterable[N]]) -> Iterator[list[N]]:
    """The components that contain a cycle."""
    for component in strong_components(nodes, successors):
        if len(component) > 1 or component[0] in successors(component[0]):
            yield component


def _path(start: N, goal: N, successors: Callable[[N], Iterable[N]]) -> list[N]:
    """A shortest path of at least one step, known to exist; both ends included."""
    came_from: dict[N, N] = {}
    queue = deque([start])
    while goal not in came_from:
        node = queue.popleft()
        for successor in successors(node):
            if successor not in came_from:
                came_from[successor] = node
                queue.append(successor)
    path = [goal, came_from[goal]]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def _block(node: Node) -> str:
    return node if isinstance(node, str) else node.block


def _blocks(nodes: Iterable[Node]) -> tuple[str, ...]:
    """The blocks on a path; a use of a page, of which it has two ports, appears once."""
    names: list[str] = []
    for node in nodes:
        if not names or names[-1] != _block(node):
            names.append(_block(node))
    if len(names) > 1 and names[0] == names[-1]:
        names.pop()
    return tuple(names)
