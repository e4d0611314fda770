"""What has no rules: the parts of autograd's own graph between tensors that are known.

A tensor is known by its gradient edge, a node of autograd and the number of its output, and not
only by its identity. So no list of operators is needed: whatever lies between an unknown tensor and
known edges, an operator, a custom function, a call under torch.func or a compiled module, is one
Recorded block. Its vector-Jacobian products are read in the program's own backward pass, by hooks
that are set before it, and behind all hooks of the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.library.gradient import (
    GradientReversal,
    GradientScale,
    StopGradient,
    StraightThrough,
)
from gradwire.blocks.library.recorded import Recorded
from gradwire.blocks.values import Tensor as Numbers
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.capture.arrays import (
    divided,
    encoded,
    numbers_or_zeros,
    shown,
)
from gradwire.runtime.interchange.importing.torch.inspection import CAVEATS
from gradwire.runtime.interchange.importing.torch.memory import TrackedTensor
from gradwire.runtime.interchange.importing.torch.recorded.asking import UNSEEN, CallQuestion
from gradwire.runtime.interchange.importing.torch.recorded.edges import (
    NOT_SEEN,
    Old,
    edge_of,
    key_of,
    seen,
    seen_as,
)

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import StagedBlock
    from gradwire.runtime.interchange.importing.torch.capture.known import Port
    from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording
    from gradwire.runtime.interchange.importing.torch.recorded.asking import RecordedCall
    from gradwire.runtime.interchange.importing.torch.types import (
        Call,
        Edge,
        EdgeKey,
        Gradients,
        Kwargs,
        Node,
        Reference,
        RemovableHandle,
        Tensor,
    )

B = TypeVar("B", bound="Block")
K = TypeVar("K", bound="tuple[int, ...]")
_ROUNDING = 8
"""Machine epsilons of the largest gradient that smaller ones may be off by."""


@by_identity
class RegionSlot(NamedTuple):
    """A place at the edge of a region: the gradient that a node sends to an input."""

    node: Node
    number: int
    """Which of the node's own inputs it is."""
    input: int
    """The number of the region's input."""


@by_identity
class Known(NamedTuple):
    """A tensor at a gradient edge, and what stood for it then."""

    since: int
    node: Node
    """Kept, so that no other node takes its identity."""
    tensor: Reference
    """Gives the tensor; None once it is gone."""
    value: Staged | None


@dataclass(eq=False)
class TorchRegion:
    """One Recorded block in the making."""

    name: str
    takes: list[tuple[str, tuple[int, ...]]]
    gives: list[tuple[str, tuple[int, ...]]]
    seen: list[tuple[float, ...]]
    values: list[Array]
    """None of them where the value is that of the first input."""
    depends: list[set[int]]
    unasked: list[int] = field(default_factory=list)
    """The inputs that autograd kept no track of, so that nothing is known of their gradient."""
    made: Staged | None = None
    hook: Staged | None = None
    """What a hook is set on, whose value this has."""
    same: set[int] = field(default_factory=set)
    """The inputs that its output equals."""
    question: CallQuestion | None = None
    """What is asked for other inputs and gradients."""
    leaf: Tensor | None = None
    """The leaf that a hook runs for after its gradient was accumulated."""
    slots: list[RegionSlot] = field(default_factory=list)
    heads: list[tuple[Node, int] | None] = field(default_factory=list)
    """For each output the node that its gradient comes to, and the output of that node."""
    arrived: dict[tuple[int, int], Array] = field(default_factory=dict)
    """What arrived, by loss and output."""
    products: dict[tuple[int, int], Array] = field(default_factory=dict)
    """What was sent on by all outputs together, by loss and input."""
    parts: dict[tuple[int, int, int], Array] = field(default_factory=dict)
    """What one output alone sends on, by loss, output and input, where several got gradient."""

    @property
    def source(self) -> StagedBlock:
        """The block, once it has been added."""
        assert self.made is not None and self.made.source is not None
        return self.made.source

    def factor(self, slot: int) -> float | None:
        """By what all gradient that arrived was multiplied on the way to an input; None where it
        was not by one number.
        """
        found = {
            _factor(gradient, self.products.get((loss, slot)))
            for (loss, _), gradient in self.arrived.items()
        }
        return found.pop() if len(found) == 1 else None


