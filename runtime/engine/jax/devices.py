"""The devices that an engine computes on, and where arrays go there; and compiling by JAX: told to
whoever waits, kept on disk, and with errors of ours.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from gradwire.blocks.errors import LimitError, RunError
from gradwire.runtime import extras
from gradwire.runtime.diagram.files.stored import all_own, own_folder
from gradwire.runtime.engine.compilation import compiling
from gradwire.runtime.engine.engine import LostProcessError

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array


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


_SPELLING = re.compile(r"(cpu|gpu|cuda|rocm|tpu)(?::(all|[0-9]{1,4}(?:,[0-9]{1,4})*))?")
_BATCH = "batch"
_started: int | None = None
"""The number of threads that JAX was told to use, in this process."""


class Devices:
    """One device or several, by a description such as "cpu", "gpu:1", "gpu:0,2" or "gpu:all".

    None is the first device of JAX's choice, and all devices of all processes if there are several
    processes. Raises RunError for a description that can't be one, or a device that isn't there.
    """

    def __init__(self, description: str | None) -> None:
        self.all = _found(description)
        mesh = Mesh(np.array(self.all), (_BATCH,), axis_types=(AxisType.Auto,))
        self._whole = NamedSharding(mesh, PartitionSpec())
        self._divided = NamedSharding(mesh, PartitionSpec(_BATCH))
        self._mesh = mesh
        self._here = jax.process_count() == 1
        self.are_many = len(self.all) > 1

    def __str__(self) -> str:
        kinds = dict.fromkeys(device.device_kind for device in self.all)
        return f"{', '.join(kinds)} × {len(self.all)}" if self.are_many else next(iter(kinds))

    @property
    def whole(self) -> NamedSharding:
        """Where an array is that every device has whole."""
        return self._whole

    def batch(self, shape: Shape, axis: int = 0) -> NamedSharding:
        """Where an array is whose axis is divided over the devices, if its length allows it."""
        if (
            not self.are_many
            or len(shape) <= axis
            or not shape[axis]
            or shape[axis] % len(self.all)
        ):
            return self._whole
        return NamedSharding(self._mesh, PartitionSpec(*(None,) * axis, _BATCH))

    def largest(self, shape: Shape) -> NamedSharding:
        """Where an array is whose longest axis is divided over the devices, if one can be."""
        count = len(self.all)
        axes = [axis for axis, length in enumerate(shape) if length and length % count == 0]
        if not self.are_many or not axes:
            return self._whole
        return self.batch(shape, max(axes, key=lambda axis: shape[axis]))

    def put(self, array: Array, where: NamedSharding) -> jax.Array:
        """A copy of an array on the devices."""
        with jax.enable_x64(True):
            if self._here:
                return jax.device_put(array.copy(), where)
            return jax.make_array_from_callback(array.shape, where, lambda part: array[part].copy())

    def fetch(self, array: jax.Array) -> Array:
        """A copy of an array that the devices have; of one that is divided between processes, all
        processes must ask.
        """
        with explained():
            if not array.is_fully_addressable and not array.is_fully_replicated:
                from jax.experimental.multihost_utils import process_allgather

                return np.array(process_allgather(array, tiled=True))
            return np.array(array if self._here else array.addressable_data(0))


def use_threads(count: int) -> None:
    """Let JAX use so many threads on the processor; raises RunError if it has started already."""
    global _started
    if _started == count:
        return
    if _started is not None or _has_started():
        raise RunError(
            "JAX has started already, and can't change its number of threads any more.",
            expected="the number that it has" if _started is None else f"threads={_started}",
            got=f"threads={count}",
            next_step="Give the number to the first session of a process.",
        )
    os.environ["NPROC"] = str(count)
    _started = count


def _has_started() -> bool:
    """Whether JAX has looked for devices, after which it no longer reads settings."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return bool(bridge is not None and bridge.backends_are_initialized())


def _found(description: str | None) -> list[Any]:
    if description is None:
        devices: list[Any] = jax.devices()
        return devices if jax.process_count() > 1 else devices[:1]
    match = _SPELLING.fullmatch(description) if isinstance(description, str) else None
    if match is None:
        raise RunError(
            "This is no device.",
            expected='"cpu", "gpu" or "tpu", or with numbers: "gpu:1", "gpu:0,1" or "gpu:all"',
            got=repr(description)[:80],
        )
    kind, numbers = match.groups()
    try:
        devices = jax.devices(kind)
    except RuntimeError:
        kinds = ", ".join(sorted({device.platform for device in jax.devices()}))
        raise RunError(
            f"JAX finds no {kind} here.",
            expected=f"a device that it finds: {kinds}",
            got=repr(description),
            next_step="Install JAX for it, such as jax[cuda12]." if kind != "cpu" else None,
        ) from None
    if numbers == "all" or (numbers is None and jax.process_count() > 1):
        return devices
    chosen = list(dict.fromkeys(map(int, (numbers or "0").split(","))))
    missing = [number for number in chosen if number >= len(devices)]
    if missing:
        raise RunError(
            f"There is no {kind}:{missing[0]}.",
            expected=f"a number below {len(devices)}, as there are {len(devices)}",
            got=repr(description),
        )
    return [devices[number] for number in chosen]
