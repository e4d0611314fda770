"""Trainings in the hosts that people have, watched: ``python integrations.py HOST``.

In each, a stop keeps the first layer from gradient: the callback must name it with its line. The
environment says KERAS_BACKEND=torch and MLFLOW_ALLOW_FILE_STORE=true.
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import torch
from torch import nn

import gradwire as gw

STOP = "h = torch.relu(self.a(x)).detach()"


class Net(nn.Module):
    """Two layers, with a stop between them."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x: Any, labels: Any = 0.0) -> Any:
        """The loss and the result."""
        h = torch.relu(self.a(x)).detach()
        y = self.b(h)
        return {"loss": (y - labels).pow(2).mean(), "y": y}


def made() -> tuple[Any, Any]:
    """A model and its optimiser."""
    model = Net()
    return model, torch.optim.SGD(model.parameters(), 0.1)


def check(watched: Any, stop: str = STOP) -> None:
    """The stop is named, nothing else is, and watching has ended."""
    with open(__file__, encoding="utf-8") as file:
        place = next(n for n, line in enumerate(file, 1) if line.strip() == stop)
    assert watched.failure is None, watched.failure
    assert len(watched.found) == 1, watched.found
    assert f"integrations.py:{place}" in str(watched.found[0]), watched.found[0]
    assert any(part in str(watched.found[0]) for part in ("dense", "a.weight", "a.lora_"))
    assert watched.steps > 1
    assert not sys.modules["gradwire.runtime.watch.torch.listening"].watching()


def lightning() -> None:
    """Automatic and manual optimisation."""
    import lightning as host
    from gradwire.integrations import LightningWatch

    class Module(host.LightningModule):
        def __init__(self, is_automatic: bool) -> None:
            super().__init__()
            self.net, self.automatic_optimization = Net(), is_automatic

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.net(batch)["loss"]
            if not self.automatic_optimization:
                optimizer = self.optimizers()
                optimizer.zero_grad()
                self.manual_backward(loss)
                optimizer.step()
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    for is_automatic in (True, False):
        callback = LightningWatch(quiet=True)
        trainer = host.Trainer(
            max_epochs=2, callbacks=[callback], logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
        )  # fmt: skip
        loader = torch.utils.data.DataLoader(torch.randn(16, 4), batch_size=4)
        trainer.fit(Module(is_automatic), loader)
        check(callback.watched)


def transformers() -> None:
    """The Trainer."""
    import transformers as host
    from gradwire.integrations import TrainerWatch

    callback = TrainerWatch(quiet=True)
    rows = [{"x": torch.randn(4), "labels": torch.zeros(1)} for _ in range(16)]
    with tempfile.TemporaryDirectory() as folder:
        options = host.TrainingArguments(
            folder, max_steps=6, report_to=[], use_cpu=True, disable_tqdm=True,
            save_strategy="no", logging_strategy="no",
        )  # fmt: skip
        host.Trainer(Net(), options, train_dataset=rows, callbacks=[callback]).train()
    check(callback.watched)


def accelerate() -> None:
    """A loop of one's own."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model, optimizer = accelerator.prepare(*made())
    with gw.watch(model, optimizer, quiet=True) as watched:
        for _ in range(4):
            optimizer.zero_grad()
            accelerator.backward(model(torch.randn(3, 4))["loss"])
            optimizer.step()
    check(watched)


def peft() -> None:
    """Adapters, whose base model is frozen: what is in front of the stop, and nothing else."""
    from peft import LoraConfig, get_peft_model

    class Plain(Net):
        def forward(self, x: Any, labels: Any = 0.0) -> Any:
            return (self.b(torch.relu(self.a(x))) - labels).pow(2).mean()

    config = LoraConfig(r=2, target_modules=["a", "b"], init_lora_weights="gaussian")
    for kind, is_stopped in ((Net, True), (Plain, False)):
        model = get_peft_model(kind(), config)
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, 1e-2)
        with gw.watch(model, optimizer, quiet=True) as watched:
            for _ in range(8):
                optimizer.zero_grad()
                loss = model(torch.randn(3, 4))
                (loss["loss"] if is_stopped else loss).backward()
                optimizer.step()
        states = {row.name: row.state for row in watched.report().rows}
        assert list(states.values()).count("frozen") == 4, states
        if is_stopped:
            check(watched)
            assert all("lora" in name for name in watched.found[0].parameters)
        else:
            assert watched.found == [] and watched.failure is None, watched.found


def keras() -> None:
    """``fit`` on the backend for PyTorch."""
    import keras as host
    import numpy as np
    from gradwire.integrations import KerasWatch

    class Stop(host.layers.Layer):
        def call(self, x: Any) -> Any:
            return host.ops.stop_gradient(x)

    layers = [host.Input((4,)), host.layers.Dense(8), Stop(), host.layers.Dense(1)]
    model = host.Sequential(layers)
    model.compile("sgd", "mse")
    callback = KerasWatch(quiet=True)
    rows, labels = np.ones((32, 4), np.float32), np.zeros((32, 1), np.float32)
    model.fit(rows, labels, batch_size=8, verbose=0, callbacks=[callback])
    check(callback.watched, "return host.ops.stop_gradient(x)")


def ignite() -> None:
    """An engine."""
    from gradwire.integrations import watch_engine
    from ignite.engine import Engine

    model, optimizer = made()

    def step(engine: Any, batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(batch)["loss"]
        loss.backward()
        optimizer.step()
        return float(loss)

    engine = Engine(step)
    watched = watch_engine(engine, model, optimizer, quiet=True)
    engine.run([torch.randn(3, 4)] * 5)
    check(watched)


def loggers() -> None:
    """Series for TensorBoard and MLflow."""
    import mlflow
    from gradwire.integrations import to_mlflow, to_tensorboard
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    model, optimizer = made()
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"file:{folder}/runs")
        writer = SummaryWriter(f"{folder}/board")
        looks = [to_mlflow(), to_tensorboard(writer)]
        with (
            mlflow.start_run() as run,
            gw.watch(
                model, optimizer, quiet=True, on_look=lambda w: [look(w) for look in looks]
            ) as watched,
        ):
            for _ in range(3):
                optimizer.zero_grad()
                model(torch.randn(3, 4))["loss"].backward()
                optimizer.step()
        check(watched)
        writer.close()
        name, size = "gradient rms/b.weight", watched.sizes["b.weight"]
        events = EventAccumulator(f"{folder}/board")
        events.Reload()
        assert abs(events.Scalars(name)[-1].value - size) <= 1e-6 * size
        assert mlflow.get_run(run.info.run_id).data.metrics[name] == size


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(f"{sys.argv[1]}: all well")
