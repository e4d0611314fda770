"""A diagram that is exported to ONNX comes back with its values, gradients and stops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram import check, load
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.source import exported_files
from gradwire.runtime.interchange.importing.onnx.importing import import_model
from gradwire.runtime.interchange.importing.onnx.reading import parsed
from tests.runtime.interchange.export.examples import EXAMPLES
from tests.runtime.interchange.importing.onnx.models import model_of

FILE = Path("model.onnx")


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_comes_back(name: str):
    session = Session(load(EXAMPLES[name]))
    imported = import_model(parsed(exported_files(session, "onnx", FILE)[FILE]))
    assert not check(imported.diagram)
    before, after = session.backward(), Session(imported.diagram).backward()
    for port in session.losses:
        got = after.values[imported.outputs[port.removesuffix(".out")]]
        np.testing.assert_allclose(got, before.values[port], rtol=1e-5, err_msg=port)
    for variable, path in imported.parameters.items():
        assert (variable in before.gradients) == (path in after.gradients), variable
        wanted, got = before.gradients.get(variable), after.gradients.get(path)
        assert (wanted is None) == (got is None), variable
        if wanted is not None:
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6, err_msg=variable)


def test_blocks_that_cut_come_back_by_their_names():
    session = Session(load(EXAMPLES["mxnet_seed"]))
    blocks = import_model(parsed(exported_files(session, "onnx", FILE)[FILE])).diagram.main.blocks
    assert blocks["stop"].type_name() == "StopGradient"
    assert blocks["loss"].type_name() == "Loss"


@pytest.mark.parametrize(
    "text", ["[]", "{", "[" * 500, '{"limit": {}}', '{"limit": -1}', "{}" * 900]
)
def test_settings_that_make_no_sense_are_refused(text: str):
    model = model_of("g (float[3] x) => (float[3] y) { y = Identity (x) }")
    model.graph.node[0].metadata_props.add(key="gradwire.clip_gradient", value=text)
    with pytest.raises(GradwireError, match=r"no JSON object|limit"):
        import_model(model)
