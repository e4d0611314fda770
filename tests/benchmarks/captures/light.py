"""Memory and time of a capture and the doctor, beside one forward and backward of PyTorch.

    python -m tests.benchmarks.captures.light [--batch 1] [--length 128] [--small] [--times]

A GPT-2 of 124 million parameters. Memory is the peak of a fresh process of each kind, beyond that
of PyTorch's own step, in sizes of the parameters; with --times, the least of several rounds in one
process, in which both take turns, and no memory.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import gradwire as gw

_STAGES = ("step", "capture", "doctor")
_ROUNDS = 4


class Layer(nn.Module):
    """Attention and a perceptron, each around a residual."""

    def __init__(self, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("bias", torch.tril(torch.ones(context, context))[None, None])

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        """Causal attention of several heads."""
        batch, length, width = x.shape
        parts = self.c_attn(x).split(width, dim=2)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        mixed = F.softmax(scores, dim=-1) @ v
        return self.c_proj(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As GPT-2 has it."""
        x = x + self.attend(self.ln_1(x))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2, whose head is its embedding."""

    def __init__(self, layers: int, width: int, heads: int, words: int, context: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Layer(width, heads, context) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for p in self.parameters():
            if p.ndim > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """The mean cross entropy of each next word."""
        x = self.wte(words) + self.wpe(torch.arange(words.shape[1]))
        for layer in self.h:
            x = layer(x)
        logits = self.ln_f(x) @ self.wte.weight.T
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), words[:, 1:].flatten())


def made(arguments: Any) -> tuple[Gpt, torch.Tensor]:
    """A model and a batch."""
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    sizes = (2, 64, 2, 500, 256) if arguments.small else (12, 768, 12, 50257, 1024)
    words = torch.randint(0, sizes[3], (arguments.batch, arguments.length))
    return Gpt(*sizes), words


def step(model: Gpt, words: torch.Tensor) -> None:
    """One forward and backward of PyTorch alone."""
    model(words).backward()
    model.zero_grad(set_to_none=True)


def captured(model: Gpt, words: torch.Tensor) -> Any:
    """The capture of one forward and backward."""
    return gw.capture(model, words)


def diagnosed(model: Gpt, words: torch.Tensor) -> list[Any]:
    """The capture, and what the doctor finds."""
    return gw.diagnose(gw.Session(captured(model, words).diagram))


def peak(what: str, arguments: Any) -> tuple[float, int]:
    """The largest memory of this process so far after a step and what is asked for, and the size
    of the parameters, in bytes.
    """
    model, words = made(arguments)
    step(model, words)
    found = {"step": step, "capture": captured, "doctor": diagnosed}[what](model, words)
    if what == "doctor":
        for finding in found or ():
            print(finding.sentence, file=sys.stderr)
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return kilobytes * 1024.0, sum(p.numel() * p.element_size() for p in model.parameters())


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor."""
    gc.collect()
    start, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - start, time.process_time() - cpu


def times(arguments: Any) -> None:
    """Print how many steps a capture and the doctor take."""
    model, words = made(arguments)
    calls = {"step": step, "capture": captured, "doctor": diagnosed}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(_ROUNDS):
        for name, call in calls.items():
            found[name] += [timed(lambda call=call: call(model, words)) for _ in range(2)]
    least = {
        name: [min(column) for column in zip(*rows, strict=True)] for name, rows in found.items()
    }
    for name, (clock, cpu) in least.items():
        ratios = clock / least["step"][0], cpu / least["step"][1]
        print(f"{name:8} {clock:6.2f} s, {ratios[0]:5.2f} steps; cpu {ratios[1]:5.2f}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--stage", choices=_STAGES)
    arguments = parser.parse_args()
    if arguments.stage:
        print(*peak(arguments.stage, arguments))
        return
    if arguments.times:
        times(arguments)
        return
    own = 0.0
    for stage in _STAGES:
        command = [sys.executable, "-m", "tests.benchmarks.captures.light", *sys.argv[1:]]
        told = subprocess.run(
            [*command, "--stage", stage], stdout=subprocess.PIPE, text=True, check=True,
            env=dict(os.environ),
        )  # fmt: skip
        size, parameters = map(float, told.stdout.split())
        own = own or size
        beyond = (size - own) / parameters
        print(f"{stage:8} {size / parameters:6.2f} P, {beyond:6.2f} P beyond", flush=True)


if __name__ == "__main__":
    main()
