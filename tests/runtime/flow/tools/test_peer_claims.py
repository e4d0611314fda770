"""Reports on other systems against PyTorch and JAX, on random diagrams: none is wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from runtime.engine import Session
from runtime.flow import dialects, observe

if TYPE_CHECKING:
    from runtime.flow.tools.dialects import SystemReport
    from tests.runtime.flow.tools.peer_diagrams import Random

Array = np.ndarray[Any, Any]
DIAGRAMS = 300
ROUNDING = 1e-3
"""Of float32 gradients, relative to the largest element."""


@pytest.fixture(scope="module")
def random_diagram() -> Any:
    pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
    jax = pytest.importorskip("jax", reason="JAX is not installed", exc_type=ImportError)
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    from tests.runtime.flow.tools.peer_diagrams import Random

    yield Random
    jax.config.update("jax_enable_x64", before)


@pytest.mark.filterwarnings("ignore")  # of casts and overflows inside the other systems
def test_no_report_is_wrong(random_diagram: type[Random]) -> None:
    wrong, counts = [], Counter[str]()
    for seed in range(DIAGRAMS):
        made = random_diagram(seed)
        observed = observe(Session(made.diagram()))
        reports = {
            (name, report.system): report
            for name in made.trained
            for report in dialects(observed, name).reports
        }
        for system, run in (("PyTorch", made.pytorch), ("JAX", made.jax)):
            found = run()
            for name in made.trained:
                report = reports[name, system]
                counts[system] += 1
                counts["differs"] += bool(report.because)
                counts["not known"] += report.says == "not known"
                if right(report, found, name):
                    continue
                if found is not None and not same(found[name], run("float64")[name]):
                    counts["ill-conditioned"] += 1  # the system contradicts itself
                else:
                    real = "error" if found is None else found[name]
                    wrong.append(f"{seed} {name} {report}, and it is {real}")
    assert not wrong, "\n".join(wrong)
    assert counts["PyTorch"] >= 600 <= counts["JAX"]
    assert counts["differs"] >= 30
    assert counts["not known"] + counts["ill-conditioned"] <= 0.01 * counts.total(), counts


def right(report: SystemReport, found: dict[str, Array | None] | None, name: str) -> bool:
    """Whether a report has the kind and the numbers of what came back."""
    if report.says == "not known":
        return True
    if found is None:
        return report.says == "error"
    gradient = found[name]
    if report.says == "None" or gradient is None:
        return report.says == "None" and gradient is None
    if report.says == "zeros":
        return bool(np.all(np.abs(gradient) <= 1e-6))  # as far as terms cancel
    return report.says != "error" and same(report.gradient, gradient)


def same(a: Array | None, b: Array | None) -> bool:
    """Whether two gradients are the same numbers but for rounding."""
    if a is None or b is None:
        return a is b
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(b), b, 0)).max(initial=0.0)
        near = np.isclose(a, b, rtol=ROUNDING, atol=ROUNDING * size, equal_nan=True)
    return a.shape == b.shape and bool(near.all())
