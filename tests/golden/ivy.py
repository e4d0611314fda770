"""Stops of chosen leaves of a container, as ivy intends them with paths matched part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.paths import path_text
from gradwire.blocks.values import Tensor
from gradwire.runtime.build import Expression, block, build, constant, loss, variable
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State
from gradwire.runtime.flow.analyse import analyse
from tests.golden.cases import Case, choices, identified
from tests.golden.comparison import Comparison

STOP = "stop"


def cases(document: Mapping[str, Any]) -> Iterator[Case]:
    """Those with gradients, then those about odd containers, where our results are our own."""
    for identity, case in identified(document):
        yield Case(identity, partial(check, case))
    own = choices("ivy_containers")
    for case in document.get("sequences_and_misc") or ():
        name = f"misc {case['id']}"
        if case["id"] in own["left_out"]:
            yield Case(name, None, own["left_out"][case["id"]])
        else:
            yield Case(name, partial(check_misc, own["misc"][case["id"]]))


def check(case: Mapping[str, Any]) -> Comparison:
    """Stop the leaves, and compare what comes out, what is stopped, the loss and its gradients."""
    expected = case["intended_path_aware"]
    comparison = Comparison()
    leaves: dict[str, Expression] = {}
    tree = _packed(case["tree"], (), leaves, direct=case.get("inputs_are_leaf_variables", True))
    chains = case.get("key_chains")
    stop = block(
        "StopGradient",
        tree,
        name=STOP,
        only=None if chains is None else _patterns(chains),
        invert=not case.get("to_apply", True),
        prune=bool(case.get("prune_unapplied")),
    )
    paths = expected["output_paths"]
    total = _weighed(stop, paths, sorted(leaves))
    session = Session(build(loss(total, name="loss"), *leaves.values(), stop))
    run = session.backward(["loss"])
    _compare_stop(comparison, session, expected)
    same = case.get("ivy_actual", expected)["output_paths"] == paths
    if same and case.get("loss") is not None:  # the loss is that of ivy's paths
        comparison.close("loss", case["loss"], run.values["loss.out"])
    for path, gradient in expected["grads"].items():
        name = str(leaves[path].node.name)
        comparison.close(f"gradient of {path}", gradient, run.gradients[name])
        flow = analyse(session.program, ["loss"]).variable(name).state
        comparison.same(f"whether {path} carries", gradient is not None, flow is State.CARRIES)
    return comparison


def check_misc(case: Mapping[str, Any]) -> Comparison:
    """Stop all leaves of a container, and compare what comes out, or that it is refused.

    A result that is written to changes neither the next result nor the input.
    """
    comparison = Comparison()
    stop = block("StopGradient", _built(case["tree"]), name=STOP, sequences=case["sequences"])
    session = Session(build(stop))
    if "error" in case:
        try:
            comparison.same("error", case["error"], str(session.run().tree("stop.out")))
        except GradwireError as error:
            comparison.same("error", True, case["error"] in str(error))
        return comparison
    for time in ("first", "second"):
        run = session.run()
        comparison.same(f"{time} result", str(case["result"]), str(_plain(run.tree("stop.out"))))
        for port in session.program.leaf_ports("stop.out"):
            comparison.same(f"{port} stops", True, session.program.ports[port].primitive.stops)
        for array in run.values.values():
            array[...] = 99.0
    return comparison


def _compare_stop(comparison: Comparison, session: Session, expected: Mapping[str, Any]) -> None:
    tree = session.program.trees["stop.out"]
    out = {path_text(path): port for path, port in tree.arrays.items()}
    comparison.same("paths that come out", sorted(expected["output_paths"]), sorted(out))
    stopped = sorted(p for p, port in out.items() if session.program.ports[port].primitive.stops)
    comparison.same("paths that are stopped", sorted(expected["applied_paths"]), stopped)


def _weighed(stop: Expression, paths: list[str], known: list[str]) -> Expression:
    """Σᵢ (i + 1) Σ leafᵢ² over those paths, i being the place of a path among all."""
    total = constant("nothing", 0.0, dtype="float64")
    if paths:
        parts = block("Unpack", block("Square", stop), paths=paths)
        for path in paths:
            total = total + (known.index(path) + 1.0) * block("Sum", parts[path])
    return total


def _packed(
    tree: Any, above: tuple[str, ...], leaves: dict[str, Expression], *, direct: bool
) -> Expression:
    """Packs of variables; lists of numbers are arrays. ``leaves`` gets the variables by path."""
    if isinstance(tree, Mapping):
        keys = [path_text((str(key),)) for key in tree]
        items = [_packed(tree[k], (*above, str(k)), leaves, direct=direct) for k in tree]
        return block("Pack", *items, keys=keys)
    if _is_sequence(tree):
        items = [_packed(x, (*above, str(i)), leaves, direct=direct) for i, x in enumerate(tree)]
        return block("Pack", *items)
    path = path_text(above)
    made = variable(f"v{len(leaves)}", Tensor(tree), dtype="float64")
    leaves[path] = made
    return made if direct else made * 1.0


def _built(tree: Any) -> Expression:
    """Packs of constants, from lists, mappings and ``{"array": numbers}``; the rest is passive."""
    if isinstance(tree, Mapping) and set(tree) == {"array"}:
        return block("Constant", value=Tensor(tree["array"]), dtype="float64")
    if not isinstance(tree, Mapping):
        return block("Pack", *map(_built, tree))
    kept = {key: item for key, item in tree.items() if isinstance(item, Mapping | list)}
    extras = {path_text((k,)): item for k, item in tree.items() if k not in kept}
    keys = [path_text((key,)) for key in kept]
    return block("Pack", *map(_built, kept.values()), keys=keys, extras=extras)


def _is_sequence(tree: Any) -> bool:
    if not isinstance(tree, list):
        return False
    return any(isinstance(item, Mapping) or _is_sequence(item) for item in tree)


def _patterns(chains: Any) -> list[str]:
    """ivy's forms of key chains: a list, one text, or a container with their structure."""
    if isinstance(chains, str):
        return [chains]
    if isinstance(chains, Mapping):
        return [
            "/".join([path_text((key,)), rest]).rstrip("/")
            for key, below in chains.items()
            for rest in (_patterns(below) if isinstance(below, Mapping) else [""])
        ]
    return list(chains)


def _plain(tree: Any) -> Any:
    """The tree with its arrays written as ``{"array": numbers}``."""
    if isinstance(tree, np.ndarray):
        return {"array": tree.tolist()}
    if isinstance(tree, Mapping):
        return {key: _plain(item) for key, item in tree.items()}
    return [_plain(item) for item in tree] if isinstance(tree, list) else tree
