"""``gradwire watch``: a program is run as it is, and what is wrong in its trainings is said."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch")

PROGRAM = """
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        h = torch.relu(self.a(x))STOP
        return self.b(h)

torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(6):
    optimizer.zero_grad()
    model(torch.ones(3, 4)).pow(2).mean().backward()
    optimizer.step()
print("trained", sys.argv[1:], __name__)
END
"""


def watched(folder, *options, stop=".detach()", end=""):
    """The exit code, standard output and standard error of a watched program."""
    script = folder / "train it.py"
    script.write_text(PROGRAM.replace("STOP", stop).replace("END", end), "utf-8")
    command = [sys.executable, "-P", "-m", "gradwire", "watch", *options, str(script), "--lr", "-h"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_finding_is_told_with_its_line_and_fails_a_program_that_ended_well(tmp_path):
    code, out, err = watched(tmp_path)
    assert code == 1
    assert out == "trained ['--lr', '-h'] __main__\n"
    first, last = err.splitlines()
    assert "detach (train it.py:12) stops every route to loss" in first
    assert last == "gradwire: Net, 6 steps: 4 parameters (2 no gradient, 2 carries)"


def test_the_exit_code_and_the_traceback_are_those_of_the_program(tmp_path):
    assert watched(tmp_path, stop="")[0] == 0
    assert watched(tmp_path, end="sys.exit(7)")[0] == 7
    code, _, err = watched(tmp_path, stop="", end="1 / 0")
    assert code == 1
    assert err.splitlines()[0] == "Traceback (most recent call last):"
    assert 'train it.py", line 23' in err.splitlines()[1]


def test_json_has_standard_output_for_itself_and_a_page_is_written(tmp_path):
    code, out, err = watched(tmp_path, "--json", "--html", "report.html")
    assert code == 1
    (model,) = json.loads(out)["models"]
    assert model["findings"][0]["written"] == ["train it.py:12"]
    assert "trained" in err
    assert "train it.py:12" in (tmp_path / "report.html").read_text("utf-8")


def test_a_program_that_is_not_there_is_a_usage_error(tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gradwire", "watch", "none.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "none.py: error: There is no such file" in done.stderr