def _factor(come: Array, sent: Array | None) -> float | None:
    if sent is None or sent.shape != come.shape:
        return None
    if np.array_equal(sent, come, equal_nan=True):
        return 1.0
    largest = np.argmax(np.abs(np.where(np.isfinite(come), come, 0)))
    if not come.flat[largest]:
        return None
    factor = float(f"{sent.flat[largest] / come.flat[largest]:.6g}")
    alike = np.allclose(sent, factor * come, rtol=1e-4, atol=0.0, equal_nan=True)
    return factor if factor and alike else None


class TorchRegions:
    """The gradient edges of one capture, and the regions between them. Not thread-safe."""

    def __init__(self, recording: CaptureRecording) -> None:
        self._recording = recording
        self._edges: dict[Edge, Known] = {}
        self._kept: list[Node] = []
        """Nodes that must not be freed: their identities are in use."""
        self.time = 0
        self.all: list[TorchRegion] = []
        self._loss = -1
        """The number of the loss whose gradients are on their way; -1 for none."""
        self._scale = 1.0
        """A factor in those gradients that the loss is recorded without."""
        self._rounding: dict[int, float] = {}
        """By loss, the size below which gradients are 0 but for rounding."""
        self._left_out: dict[int, tuple[Staged, Staged]] = {}
        """The outputs of hooks that change nothing, by identity, and what these are set on."""
        self.removable: list[RemovableHandle] = []
        """Handles of hooks on tensors that outlive the capture."""

    def note(self, tensor: Tensor, reference: Reference, entry: TrackedTensor) -> None:
        """A tensor is known from now on."""
        edge = edge_of(tensor)
        if edge is not None:
            self.time += 1
            value = entry.value if isinstance(entry.value, Staged) else None
            self._edges[id(edge[0]), edge[1]] = Known(self.time, edge[0], reference, value)

    def nodes(self) -> Iterator[tuple[Port, Node, int]]:
        """The outputs of blocks that gradient comes to, but for leaves, each with the node and the
        number of its output at which it does; of several the first.
        """
        seen = set()
        for (_, number), known in self._edges.items():
            value = known.value
            if value is None or value.source is None or hasattr(known.node, "variable"):
                continue
            port = value.source, value.port
            if port not in seen:
                seen.add(port)
                yield port, known.node, number

    # ---- adding them --------------------------------------------------------------------------

    def add(
        self,
        name: str,
        outputs: Sequence[Tensor],
        given: Sequence[Tensor] = (),
        since: int | None = None,
        forward: Sequence[Staged] = (),
        *,
        old: Mapping[EdgeKey, Old] = MappingProxyType({}),
        is_own: bool = False,
        call: RecordedCall | None = None,
    ) -> list[TrackedTensor]:
        """What stands for the outputs of a region, whose inputs autograd's graph names besides the
        ``given`` tensors.

        Edges that were noted after ``since`` lie inside. The value of a single output may be what
        ``forward`` computes, in any run. ``old`` are tensors that may have been written to, as they
        were. Where a node treats several tensors side by side, a region ``is_own`` has the slot of
        its output alone. The ``call`` that has made the outputs may be made again.
        """
        before = self.time if since is None else since
        recording, stage = self._recording, self._recording.stage
        inputs: dict[EdgeKey, tuple[Tensor | None, Staged]] = {}
        for tensor in given:
            inputs.setdefault(key_of(tensor), (tensor, recording.entry(tensor).read()))
        for key, was in old.items():
            inputs[key] = was.unchanged, was.value
        routes = [self._routes(tensor, before) for tensor in outputs]
        if is_own:
            routes = [[r for r in routes[0] if r[1] == outputs[0].output_nr]]
        for routes_of in routes:
            for node, _, edge in routes_of:
                if edge not in inputs:
                    inputs[edge] = self._at(edge, node)
        first = [(None, value) for value in forward]
        places = {key: len(first) + place for place, key in enumerate(inputs)}
        whole = [*first, *inputs.values()]
        if not inputs:
            return [TrackedTensor(stage.constant(encoded(tensor))) for tensor in outputs]
        values = [] if forward else [numbers_or_zeros(tensor) for tensor in outputs]
        is_off = not (torch.is_grad_enabled() or any(routes))
        unasked = [
            place
            for key, place in places.items()
            if whole[place][1].is_float and (is_off or not isinstance(key, tuple))
        ]
        known = {places[key]: was.seen for key, was in old.items()}
        region = TorchRegion(
            name=name,
            takes=[(x.dtype, x.shape) for _, x in whole],
            gives=[(x.dtype, x.shape) for x in forward]
            or [(value.dtype.name, value.shape) for value in values],
            seen=[known.get(place) or seen(tensor) for place, (tensor, _) in enumerate(whole)],
            values=values,
            depends=[{places[edge] for _, _, edge in found} for found in routes],
            unasked=[*(() if any(routes) or not unasked else range(len(first))), *unasked],
        )
        made = stage.blocks(
            "Recorded", *(x for _, x in whole), name=name, **parameters_of(region, 0)
        )
        if made[0].source is None:  # all of it is constant
            return [TrackedTensor(value) for value in made]
        slots = {
            (id(node), k): RegionSlot(node, k, places[edge]) for r in routes for node, k, edge in r
        }
        region.slots, region.heads = list(slots.values()), [edge_of(t) for t in outputs]
        region.made, region.hook = made[0], forward[0] if is_own else None
        if forward:
            region.same = {
                place
                for place, (tensor, _) in enumerate(whole)
                if tensor is not None and _are_equal(tensor, outputs[0])
            }
        if call is not None and not recording.live:
            region.question = CallQuestion(call, lambda x: places.get(key_of(x)), len(whole))
            region.question.expects(places.values())
        self.all.append(region)
        what = " and ".join(
            [*([] if forward else ["values"]), *(["gradients"] if any(routes) else [])]
        )
        if what:
            text = f"{name} has no rules: its {what} are those of this run. {CAVEATS.get(name, '')}"
            stage.remark("note", text.rstrip(), made[0])
        return [
            TrackedTensor(value, bool(tensor.requires_grad) and value.is_float)
            for tensor, value in zip(outputs, made, strict=True)
        ]

    def outside(self, name: str, given: Staged, numbers: Array, result: Array) -> Staged:
        """What a program may have computed outside of autograd from a value with these numbers."""
        region = TorchRegion(
            name=name,
            takes=[(given.dtype, given.shape)],
            gives=[(result.dtype.name, result.shape)],
            seen=[seen_as(numbers)],
            values=[result],
            depends=[set()],
        )
        made = self._recording.stage.block("Recorded", given, name=name, **parameters_of(region, 0))
        if made.source is not None:
            region.made = made
            self.all.append(region)
        return made

    def _routes(self, tensor: Tensor, before: int) -> list[tuple[Node, int, Edge]]:
        """The slots of nodes from which an edge leads out of the region that ends in a tensor."""
        start = edge_of(tensor)
        if start is None:
            return []
        found, pending, seen = [], [start[0]], {id(start[0])}
        while pending:
            node = pending.pop()
            self._kept.append(node)
            for k, (following, number) in enumerate(node.next_functions):
                if following is None:
                    continue
                edge = id(following), number
                known = self._edges.get(edge)
                if (known is not None and known.since <= before) or hasattr(following, "variable"):
                    self._kept.append(following)
                    found.append((node, k, edge))
                elif id(following) not in seen:
                    seen.add(id(following))
                    pending.append(following)
        return found

    def _at(self, edge: Edge, node: Node) -> tuple[Tensor | None, Staged]:
        """The tensor at an edge, None where it has been written to since, and its value there."""
        recording = self._recording
        known = self._edges.get(edge)
        if known is None:  # a leaf that has not come up yet
            ends = (
                end
                for end, number in node.next_functions
                if end is not None and (id(end), number) == edge
            )
            leaf = next(ends).variable
            return leaf, recording.entry(leaf).read()
        tensor = known.tensor()
        now = None if tensor is None else edge_of(tensor)
        if now is not None and (id(now[0]), now[1]) == edge and recording.knows(tensor):
            return tensor, recording.entry(tensor).read()
        if known.value is None:
            raise UnsupportedError("a tensor", "its value before an in-place change is not known")
        return None, known.value

    def hook(
        self,
        tensor: Tensor,
        entry: TrackedTensor,
        name: str,
        written: str,
        *,
        is_last: bool = False,
    ) -> TorchRegion | None:
        """A region that a hook on a tensor is: its value is the tensor's. None where no gradient
        comes to it.

        Gradient comes to hooks in the order in which they are set, and to one that ``is_last``
        once it has been accumulated.
        """
        if not entry.live or (is_last and any(x.leaf is tensor for x in self.all)):
            return None
        stage, value = self._recording.stage, entry.read()
        inner = value
        while (other := self._hook_of(inner)) is not None and (is_last or other.leaf is None):
            assert other.hook is not None
            inner = other.hook
        kind = [(value.dtype, value.shape)]
        region = TorchRegion(written, kind, kind, [seen(tensor)], [], [{0}])
        made = stage.block("Recorded", inner, name=name, **parameters_of(region, 0))
        if made.source is None:
            return None
        region.made, region.hook, region.same = made, inner, {0}
        region.leaf = tensor if is_last else None
        self.all.append(region)
        stage.reroute(inner, made)
        for one in self.all:
            if one.hook is inner and one is not region:
                one.hook = made
        if inner is value:
            entry.value = made
            for edge, known in self._edges.items():
                if known.value is value:
                    self._edges[edge] = known._replace(value=made)
        stage.remark("note", f"{written} changes this gradient: it is that of this run.", made)
        return region

    def unasked_hook(self, tensor: Tensor, value: Staged, written: str) -> Staged:
        """The value of a tensor behind a hook that no gradient came to."""
        kind = [(value.dtype, value.shape)]
        region = TorchRegion(written, kind, kind, [seen(tensor)], [], [{0}], unasked=[0])
        region.same = {0}
        stage = self._recording.stage
        made = stage.block("Recorded", value, name="hook", **parameters_of(region, 0))
        stage.remark(
            "note", f"No gradient came to {written}: what it makes of one is unknown.", made
        )
        return made

    def _hook_of(self, value: Staged) -> TorchRegion | None:
        """The hook on a tensor that a value comes from, if it does from one."""
        return next((x for x in self.all if x.made is value and x.hook and not x.heads), None)

    def around(self, region: TorchRegion, tensor: Tensor, call: Call) -> Any:
        """Let a hook be set between two that see what it is given and what it makes."""
        self.removable.append(tensor.register_hook(partial(self._take, region.arrived, 0)))
        result = call()
        self.removable.append(tensor.register_hook(partial(self._take, region.products, 0)))
        return result

    # ---- the backward pass --------------------------------------------------------------------

    @contextmanager
    def listening(self, scale: float = 1.0) -> Iterator[None]:
        """Keep what passes meanwhile, divided by the ``scale`` of the loss: the gradients of one
        loss more.
        """
        self._scale = scale
        self._loss = sum(1 for _ in self._recording.losses)
        handles: list[RemovableHandle] = []
        sharers: dict[Edge, list[TorchRegion]] = {}
        for region in self.all:
            if region.leaf is not None:
                handles += self._after_accumulation(region)
            nodes = {id(slot.node): slot.node for slot in region.slots}
            heads = [head for head in region.heads if head is not None]
            if len(heads) > 1 and nodes.keys() == {id(node) for node, _ in heads}:
                (node,) = nodes.values()
                handles.append(node.register_prehook(partial(self._divide, region, node)))
            for slot in region.slots:
                sharing = sharers.setdefault((id(slot.node), slot.number), [])
                sharing.append(region)
                handles.append(slot.node.register_hook(partial(self._sent, sharing, region, slot)))
            for place, head in enumerate(region.heads):
                if head is not None:
                    come = partial(self._take_one_of, region.arrived, place, head[1])
                    handles.append(head[0].register_prehook(come))
        for _, node, number in self.nodes() if self.all else ():
            handles.append(node.register_prehook(partial(self._sized, number)))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            self._loss, self._scale = -1, 1.0

    def _sized(self, number: int, gradients: Gradients) -> None:
        gradient = gradients[number]
        if gradient is None or gradient.layout != torch.strided:
            return
        if gradient.numel() > 1:  # a single number's gradient is not shared out among many
            largest = float(gradient.detach().abs().max()) / self._scale
            size = _ROUNDING * torch.finfo(gradient.dtype).eps * largest
            known = self._rounding.get(self._loss, 0.0)
            self._rounding[self._loss] = max(known, size if np.isfinite(size) else 0.0)

    def _divide(self, region: TorchRegion, node: Node, gradients: Gradients) -> None:
        """Ask a node what it makes of the gradient of each of its outputs alone."""
        places = [
            (place, head[1])
            for place, head in enumerate(region.heads)
            if head is not None and gradients[head[1]] is not None
        ]
        for place, number in places if len(places) > 1 else ():
            found = _sent_by(node, number, gradients[number])
            for slot in region.slots:
                if found and found[slot.number] is not None:
                    key = self._loss, place, slot.input
                    self._add(region.parts, key, encoded(found[slot.number]))

    def _after_accumulation(self, region: TorchRegion) -> list[RemovableHandle]:
        """Hooks around those that run once the gradient of a leaf has been accumulated."""
        leaf = region.leaf
        assert leaf is not None
        before: list[Any] = []

        def come(gradient: Tensor) -> None:
            before[:] = [None if leaf.grad is None else encoded(leaf.grad), gradient]
            self._take(region.arrived, 0, gradient)

        def sent(_: Tensor) -> None:
            earlier, gradient = before
            if leaf.grad is None:  # the hook has used it up
                self._take(region.products, 0, gradient)
            else:
                now = encoded(leaf.grad)
                made = now if earlier is None else now - earlier
                self._add(region.products, (self._loss, 0), made)

        return [leaf.register_hook(come), leaf.register_post_accumulate_grad_hook(sent)]

    def accumulated(self, loss: int) -> dict[int, Array]:
        """What hooks have made of the gradients of leaves that were accumulated, by identity."""
        return {
            id(region.leaf): region.products[loss, 0]
            for region in self.all
            if region.leaf is not None and (loss, 0) in region.products
        }

    def _sent(
        self,
        sharing: list[TorchRegion],
        region: TorchRegion,
        slot: RegionSlot,
        sent: Gradients,
        _: object,
    ) -> None:
        gradient = sent[slot.number]
        asked = [one for one in sharing if any(loss == self._loss for loss, _ in one.arrived)]
        if gradient is not None and asked and asked[-1] is not region:
            gradient = torch.zeros_like(gradient)  # it counts as that of what was made last
        self._take(region.products, slot.input, gradient)

    def _take(
        self, found: dict[tuple[int, int], Array], place: int, gradient: Tensor | None
    ) -> None:
        if gradient is not None and not gradient.is_meta:
            self._add(found, (self._loss, place), encoded(gradient))

    def _take_one_of(
        self, found: dict[tuple[int, int], Array], place: int, number: int, gradients: Gradients
    ) -> None:
        self._take(found, place, gradients[number])

    def _add(self, found: dict[K, Array], key: K, gradient: Array) -> None:
        array = divided(gradient, self._scale)
        found[key] = found[key] + array if key in found else array

    def finish(self, losses: int) -> None:
        """Complete the blocks by what has passed."""
        for handle in self.removable:
            handle.remove()
        is_unseen = any(NOT_SEEN in x.seen[0 if x.values else 1 :] for x in self.all)
        for region in self.all:
            if not self._is_simpler(region):
                block = Recorded(**parameters_of(region, losses, self._rounding))
                block = _written_like(block, region.source)
                if region.question is not None:
                    region.question.try_at_once(block.run, UNSEEN if is_unseen else "")
                    block = block.answered_by(region.question)
                region.source.block = block

    def settled(self, x: Staged) -> Staged:
        """A value without hooks that change nothing; ``finish`` finds them."""
        while id(x) in self._left_out:
            _, x = self._left_out[id(x)]
        return x

    def _is_simpler(self, region: TorchRegion) -> bool:
        """Whether a block of the library does what a region did in this run; it is put in place.

        So it is of what passes on a multiple of the gradient to one input, or none at all.
        """
        stage, source, made = self._recording.stage, region.source, region.made
        if region.values or not region.arrived or made is None:
            return False
        inputs = list(source.inputs.values())
        slots = {slot for _, slot in region.products}
        if not slots:
            source.block, source.inputs = _written_like(StopGradient(), source), {"x": inputs[0]}
            text = f"{region.name} stops the gradient here: its backward gives none in this run."
            stage.remark("cut", text, made)
            return True
        slot = min(slots)
        factor = region.factor(slot) if len(slots) == 1 else None
        x = inputs[slot]
        if factor is None or (x.shape, x.dtype) != (made.shape, made.dtype):
            return False
        if slot in region.same and factor == 1:
            stage.reroute(made, x)
            self._left_out[id(made)] = made, x
        elif slot in region.same:
            kind = GradientReversal if factor < 0 else GradientScale
            source.block = _written_like(kind(scale=abs(factor)), source)
            source.inputs = {"x": x}
        elif factor == 1:
            source.block = _written_like(StraightThrough(), source)
            source.inputs = {"hard": inputs[0], "soft": x}
        else:
            return False
        if region.hook is None or factor != 1:
            text = f"{region.name} passes gradient on times {factor:g} in this run."
            stage.remark("specialised", text, made)
        return True


