"""A new operator that another system has already is one line: these are not in the tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.keras import functions as keras
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.meanings import ordering, reductions, shapes
from gradwire.runtime.interchange.importing.mxnet import operators as mxnet
from gradwire.runtime.interchange.importing.tensorflow.operators import table as tensorflow
from gradwire.runtime.interchange.importing.tensorflow.operators.table import two
from tests.runtime.interchange.importing.mxnet.test_operators import X, value

torch = pytest.importorskip("torch")
from tests.runtime.interchange.importing.rows import (  # noqa: E402  # needs torch
    of_keras,
    of_mxnet,
    of_tensorflow,
)
from tests.runtime.interchange.importing.rows.comparing import compare  # noqa: E402  # as above
from tests.runtime.interchange.importing.rows.formulas import cases, of  # noqa: E402  # as above

OF = {
    "tensorflow": (tensorflow.OPERATORS, of_tensorflow._put_up, ""),
    "mxnet": (mxnet.OPERATORS, of_mxnet._put_up, ""),
    "keras": (keras.OPERATIONS, of_keras._put_up, "ops "),
}
NEW: list[tuple[str, str, Any, Any]] = [
    ("tensorflow", "TruncateMod", two(el.remainder),
     of(torch.fmod, "spread", "positive")),
    ("tensorflow", "Xlog1py", two(partial(el.times_logarithm, kind="Log1p", pole=-1.0)),
     of(torch.special.xlog1py, "equal", "shares")),
    ("tensorflow", "CumulativeLogsumexp",
     lambda c: reductions.running_log_sum_exp(c.x(), c.axis(1, c.x().ndim)),
     of(torch.logcumsumexp, "cube", 1)),
    ("tensorflow", "Bucketize", lambda c: ordering.count_below(c.x(0), c.x(1), right=True),
     of(partial(torch.bucketize, right=True), "spread", "rising")),
    ("mxnet", "broadcast_logaddexp", lambda c: el.log_add_exp(c.x(0), c.x(1)),
     of(torch.logaddexp, "matrix", "four")),
    ("mxnet", "roll",
     lambda c: shapes.roll(c.x(), *map(c.node.wholes, ("shift", "axis"))),
     of(lambda x: x.roll(2, 1), "cube", shift=2, axis=1)),
    ("keras", "Tril", lambda c: shapes.band(c.x(), None, 0), of(torch.tril, "matrix")),
    ("keras", "Sinc", lambda c: el.sinc(c.x()), of(torch.sinc, "matrix")),
]  # fmt: skip


@pytest.mark.parametrize(("system", "name", "row", "formula"), NEW, ids=[row[1] for row in NEW])
def test_a_new_operator_is_one_line(system, name, row, formula, monkeypatch):
    table, put_up, before = OF[system]
    assert name not in table
    monkeypatch.setitem(table, name, row)
    tally = compare(cases(name, [formula], partial(put_up, before + name)), name)
    assert not tally.different and tally.equal == 2


def test_a_file_with_it_is_imported_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UnsupportedError, match="cbrt of the node 'node'"):
        value(tmp_path, "cbrt", {}, X)
    monkeypatch.setitem(mxnet.OPERATORS, "cbrt", lambda c: el.cube_root(c.x()))
    np.testing.assert_allclose(value(tmp_path, "cbrt", {}, X), np.cbrt(X), rtol=1e-5)
