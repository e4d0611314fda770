"""Patches are offered only if the patched program shows what they promise."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("libcst")

from gradwire.blocks.errors import FileError, RunError
from gradwire.runtime.programs.repairing import apply_patches, attempted

SCRIPT = """\
import torch
from models import KIND

model = KIND()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(100_000):
    optimizer.zero_grad()
    (model(torch.randn(3, 4)) ** 2).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("detached", "        h = torch.tanh(self.encoder(x))"),
        ("off", "        h = torch.tanh(self.encoder(x))  # stays"),
        ("reentrant", "checkpoint(self.encoder, x, use_reentrant=False)"),
        ("logged", "torch.log(p.clamp(min=1e-8))"),
        ("listed", "self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])"),
        ("decorated", ""),
    ],
)
def test_what_helps_is_offered(models, name, after):
    (offer,) = attempted(f"models.py:{name}").offers
    assert after in offer.patch.after and "findings" in offer.shown
    assert "Agrees with PyTorch" in offer.shown
    assert offer.patch.before == (models / "models.py").read_text("utf-8")


def test_nothing_is_offered_where_nothing_helps_or_nothing_is_wrong(models):
    attempt = attempted("models.py:converted")
    assert attempt.wrong and not attempt.offers
    attempt = attempted("models.py:pair")
    assert (attempt.wrong, attempt.tried, attempt.offers) == (0, 0, ())


def test_one_parameter(models):
    (offer,) = attempted("models.py:detached", "encoder.weight").offers
    assert offer.patch.what == "Remove detach()."
    with pytest.raises(RunError, match="There is no parameter"):
        attempted("models.py:detached", "encode.weight")


def test_a_script_is_watched(models):
    (models / "train.py").write_text(SCRIPT.replace("KIND", "Detached"), "utf-8")
    (offer,) = attempted("train.py", steps=6).offers
    assert offer.patch.file == "models.py" and "6 steps" in offer.shown
    assert ".detach()" in (models / "models.py").read_text("utf-8")


def test_written_only_when_asked(models):
    found = attempted("models.py:detached").offers
    file = models / "models.py"
    before = file.read_text("utf-8")
    assert [offer.patch.file for offer in apply_patches(found)] == ["models.py"]
    assert file.read_text("utf-8") == before.replace(".detach()", "")
    assert list(apply_patches(found)) == []  # the file is another by now


def test_what_is_no_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="Only a program can be patched"):
        attempted("m.gradwire.json")
    with pytest.raises(FileError, match="There is no such file"):
        attempted("nowhere.py")


def test_the_command_applies(models):
    command = [sys.executable, "-P", "-m", "gradwire", "fix", "models.py:off", "--apply"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "+        h = torch.tanh(self.encoder(x))  # stays" in done.stdout
    assert "gradwire: models.py: Leave no_grad." in done.stderr
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Nothing is wrong" in done.stderr and done.returncode == 0
