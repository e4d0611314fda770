"""What watching a training costs: ``python -m tests.benchmarks.training.watching [MODEL] …``.

Prints processor time of a step of a classifier of BERT's size (``bert``), of a GPT-2 of 124 million
parameters (``gpt2``) or of 100 parameters of 16 by 16 (``small``), as a multiple of the same step
unwatched: watched, recorded, the two in which one is captured whole and diagnosed, with autograd's
anomaly mode, and with the forward pass logged by TorchLens, where that is installed, each measured
in turn; the time that a look takes; and the memory and the size of a record. The parameters after
all steps are compared bit for bit.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import nn

import gradwire as gw
from tests.benchmarks.captures.light import Gpt


def loss_of(logits: Any, tokens: Any) -> Any:
    """The loss of a classifier of sequences of tokens, for random labels."""
    return nn.functional.cross_entropy(logits, tokens[:, 0] % 2)


class Bert(nn.Module):
    """A transformer of the size of BERT-base."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, 768)
        layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(768, 2)

    def forward(self, tokens: Any) -> Any:
        return loss_of(self.head(self.encoder(self.table(tokens)).mean(1)), tokens)


class Small(nn.Module):
    """A perceptron of 100 parameters, each so small that what is done for each of them tells."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, 16)
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(49))
        self.head = nn.Linear(16, 2, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens).mean(1)
        for layer in self.layers:  # past which gradient gets: numbers near 0 are slow to add
            x = x + 0.1 * layer(x).relu()
        return loss_of(self.head(x), tokens)


WORDS = 5000
MODELS: dict[str, Callable[[int], nn.Module]] = {
    "bert": Bert,
    "gpt2": lambda layers: Gpt(layers, 768, 12, 50257, 1024),
    "small": lambda layers: Small(),
}


def seconds(run: Callable[[], None]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", choices=MODELS, default="bert")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--batch", type=int, nargs=2, default=(8, 64))
    parser.add_argument("--rounds", type=int, default=10)
    chosen = parser.parse_args()
    torch.set_num_threads(1)

    def made() -> tuple[Any, Any, Callable[[], None], Any]:
        torch.manual_seed(0)
        model = MODELS[chosen.model](chosen.layers)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
        tokens = torch.randint(0, WORDS, tuple(chosen.batch))

        def step() -> None:
            torch.manual_seed(0)  # dropout draws the same in both models
            optimizer.zero_grad()
            model(tokens).backward()
            optimizer.step()

        step()
        return model, optimizer, step, tokens

    plain, other = made(), made()
    times: dict[str, list[float]] = {n: [] for n in ("plain", "watched", "recorded", "captured")}
    for step in plain[2], other[2]:  # the first watch of a model, which captures its step
        step()
    with gw.watch(other[0], other[1], every=0, quiet=True):
        times["captured"].append(seconds(other[2]) + seconds(other[2]))
    for _ in range(2):
        plain[2]()
    steps = 4
    for _ in range(chosen.rounds):
        for _ in range(3):
            times["plain"].append(seconds(plain[2]))
        with gw.watch(other[0], other[1], every=0, quiet=True, capture=False) as watched:
            times["recorded"].append(seconds(other[2]))
            times["watched"].append(seconds(other[2]))
            times["watched"].append(seconds(other[2]))
            assert watched.found == [], watched.found
        steps += 3
    for ours, theirs in zip(plain[0].parameters(), other[0].parameters(), strict=True):
        assert torch.equal(ours, theirs)
    with torch.autograd.set_detect_anomaly(True):
        times["anomaly"] = [seconds(plain[2]) for _ in range(chosen.rounds)]
    if importlib.util.find_spec("torchlens"):
        torchlens = importlib.import_module("torchlens")
        forward = [seconds(lambda: plain[0](plain[3])) for _ in range(chosen.rounds)]
        logged = [
            seconds(lambda: torchlens.trace(plain[0], plain[3])) for _ in range(chosen.rounds)
        ]
        more = min(logged) - min(forward)
        times["torchlens"] = [seconds_of_step + more for seconds_of_step in times["plain"]]
    base = min(times["plain"]), median(times["plain"])
    count = sum(p.numel() for p in plain[0].parameters())
    tensors = sum(1 for _ in plain[0].parameters())
    print(f"{count / 1e6:.1f} million in {tensors} parameters, {steps} steps, equal bit for bit")
    for name, found in times.items():
        ratios = min(found) / base[0], median(found) / base[1]
        print(
            f"{name:9} {1e3 * min(found):8.2f} ms  least ×{ratios[0]:.3f}  median ×{ratios[1]:.3f}"
        )

    model, optimizer, step, _ = other
    with gw.watch(model, optimizer, every=0, quiet=True, capture=False) as watched:
        step()
        looks = sorted(seconds(watched._look) for _ in range(9))
        print(f"a look    {1e3 * looks[4]:8.3f} ms")
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    with gw.watch(model, optimizer, every=0, quiet=True, capture=False) as watched:
        recorder = watched._recorder
        assert recorder is not None
        step()
        gc.collect()
        calls = len(recorder.step.calls)
        kept = tracemalloc.get_traced_memory()[0] - before
        print(f"a record  {calls} calls; with its diagram {kept / 1024 / calls:.2f} KiB a call")
    tracemalloc.stop()


if __name__ == "__main__":
    main()
