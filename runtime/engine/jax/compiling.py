"""Compiling by JAX: told to whoever waits, kept on disk, and with errors of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax

from gradwire.blocks.errors import LimitError
from gradwire.runtime import extras
from gradwire.runtime.diagram.files.stored import all_own, own_folder
from gradwire.runtime.engine.compilation import compiling
from gradwire.runtime.engine.engine import LostProcessError


@contextmanager
def explained() -> Iterator[None]:
    """Within, raises LimitError without memory on a device, and LostProcessError where several
    processes compute together and one of them does not answer.
    """
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" in str(error):
            raise LimitError(
                "There is not enough memory on the device for this.",
                next_step="Make the batch smaller, ask for less, or use several devices.",
            ) from error
        if jax.process_count() > 1:
            raise LostProcessError(
                f"One of the {jax.process_count()} processes is gone, or can't be reached.",
                next_step="Start them again, with as many processes as you like: they go on from "
                "the last checkpoint.",
            ) from error
        raise


_LONG = 0.2
"""Seconds of compiling from which the program is kept on disk."""
_MOST_BYTES = 1 << 30
"""Bytes of programs that are kept."""


def compiled(
    function: Callable[..., Any], arrays: Sequence[Any], operations: int, **how: Any
) -> jax.stages.Compiled:
    """The program for arrays such as these; ``how`` is passed to ``jax.jit``.

    See ``explained`` for what it raises.
    """
    _keep_programs()
    with compiling(operations), jax.enable_x64(True), explained():
        return jax.jit(function, **how).lower(*arrays).compile()


def called(program: jax.stages.Compiled, arrays: Sequence[Any]) -> Any:
    """What a program returns; see ``explained`` for what it raises."""
    with jax.enable_x64(True), explained():
        return program(*arrays)


@cache
def _keep_programs() -> None:
    """Let JAX keep what takes long to compile in the user's cache, unless JAX was told where."""
    if jax.config.jax_compilation_cache_dir is not None:
        return
    if not extras.installed("filelock"):
        return  # without it, JAX can't bound what it keeps
    if (folder := own_folder("jax")) is None or not all_own(folder):
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", _LONG)
    jax.config.update("jax_compilation_cache_max_size", _MOST_BYTES)
