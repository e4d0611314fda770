"""Trains on four virtual devices, and prints losses and what the compiled step exchanges, as JSON.

Run in a process of its own, as JAX counts its devices once: ``python -m`` this module.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import jax

from gradwire.runtime.engine import Session
from gradwire.runtime.training.trainer import Trainer
from tests.runtime.engine.jax.perceptron import perceptron

EXCHANGES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")


def exchanges(text: str) -> dict[str, int]:
    """The exchanges in the body of the loop over rounds of a compiled program."""
    bodies = re.findall(
        r"^%?(\S*(?:body|region)\S*) [^\n]*\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE
    )
    (name,) = set(re.findall(r"while\([^\n]*body=%?([\w.\-]+)", text))
    (body,) = (content for found, content in bodies if found == name)
    return {kind: len(re.findall(rf" {kind}(?:-start)?\(", body)) for kind in EXCHANGES}


def trained(**how: Any) -> dict[str, Any]:
    """Twelve rounds on an engine."""
    from gradwire.runtime.engine.jax.jax_engine import JaxEngine

    trainer = Trainer(Session(perceptron(), engine=JaxEngine(**how)), validate=0)
    losses = [record.losses["loss.out"] for record in trainer.run(12, together=6)]
    (iteration,) = trainer._made_by._iterations.values()
    (program,) = iteration._loop._programs.values()
    memory = iteration._looped.memory
    leaf = iteration._looped.program.leaves["w1"].value
    return {
        "losses": losses,
        "exchanges": exchanges(program.as_text()),
        "w1": str(memory.arrays[leaf].sharding.spec),
    }


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 4)
    found = {
        "one": trained(device="cpu:0"),
        "four": trained(device="cpu:all"),
        "divided": trained(device="cpu:all", divide_weights=True),
    }
    json.dump(found, sys.stdout)
