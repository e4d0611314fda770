"""Watching the gradients that an optimiser of optax is given."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose
from gradwire.runtime.flow.words.sentences import names as listed
from gradwire.runtime.interchange.importing.capturing import capture
from gradwire.runtime.watch.findings import Findings
from gradwire.runtime.watch.reasons import Found, Trouble

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

_base: Any = import_module("optax").GradientTransformationExtraArgs
_jax: Any = sys.modules["jax"]  # which optax imports
_PATIENCE = 5
"""Steps in a row in which a gradient of exactly 0 must be seen before it is told."""


class WatchedOptimizer(_base):  # type: ignore[misc]  # a class of optax
    """An optimiser, ``init`` and ``update``, that looks at the gradients that it is given."""

    found: Sequence[Found]
    """Everything that was wrong, in the order in which it came up."""


def watch_optimizer(
    optimizer: object,
    loss: Callable[..., object] | None = None,
    *arguments: object,
    quiet: bool = False,
    on_finding: Callable[[Found], None] | None = None,
) -> WatchedOptimizer:
    """An optimiser of optax that does what another does, and says what is wrong with gradients.

    Those that are not finite are told at once, those that are exactly 0 after five steps; inside
    of ``jit`` too, with a callback at each update, to which one norm for each array goes. With the
    function that is differentiated and its arguments, ``loss, params, batch``, all that the doctor
    finds in it is told now, as ``gradwire.capture`` and ``diagnose`` do, and so what leaves a
    gradient 0. Its state is the other's, so checkpoints stay as they are.

    Findings go to standard error, of the first process, unless ``quiet``; ``on_finding`` is called
    with each. Raises what ``gradwire.capture`` does.
    """
    inner = import_module("optax").with_extra_args_support(optimizer)
    quiet = quiet or _jax.process_index() != 0
    looks = _Looks(Findings(quiet=quiet, on_finding=on_finding))
    if loss is not None:
        looks.diagnose(loss, arguments)

    def update(updates: object, state: object, params: object = None, **extra: object) -> object:
        floats = dict(_floats(updates))
        if floats:
            _jax.debug.callback(looks.of(tuple(floats)), _norms(floats.values()))
        return inner.update(updates, state, params, **extra)

    made = WatchedOptimizer(inner.init, update)
    made.found = looks.findings.all
    return made


def _floats(tree: object) -> Iterator[tuple[str, Any]]:
    """The floating-point arrays of a tree, by path, as captures name them."""
    for path, x in _jax.tree_util.tree_flatten_with_path(tree)[0]:
        if str(getattr(x, "dtype", "")).startswith(("float", "bfloat")):
            yield _jax.tree_util.keystr(path, simple=True, separator="/") or "params", x


def _norms(arrays: Any) -> Any:
    numpy = _jax.numpy
    return numpy.stack([numpy.linalg.norm(x.astype("float32").ravel()) for x in arrays])


class _Looks:
    """What was seen of gradients so far."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self._steps = 0
        self._zero: dict[str, int] = {}
        """For how many steps each gradient has been exactly 0."""
        self._explained: set[str] = set()

    def diagnose(self, loss: Callable[..., object], arguments: Sequence[object]) -> None:
        """Tell what the doctor finds in a function."""
        imported = capture(loss, *arguments)
        own = {path: name for name, path in imported.parameters.items()}
        for finding in diagnose(Session(imported.diagram)):
            paths = dict.fromkeys((finding.key, *finding.affected))
            about = [own[path] for path in paths if path in own]
            self._explained.update(name.replace(".", "/") for name in about)
            places = tuple(filter(None, [finding.written.partition(": ")[0]]))
            text = finding.sentence
            if about and not any(name in text for name in about):
                text = f"{listed(about)}: {text}"
            self.findings.tell(Found(Trouble.DIAGNOSED, tuple(about), text, 0, places))

    def of(self, names: Sequence[str]) -> Callable[[Array], None]:
        """Looks at the norms of the gradients of these names."""

        def look(norms: Array) -> None:
            self._look(dict(zip(names, norms.tolist(), strict=True)))

        return look

    def _look(self, norms: dict[str, float]) -> None:
        step, self._steps = self._steps, self._steps + 1
        bad = [name for name, norm in norms.items() if not math.isfinite(norm)]
        if bad:
            text = (
                f"The gradient of {listed(bad)} is not finite. Which operation made it, "
                "gradwire.why(loss, params, batch) says, with those of this step."
            )
            self.findings.tell(Found(Trouble.NOT_FINITE, tuple(bad), text, step))
        for name, norm in norms.items():
            self._zero[name] = self._zero.get(name, 0) + 1 if norm == 0 else 0
        zero = [n for n in norms if self._zero[n] == _PATIENCE and n not in self._explained]
        if zero:
            text = (
                f"{listed(zero)}: the gradient has been exactly 0 for {_PATIENCE} steps. Why, "
                "gradwire.why(loss, params, batch) says."
            )
            self.findings.tell(Found(Trouble.ZERO, tuple(zero), text, step))
