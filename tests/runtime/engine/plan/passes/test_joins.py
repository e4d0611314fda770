"""Concatenations of what lies side by side in memory, and of what does not."""

from __future__ import annotations

from functools import partial

import numpy as np

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.tasks import PlainTask


def test_parts_of_a_block_are_one_copy_and_others_are_joined_by_numpy() -> None:
    trace = Trace()
    leaves = [trace.apply(LEAF, shape=(2, 3), dtype="float32") for _ in range(8)]
    whole = trace.xp.concat(leaves, 0)
    block = np.random.default_rng(0).standard_normal((8, 2, 3)).astype(np.float32)
    expected, out = block.reshape(16, 3), np.zeros((16, 3), np.float32)
    for places, is_one in ((block, True), ([x.copy() for x in block], False)):
        arrays = {**dict(zip(leaves, places, strict=True)), whole: out}
        (step,) = PlainTask(whole, leaves).bind(arrays)
        assert (isinstance(step, partial) and step.func is np.copyto) == is_one
        out.fill(0)
        step()
        np.testing.assert_array_equal(out, expected)
