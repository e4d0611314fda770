"""What assistants are told, by the functions and by the server with a client of its protocol."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace

import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram import load, save
from gradwire.runtime.programs import answers
from gradwire.runtime.programs.answers import Subject
from tests.examples.gallery import path

VQ = str(path("vq_vae"))


@pytest.fixture(scope="module")
def subject():
    return Subject(VQ)


def test_the_doctor_of_a_diagram(subject):
    found = answers.doctor(subject)
    assert found["losses"] == ["recon_loss", "commit_loss", "codebook_loss"]
    assert found["certainty"] == "This is the diagram's own arithmetic."
    assert found["findings"] or found["answer"]


def test_why_with_what_was_tried(tmp_path):
    diagram = load(path("mxnet_seed"))
    found = answers.why(Subject(str(path("mxnet_seed"))), "b")
    assert found["state"] == "STOPPED" and "stops every route to loss" in found["why"]
    assert found["tried"].startswith("Without ") and found["route"][0] == "loss"
    (tmp_path / "m").mkdir()
    save(replace(diagram, contracts=("flows(loss -> b)",)), tmp_path / "m" / "m.gradwire.json")
    kept = answers.contracts(Subject(str(tmp_path / "m" / "m.gradwire.json")), [])
    assert kept["kept"] is False and kept["contracts"][0]["broken_by"][0]["parameter"] == "b"


def test_an_unknown_parameter(subject):
    with pytest.raises(RunError, match="There is no parameter 'codebok'"):
        answers.why(subject, "codebok")


def test_what_if(subject):
    (stop, *_) = [
        name
        for name, block in subject.imported.diagram.main.blocks.items()
        if block.type_name() == "StopGradient"
    ]
    found = answers.what_if(subject, [stop])
    assert found["without"] == [stop] and found["changed"]
    assert json.loads(json.dumps(found)) == found


def test_a_difference(subject):
    assert answers.diff(subject, subject)["same"]
    found = answers.diff(subject, Subject(str(path("gan"))))
    assert not found["same"] and len(found["differences"]) <= 4 * answers.MOST


def test_a_session_with_a_client_of_the_protocol(models):
    pytest.importorskip("mcp")
    pytest.importorskip("torch")
    pytest.importorskip("libcst")
    from mcp import Client, StdioServerParameters

    (models / "train.py").write_text(
        "import torch\nfrom models import Detached\nmodel = Detached()\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "for _ in range(6):\n    optimizer.zero_grad()\n"
        "    model(torch.ones(3, 4)).backward()\n    optimizer.step()\n"
    )
    calls = [
        ("doctor", {"model": "models.py:detached"}),
        ("why", {"model": "models.py:detached", "parameter": "encoder.weight"}),
        ("what_if", {"model": "models.py:detached", "without": ["detach"]}),
        ("contracts", {"model": "models.py:detached", "lines": ["flows(loss -> encoder/*)"]}),
        ("diff", {"before": "models.py:detached", "after": "models.py:pair"}),
        ("watch", {"script": "train.py"}),
        ("fix", {"program": "models.py:detached"}),
        ("doctor", {"model": "models.py:wrong"}),
        ("doctor", {"model": "models.py:pair", "seconds": 0.01}),
    ]

    async def session():
        parameters = StdioServerParameters(
            command=sys.executable, args=["-P", "-m", "gradwire", "mcp"], cwd=str(models)
        )
        async with Client(parameters) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"doctor", "why", "what_if", "contracts", "diff", "watch", "fix"}
            return [(await client.call_tool(*call)).structured_content for call in calls]

    doctor, why, what_if, contracts, diff, watch, fix, wrong, late = asyncio.run(session())
    assert [finding["where"] for finding in doctor["findings"]] == [
        "encoder.weight",
        "encoder.bias",
    ]
    assert doctor["findings"][0]["line"] == why["line"] == "models.py:19"
    assert doctor["certainty"].startswith("Agrees with PyTorch")
    assert why["tried"].startswith("Without detach: rms ")
    assert {entry["parameter"] for entry in what_if["changed"]} >= {"encoder.weight"}
    assert contracts["contracts"][0]["broken_by"][0]["line"] == "models.py:19"
    assert any("detach" in line for line in diff["differences"])
    (model,) = watch["models"]
    assert "models.py:19" in model["findings"][0]["sentence"]
    assert "-        h = torch.tanh(self.encoder(x)).detach()" in fix["patches"][0]["diff"]
    assert "division by zero" in wrong["error"]
    assert late["error"] == "It took too long and was ended."
