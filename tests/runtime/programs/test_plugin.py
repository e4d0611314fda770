"""The plug-in of pytest, in a suite of a user."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

DIAGRAM = {
    "gradwire": 3,
    "pages": {
        "main": {
            "blocks": {
                "w": {"type": "Variable", "value": 2.0},
                "v": {"type": "Variable", "value": 3.0},
                "stop": {"type": "StopGradient"},
                "sum": {"type": "Add"},
                "loss": {"type": "Loss"},
            },
            "wires": {
                "stop.x": "w.out",
                "sum.a": "stop.out",
                "sum.b": "v.out",
                "loss.x": "sum.out",
            },
        }
    },
}


def suite(folder, *arguments, test="def test_nothing(): pass\n"):
    """How a suite in a folder ends: exit code, and what pytest prints."""
    (folder / "test_it.py").write_text(test, "utf-8")
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    if not has_entry_point():
        command += ["-p", "gradwire.runtime.programs.pytest_plugin"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def has_entry_point() -> bool:
    from importlib.metadata import entry_points

    return any(point.name == "gradwire" for point in entry_points(group="pytest11"))


def stated(folder, contracts):
    (folder / "m.gradwire.json").write_text(json.dumps(DIAGRAM), "utf-8")
    text = f'[tool.gradwire.contracts]\n"m.gradwire.json" = {json.dumps(contracts)}\n'
    (folder / "pyproject.toml").write_text(text, "utf-8")


def test_contracts_of_the_project_are_tests(tmp_path):
    stated(tmp_path, ["flows(loss -> v)", "flows(loss -> w)"])
    assert suite(tmp_path)[1].count("passed") == 1
    code, out = suite(tmp_path, "--gradwire")
    assert code == 1 and "1 failed, 2 passed" in out
    assert "stop stops every route to loss" in out
    assert "FAILED pyproject.toml::m.gradwire.json flows(loss -> w)" in out
    assert "pytest_plugin.py" not in out  # no line of ours in the failure


def test_a_project_without_contracts_cannot_be_asked_for_them(tmp_path):
    code, out = suite(tmp_path, "--gradwire")
    assert code == 4 and "states contracts in [tool.gradwire.contracts]" in out


def test_a_line_that_is_no_contract_is_an_error(tmp_path):
    stated(tmp_path, ["flows(loss)"])
    code, out = suite(tmp_path, "--gradwire")
    assert code != 0 and "line 1 of the list is not a contract" in out


def test_the_fixtures(tmp_path):
    pytest.importorskip("torch")
    test = (
        "import torch\n"
        "def test_flows(gradients, assert_all_trained):\n"
        "    model = torch.nn.Linear(3, 1)\n"
        "    loss = lambda x: model(x).mean()\n"
        "    gradients(loss, torch.ones(2, 3)).flows('loss -> *')\n"
        "    assert_all_trained(loss, torch.ones(2, 3))\n"
        "    model.requires_grad_(False)\n"
        "    gradients(loss, torch.ones(2, 3)).flows('loss -> *weight')\n"
    )
    code, out = suite(tmp_path, test=test)
    assert code == 1 and "E       AssertionError: BROKEN  flows(loss -> *weight)" in out
    assert "assertions.py" not in out


def test_a_suite_that_uses_nothing_of_it_imports_nothing_else(tmp_path):
    test = (
        "import sys\n"
        "def test_light():\n"
        "    ours = {name for name in sys.modules if name.split('.')[0] == 'gradwire'}\n"
        "    assert ours <= {'gradwire', 'gradwire.runtime', 'gradwire.runtime.programs',\n"
        "                    'gradwire.runtime.programs.pytest_plugin'}, ours\n"
    )
    code, out = suite(tmp_path, test=test)
    assert code == 0, out
