"""``gradwire fix``: patches of a program, tried before they are shown, and written on request."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("libcst")

PROGRAM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)).detach())

def make():
    model = Net()
    return lambda x: model(x).pow(2).mean(), torch.ones(3, 4)
"""


def test_a_patch_is_shown_and_written_on_request(gradwire, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "model.py"
    file.write_text(PROGRAM, "utf-8")
    shown = gradwire("fix", "model.py:make")
    assert shown.code == 0 and "-        return self.b(torch.tanh(self.a(x)).detach())" in shown.out
    assert file.read_text("utf-8") == PROGRAM
    gradwire("fix", "model.py:make", "--apply")
    assert "self.b(torch.tanh(self.a(x)))" in file.read_text("utf-8")
    assert gradwire("fix", "model.py:make").out == ""


def test_a_program_that_is_not_there(gradwire, tmp_path):
    done = gradwire("fix", f"{tmp_path / 'none.py'}:make")
    assert done.code == 2 and "no such file" in done.err
