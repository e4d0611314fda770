"""Captures a function of JAX as a diagram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram.comparison import MAX_LINE, Comparison
from gradwire.runtime.interchange.importing.comparing import with_comparison
from gradwire.runtime.interchange.importing.jax.arguments import (
    ArgumentLeaf,
    named_results,
    read_arguments,
)
from gradwire.runtime.interchange.importing.jax.checking import compare_with_jax
from gradwire.runtime.interchange.importing.jax.operands import (
    LazyBroadcast,
    OpaqueOutput,
    Operand,
    held,
    staged,
)
from gradwire.runtime.interchange.importing.jax.recorded import JaxRegions
from gradwire.runtime.interchange.importing.jax.walking import ProgramWalk
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions, conclude
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.progress_bars import Bar, bar

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def capture_jax(
    function: Callable[..., Any],
    *arguments: Any,
    options: ImportOptions = DEFAULTS,
    check: bool = True,
) -> Imported:
    """The diagram of ``function(*arguments)``, as JAX traces it.

    The first argument is a tree of parameters: its float arrays become variables, named by their
    paths. Arrays of the other arguments become inputs, with their numbers as examples. Everything
    else is fixed. If the result is a single float, or the first of several results is one, it is
    the loss. With ``check``, JAX runs the function once, and a remark compares the results.
    """
    with bar(f"Capturing {_title(function)}") as shown:
        return _captured(function, arguments, options, shown, check=check)


def _captured(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: ImportOptions,
    shown: Bar,
    *,
    check: bool,
) -> Imported:
    import jax

    read = read_arguments(function, arguments)
    stage = Stage(_title(function), shown)
    program, shape = jax.make_jaxpr(lambda arrays: read.call(function, arrays), return_shape=True)(
        [leaf.array for leaf in read.leaves]
    )
    leaves = [_leaf(stage, leaf) for leaf in read.leaves]
    regions = JaxRegions(stage)
    results = ProgramWalk(stage, regions).run(program, leaves)
    stage.settle()
    names = list(named_results(shape))
    outputs = {
        name: x.wide(stage)
        for name, x in zip(names, results, strict=True)
        if isinstance(x, LazyBroadcast)
    }
    for name, x in zip(names, results, strict=True):
        if isinstance(x, OpaqueOutput):
            stage.remark("lost", f"{name} is complex: no block carries it.")
    chosen = options.loss or ("loss" if "loss" in names else "")
    arrays = [leaf.array for leaf in read.leaves]
    regions.finish(program, arrays, names.index(chosen) if chosen in names else None)
    imported = conclude(stage, outputs, replace(options, loss=chosen))
    if not check:
        return imported
    shown.move(note="operations, compared with JAX")
    try:
        found = compare_with_jax(function, read, imported)
    except RunError as error:
        found = Comparison(system="JAX", unchecked=str(error)[:MAX_LINE])
    return with_comparison(imported, found)


def _title(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "" if name == "<lambda>" else str(name)


def _leaf(stage: Stage, leaf: ArgumentLeaf) -> Operand:
    if leaf.array.dtype.name == "bfloat16":
        stage.remark("note", f"{leaf.name} has bfloat16 numbers, which are computed in float32.")
    constant = held(stage, leaf.array)
    if not isinstance(constant, LazyBroadcast):
        return constant
    array = constant.narrow.array
    if leaf.is_variable:
        return staged(stage.variable(leaf.name, array))
    return staged(stage.input(leaf.name, array))
