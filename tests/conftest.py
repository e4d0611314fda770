"""What every test stands on: Qt without a display, JAX without a cache, hypothesis profiles."""

from __future__ import annotations

import gc
import inspect
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any
from zlib import crc32

# Before Qt is imported anywhere; a user who wants to watch sets QT_QPA_PLATFORM.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# What tests compile is not to be found in the cache of whoever runs them.
os.environ.setdefault("GRADWIRE_KEEP_CODE", "0")
# Before JAX is imported: what an earlier run has compiled would hide that it no longer compiles.
os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")

import pytest
from hypothesis import HealthCheck, settings

from gradwire.blocks import Block

# Tracing and running whole diagrams is slow to start on a busy machine: no deadline per example.
settings.register_profile(
    "default", deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("night", settings.get_profile("default"), max_examples=100)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default")
)


@pytest.fixture(scope="module")
def unarranged() -> Iterator[None]:
    """``build`` gives blocks no positions: to find good ones takes longer than to run a small
    diagram. Folders whose tests are about numbers use it for all of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradwire.runtime.build.arranged_later", lambda diagram: diagram)
        yield


@pytest.fixture(scope="module")
def jax_in_float64() -> Iterator[Any]:
    """JAX with 64-bit numbers for a module that compares with them, or runs source that asks for
    them; the next module of this process has it as users have it.
    """
    jax = pytest.importorskip("jax", reason="JAX is not installed", exc_type=ImportError)
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Blocks by what they are, functions by name and not by address: processes that share the
    work must agree on names.
    """
    if isinstance(val, Block):
        return str(val)
    if inspect.isroutine(val):
        return str(val.__name__)
    return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process for tests named on the command line, so that they start at once and can be
    debugged; None, which is a worker for each core, for the whole suite. ``-n`` overrules both.
    """
    return 0 if _are_named(config) else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker whether tests are named: it gets their names in any case."""
    node.workerinput["are_named"] = _are_named(node.config)


def _are_named(config: pytest.Config) -> bool:
    """Whether tests are named on the command line."""
    is_named = config.args_source is pytest.Config.ArgsSource.ARGS
    return bool(getattr(config, "workerinput", {}).get("are_named", is_named))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay until the end: no search for garbage looks at them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option to run a share of the suite, such as on another Python."""
    text = "run one test function in N, always the same ones"
    parser.addoption("--one-in", type=int, default=1, metavar="N", help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with ``sampled(one_in=11)``, the first case and every eleventh after it run always,
    the others at night. A prime that no list of parameters is as long as meets all of their values.

    To open a window takes most of the time of a test that does, and there are a thousand. Of those
    that are not named on the command line, a sixth run always.
    """
    share = config.getoption("--one-in")
    if not _are_named(config):
        for item in items:
            if not _is_chosen(item, 6) and {"window", "opened"} & {*item.fixturenames}:
                item.add_marker("night")
    if share > 1:
        chosen = [item for item in items if _is_chosen(item, share)]
        config.hook.pytest_deselected(items=[*{*items} - {*chosen}])
        items[:] = chosen
    found: Counter[str] = Counter()
    for item in items:
        if sampled := item.get_closest_marker("sampled"):
            name = item.nodeid.partition("[")[0]
            if found[name] % sampled.kwargs["one_in"]:
                item.add_marker("night")
            found[name] += 1


def _is_chosen(item: pytest.Item, share: int) -> bool:
    """Whether the function of a test is one of every ``share`` functions."""
    return crc32(item.nodeid.partition("[")[0].encode()) % share == 0


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Collect garbage where Python's own collector is off, as it is once a test of the editor has
    run in this process (see app/services/garbage.py).
    """
    if not gc.isenabled():
        oldest = gc.get_count()[2]
        gc.collect(2 if oldest > gc.get_threshold()[2] else 1)
