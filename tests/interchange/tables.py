"""Every row of every system's table, beside the system itself or a formula."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from tests.interchange.rows import Row
from tests.runtime.interchange.importing.rows.comparing import compare
from tests.runtime.interchange.importing.rows.test_every_row import GUESSES, SYSTEMS


def rows() -> Iterator[Row]:
    """A row for each system: how many rows of its table calls reach, and how these ended."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name, system in SYSTEMS.items():
        found = {row: compare(system.cases(row, GUESSES), row) for row in system.ROWS}
        reached = {row for row, tally in found.items() if tally.equal}
        different = [said for tally in found.values() for said in tally.different]
        equal, refused = (sum(tally[i] for tally in found.values()) for i in (0, 1))
        detail = (
            f"{len(reached)} of {len(found)} rows reached by {equal} equal calls, {refused} refused"
        )
        well = not different and {*found} - reached == {*system.UNREACHED}
        yield Row(f"table of {name}", well, "; ".join([detail, *different[:3]]))
