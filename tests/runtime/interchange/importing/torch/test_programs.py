"""Exported models as people write them: the numbers and Nones of PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from tests.interchange.torch_comparing import compared, from_file  # noqa: E402
from tests.interchange.torch_models import NAMES, case  # noqa: E402


@pytest.mark.filterwarnings("ignore")  # torch.export warns of what it will change
@pytest.mark.parametrize("name", NAMES)
def test_a_file_computes_what_the_model_does(name, tmp_path):
    apart = compared(from_file(*case(name), tmp_path / "model.pt2"), *case(name))
    assert apart.agrees, apart
