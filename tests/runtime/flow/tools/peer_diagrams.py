"""Diagrams computed block by block in PyTorch and in JAX, for the gradients of their variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from gradwire.blocks.block import Source
from gradwire.blocks.library.gradient import Gradient
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.trees import Tree
from gradwire.runtime.engine.flat import topological_order
from gradwire.runtime.engine.infer import results_of
from tests.runtime.calculus.peers import jax as in_jax
from tests.runtime.calculus.peers import pytorch

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.paths import InstancePath, PortPath
    from gradwire.runtime.engine.flat import Instance
    from gradwire.runtime.flow.observed import ObservedFlow

Array = np.ndarray[Any, Any]
Found = dict[str, "Array | None"] | None
"""Gradients by variable; None where the system raises an error."""
RANDOM = {"RandomNormal", "RandomUniform"}
PASSING = {"Display", "PageInput", "PageOutput", "Loss"}
ON_TREES = {"Pack", "Unpack", "Merge", "Pick"}


class NotThere(Exception):
    """The system has nothing that corresponds to a block."""


class Peer(ABC):
    """A system that a diagram is computed in once it was run here."""

    functions: Mapping[str, Callable[..., Any]]
    has: Callable[[Block], bool]

    def __init__(self, observed: ObservedFlow, dtype: str | None = None) -> None:
        run = observed.run()
        assert run is not None
        self._program, self._ran, self._dtype = observed.program, run.values, dtype
        self._instances: list[Instance] = topological_order(observed.program.flat)[0]
        self._losses = {port.whole for port in observed.losses}
        for instance in self._instances:
            for port in instance.inputs:
                source = self._source(instance, port)
                if source in self._losses and isinstance(self._block(source), Loss):
                    raise NotThere("Something reads a loss.")

    @property
    def trained(self) -> list[str]:
        """The variables that want a gradient."""
        return self._program.trainable

    def gradients(self) -> Found:
        """The gradients of the sum of the losses."""
        leaves = {path: self._leaf(path) for path in self._program.leaves}
        return self._gradients({path: x for path, x in leaves.items() if x is not None})

    # ---- what systems do differently ------------------------------------------------------------

    @abstractmethod
    def array(self, array: Array) -> Any:
        """An array of the system."""

    @abstractmethod
    def _gradients(self, leaves: Mapping[str, Any]) -> Found: ...

    @abstractmethod
    def _gradient(self, instance: Instance, found: dict[PortPath, Any], leaves: Any) -> Any:
        """The output of a Gradient block."""

    @abstractmethod
    def _stopped(self, x: Any) -> Any: ...

    @abstractmethod
    def _stacked(self, parts: Sequence[Any]) -> Any: ...

    # ---- the computation ------------------------------------------------------------------------

    def values(
        self,
        leaves: Mapping[str, Any],
        given: Mapping[PortPath, Any] | None = None,
        last: InstancePath | None = None,
    ) -> dict[PortPath, Any]:
        """Values by port, up to those of the block ``last``; those ``given`` take their place."""
        found: dict[PortPath, Any] = {}
        for instance in self._instances:
            ports = [instance.port(name) for name in instance.block.output_names()]
            found |= zip(ports, self._outputs(instance, found, leaves), strict=True)
            found |= {port: given[port] for port in ports if given and port in given}
            if instance.path == last:
                break
        return found

    def total(self, found: Mapping[PortPath, Any]) -> Any:
        """The sum of the losses, each with the factor that its gradient begins with."""
        terms = []
        for port in sorted(self._losses):
            whole = found[port]
            for x in whole.arrays.values() if isinstance(whole, Tree) else (whole,):
                terms.append((x * self._factor(self._block(port), x)).sum())
        return sum(terms[1:], terms[0])

    def _factor(self, block: Block, x: Any) -> Any:
        if not isinstance(block, Loss):
            return 1
        count = {"none": 1, "batch": x.shape[0] if x.ndim else 1}.get(block.normalization)
        if count is None:
            count = (self._stopped(x) > block.threshold).sum().clip(1)
        return block.scale / count

    def _outputs(self, instance: Instance, found: dict[PortPath, Any], leaves: Any) -> list[Any]:
        block, kind = instance.block, instance.block.type_name()
        if isinstance(block, Source):
            return [leaves[instance.path]]
        if kind in RANDOM:
            return [self.array(self._ran[instance.port("out")])]
        if isinstance(block, Gradient):
            return [self._gradient(instance, found, leaves)]
        arguments = [self._argument(instance, port, found) for port in instance.inputs]
        xp = SimpleNamespace(
            stop_gradient=self._stopped,
            stack=self._stacked,
            trace=SimpleNamespace(remark=lambda *_: None),
        )
        return results_of(block, xp, instance.inputs, arguments, self._forward)

    def _forward(self, block: Block, xp: Any, inputs: Sequence[Any]) -> Any:
        kind = block.type_name()
        if kind in PASSING:
            return inputs[0]
        if kind in ON_TREES or any(isinstance(x, Tree) for x in inputs):
            return block.forward(xp, *inputs)
        if not self.has(block):
            raise NotThere(kind)
        return self.functions[kind](block, *inputs)

    def _argument(self, instance: Instance, port: str, found: Mapping[PortPath, Any]) -> Any:
        if port in instance.wires:
            return found[self._source(instance, port)]
        if port in instance.block.literals:
            return self.array(instance.block.literals[port].tensor.array)
        declared = instance.block.port(port)
        return None if declared is None else declared.default

    def _source(self, instance: Instance, port: str) -> PortPath | None:
        wire = instance.wires.get(port)
        return None if wire is None else self._program.flat.source(wire[1])

    def _block(self, port: PortPath) -> Block:
        return self._program.block(port.block)

    def _leaf(self, path: str) -> Any:
        instance = self._program.flat.instances.get(path)
        if instance is None or not isinstance(instance.block, Source):
            return None  # a literal
        return self.array(self._ran[instance.port("out")])

    def _converted(self, array: Array) -> Array:
        return array.astype(self._dtype) if self._dtype and array.dtype.kind == "f" else array


class InPyTorch(Peer):
    functions = pytorch.FUNCTIONS
    has = staticmethod(pytorch.has)

    def array(self, array: Array) -> Any:
        return torch.tensor(self._converted(array))

    def _gradients(self, leaves: Mapping[str, Any]) -> Found:
        trained = [leaves[name].requires_grad_() for name in self.trained]
        for port in self._differentiated():
            if port.block in leaves:
                leaves[port.block].requires_grad_()
        total = self.total(self.values(leaves))
        if not total.requires_grad:
            return None
        found = torch.autograd.grad(total, trained, allow_unused=True)
        named = zip(self.trained, found, strict=True)
        return {name: None if g is None else g.numpy(force=True) for name, g in named}

    def _differentiated(self) -> Iterator[PortPath]:
        for instance in self._instances:
            if isinstance(instance.block, Gradient):
                source = self._source(instance, "wrt")
                assert source is not None
                yield source

    def _gradient(self, instance: Instance, found: dict[PortPath, Any], leaves: Any) -> Any:
        of, wrt = (self._argument(instance, port, found) for port in ("of", "wrt"))
        zeros = torch.zeros_like(wrt)
        if not of.requires_grad or not wrt.requires_grad:
            return zeros
        (slope,) = torch.autograd.grad(of.sum(), wrt, create_graph=True, allow_unused=True)
        return zeros if slope is None else slope

    def _stopped(self, x: Any) -> Any:
        return x.detach()

    def _stacked(self, parts: Sequence[Any]) -> Any:
        return torch.stack(list(parts))


class InJax(Peer):
    compiled = False
    functions = in_jax.FUNCTIONS
    has = staticmethod(in_jax.has)

    def array(self, array: Array) -> Any:
        return jnp.asarray(self._converted(array))

    def _gradients(self, leaves: Mapping[str, Any]) -> Found:
        trained = {name: leaves[name] for name in self.trained}
        gradients = jax.grad(lambda given: self.total(self.values({**leaves, **given})))
        found = (jax.jit(gradients) if self.compiled else gradients)(trained)
        return {name: np.asarray(g) for name, g in found.items()}

    def _gradient(self, instance: Instance, found: dict[PortPath, Any], leaves: Any) -> Any:
        of, wrt = (self._source(instance, port) for port in ("of", "wrt"))
        assert of is not None and wrt is not None

        def total(x: Any) -> Any:
            return self.values(leaves, {wrt: x}, of.block)[of].sum()

        return jax.grad(total)(found[wrt])

    def _stopped(self, x: Any) -> Any:
        return jax.lax.stop_gradient(x)

    def _stacked(self, parts: Sequence[Any]) -> Any:
        return jnp.stack(list(parts))


class InCompiledJax(InJax):
    """As one function: a third of the time, but XLA leaves out some of 0 · ∞."""

    compiled = True


PEERS: dict[str, tuple[type[Peer], ...]] = {
    "PyTorch": (InPyTorch,), "JAX": (InCompiledJax, InJax),
}  # fmt: skip
"""What runs a diagram in each system; the next where the one before gives other numbers."""