def _written_like(block: B, source: StagedBlock) -> B:
    return block.model_copy(update={"written": source.block.written})


def parameters_of(
    region: TorchRegion, losses: int, rounding: Mapping[int, float] = MappingProxyType({})
) -> Kwargs:
    """The parameters of its Recorded block, with what is known of so many losses.

    What several outputs have sent on together, and none of them alone, counts as the first one's,
    and as 0 of the others.
    """
    arrays: dict[str, Numbers] = {"seen": Numbers(np.array(region.seen, np.float64))}
    arrays |= {f"value {j}": Numbers(value) for j, value in enumerate(region.values)}
    if losses:
        arrays["rounding"] = Numbers(np.array([rounding.get(k, 0.0) for k in range(losses)]))
    divided = {k for k, _, _ in region.parts if _adds_up(region, k)}
    for k in range(losses):
        left = {i: product for (loss, i), product in region.products.items() if loss == k}
        for j, slots in enumerate(region.depends):
            arrived = region.arrived.get((k, j))
            if arrived is None:
                continue
            arrays[f"arrived {k} {j}"] = Numbers(_fitting(arrived, region.gives[j]))
            if k in divided:
                for i in sorted(slots):
                    if (part := region.parts.get((k, j, i))) is not None:
                        arrays[f"product {k} {j} {i}"] = Numbers(_fitting(part, region.takes[i]))
                continue
            for i in sorted(slots & left.keys()):
                arrays[f"product {k} {j} {i}"] = Numbers(_fitting(left[i], region.takes[i]))
                left[i] = np.zeros_like(left[i])
    return {
        "operation": region.name,
        "takes": tuple(region.takes),
        "gives": tuple(region.gives),
        "depends": tuple(tuple(sorted(slots)) for slots in region.depends),
        "unasked": tuple(region.unasked),
        "keeps_value": not region.values,
        "losses": losses,
        "arrays": arrays,
    }


def _adds_up(region: TorchRegion, loss: int) -> bool:
    """Whether what outputs send on alone is, in sum, what they have sent on together."""
    totals: dict[int, Array] = {}
    for (k, _, i), part in region.parts.items():
        if k == loss:
            totals[i] = totals[i] + part if i in totals else part
    products = {i: product for (k, i), product in region.products.items() if k == loss}
    return totals.keys() == products.keys() and all(
        np.allclose(totals[i], product, rtol=1e-3, atol=1e-4 * np.abs(product).max(initial=0.0))
        for i, product in products.items()
    )


def _sent_by(node: Node, number: int, gradient: Tensor) -> Gradients:
    """What a node makes of the gradient of one output; nothing where it can't be asked."""
    shapes = node._input_metadata
    alone = [gradient if place == number else None for place in range(len(shapes))]
    try:
        if callable(node):
            found = node(*alone)
        else:  # a function of the user's, which takes zeros for None
            found = node.apply(
                *(
                    torch.zeros(shape.shape, dtype=shape.dtype) if g is None else g
                    for g, shape in zip(alone, shapes, strict=True)
                )
            )
    except (AttributeError, RuntimeError, TypeError):
        return ()
    return found if isinstance(found, tuple) else (found,)


def _are_equal(tensor: Tensor, other: Tensor) -> bool:
    if tensor.is_meta or other.is_meta:
        return False
    return tensor.shape == other.shape and np.array_equal(shown(tensor), shown(other))


def _fitting(array: Array, kind: tuple[str, tuple[int, ...]]) -> Array:
    dtype, shape = kind
    return np.broadcast_to(array, shape).astype(dtype)
