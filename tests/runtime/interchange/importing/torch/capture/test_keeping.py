"""A capture changes nothing: what the program changes in its run is given back, also on failure."""

from __future__ import annotations

import copy
import random
from importlib import import_module

import numpy as np
import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
nn = torch.nn
lr_scheduler = torch.optim.lr_scheduler
_global_optimizer_pre_hooks = import_module("torch.optim.optimizer")._global_optimizer_pre_hooks

X = torch.randn((4, 3), generator=torch.Generator().manual_seed(0))


class Stop(Exception):
    """What a program raises at its end."""


def plain(value):
    """A value that can be compared, with the identities of tensors and all that they have."""
    if isinstance(value, torch.Tensor):
        hooks = dict(value._backward_hooks or {}) if value.is_leaf else None
        gradient = plain(value.grad) if value.is_leaf and value.grad is not None else None
        bits = value.detach().clone().flatten().view(torch.uint8).tolist()
        own = (id(value), value.data_ptr(), value.shape, value.dtype, value._version)
        return (*own, bits, value.requires_grad, value.is_leaf, gradient, hooks)
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {id(k) if isinstance(k, torch.Tensor) else k: plain(x) for k, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    if isinstance(value, nn.Module):
        return [(name, plain(vars(module))) for name, module in value.named_modules()]
    if isinstance(value, torch.optim.Optimizer):
        return plain({"state": dict(value.state), "groups": value.param_groups})
    if isinstance(value, lr_scheduler.LRScheduler):
        return plain({k: v for k, v in vars(value).items() if k != "optimizer"})
    return copy.deepcopy(value) if isinstance(value, set) else value


def surroundings():
    """Random states, hooks of all modules, and modes."""
    states = torch.get_rng_state().tolist(), np.random.get_state()[1], random.getstate()
    hooks = torch.nn.modules.module._global_forward_hooks
    modes = torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_anomaly_enabled()
    return plain([*states, dict(hooks), *modes])


def changes_nothing(program, *args, among=(), **options):
    """Capture a program, once as it is and once as it fails at its end."""

    def fails(*given):
        program(*given)
        raise Stop

    before = [surroundings(), *(plain(x) for x in (*args, *among))]
    imported = gw.capture(program, *args, **options)
    assert [surroundings(), *(plain(x) for x in (*args, *among))] == before
    with pytest.raises(Stop):
        gw.capture(fails, *args, **options)
    assert [surroundings(), *(plain(x) for x in (*args, *among))] == before
    return imported


OPTIMISERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, 0.1, amsgrad=True),
    "AdamW, several at once": lambda p: torch.optim.AdamW(p, 0.1, foreach=True),
    "Adam, fused": lambda p: torch.optim.Adam(p, 0.1, fused=True),
    "rate as a tensor": lambda p: torch.optim.Adam(p, torch.tensor(0.1)),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 0.1, centered=True),
    "Rprop": lambda p: torch.optim.Rprop(p, 0.1),
    "LBFGS": lambda p: torch.optim.LBFGS(p, 0.1, max_iter=2),
}


_OPAQUE = ("LBFGS", "AdamW, several at once", "Adam, fused")
"""Those behind whose step what they train is not known."""


@pytest.mark.parametrize("warm", [True, False], ids=["after a step", "new"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_the_state_of_an_optimiser_is_given_back(name, warm):
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = OPTIMISERS[name](model.parameters())

    def step(x):
        def loss():
            optimizer.zero_grad()
            found = model(x).pow(2).mean()
            found.backward()
            return found

        optimizer.step(loss)
        if name not in _OPAQUE:
            optimizer.step(loss)

    if warm:
        step(X + 1)
    changes_nothing(step, X, among=(model, optimizer))


SCHEDULERS = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 1),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.2, total_steps=9),
    "ReduceLROnPlateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o), lr_scheduler.ExponentialLR(o, 0.5)], [1]
    ),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o), lr_scheduler.ExponentialLR(o, 0.5)]
    ),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_state_of_a_scheduler_is_given_back(name):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    scheduler = SCHEDULERS[name](optimizer)
    hidden = [{"scheduler": scheduler}]
    inner = getattr(scheduler, "_schedulers", [])

    def step(x):
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        for _ in range(2):
            hidden[0]["scheduler"].step(*([9.0] if name == "ReduceLROnPlateau" else []))

    changes_nothing(step, X, among=(model, optimizer, scheduler, *inner))


def test_what_a_method_trains_with_is_given_back():
    class Trainer:
        def __init__(self):
            self.model = nn.Linear(3, 1)
            self.parts = {"optimizer": torch.optim.Adam(self.model.parameters(), 0.1)}

        def step(self, x):
            optimizer = self.parts["optimizer"]
            for group in optimizer.param_groups:
                group["lr"] *= 0.5  # a schedule by hand, before any step
            optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))]})
            loss = self.model(x).mean()
            loss.backward()
            optimizer.step()
            return loss

    trainer = Trainer()
    among = trainer.model, trainer.parts["optimizer"]
    before = plain(among)
    gw.capture(trainer.step, X)
    assert plain(among) == before


HIDDEN = {}
"""What only functions that a program calls read."""


def hidden_step(x, clears=True):
    if clears:
        HIDDEN["optimizer"].zero_grad(set_to_none=False)
    loss = HIDDEN["model"](x).mean()
    loss.backward()
    HIDDEN["optimizer"].step()
    return loss


def hidden_schedule():
    HIDDEN["scheduler"].step()


@pytest.mark.parametrize(("clears", "schedules"), [(0, 0), (0, 1), (1, 0)])
def test_what_trains_elsewhere_is_given_back(clears, schedules):
    model, own = nn.Linear(3, 1), nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    HIDDEN.update(model=model, optimizer=optimizer)
    HIDDEN["scheduler"] = scheduler = lr_scheduler.StepLR(optimizer, 1)

    def step(x):
        loss = own(x).mean() + hidden_step(x, clears)
        if schedules:
            hidden_schedule()
        return loss

    if clears:  # otherwise its first step is captured, before which it has no state
        hidden_step(X)
    changes_nothing(step, X, among=(own, model, optimizer, scheduler))


def test_scalers_of_a_loss_are_given_back():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)

    def step(x):
        scaler.scale(model(x).pow(2).mean()).backward()
        scaler.step(optimizer)
        scaler.update()

    step(X)
    before = plain([scaler.state_dict(), model, optimizer])
    gw.capture(step, X)
    assert plain([scaler.state_dict(), model, optimizer]) == before


class Changing(nn.Module):
    """Changes whatever a module can change of itself."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.frozen = nn.Linear(3, 3).requires_grad_(False)
        self.extra = [nn.BatchNorm1d(3)]
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("table", torch.ones(2))
        self.calls, self.seen = 0, {"last": None}

    def forward(self, x):
        self.calls += 1
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0).detach()
        self.table.add_(1)
        self.table.resize_(1)
        self.register_buffer("made", torch.ones(1))
        y = self.extra[0](self.norm(self.layer(x)))
        self.seen["last"] = y
        self.layer.weight.data = self.layer.weight.data * 2
        self.layer.bias.data.add_(1)
        with torch.no_grad():
            self.layer.weight.mul_(3)
        self.layer.bias = nn.Parameter(torch.ones(3))
        self.frozen.requires_grad_()
        self.norm.requires_grad_(False)
        self.extra.append(nn.Dropout())
        self.child = nn.ReLU()
        self.norm.eval()
        self.frozen.double()
        self.layer.register_forward_hook(lambda *_: None)
        self.frozen.weight.register_hook(lambda g: None)
        self.frozen.weight.register_post_accumulate_grad_hook(lambda p: None)
        return y.pow(2).mean()


def test_all_that_a_module_changes_is_given_back():
    model = Changing()
    extra, frozen = model.extra[0], model.frozen.weight
    model.layer.weight.grad = torch.ones(3, 3)
    changes_nothing(model, X, among=(model, extra, frozen))
    assert not frozen._post_accumulate_grad_hooks


def test_gradients_are_given_back():
    model = nn.Linear(3, 1)
    model.weight.grad = torch.ones(1, 3)
    gradient = model.weight.grad

    def step(x):
        model(x).mean().backward()
        gradient.add_(1)
        model.zero_grad()
        model(x + 1).mean().backward()

    changes_nothing(step, X, among=(model, gradient))


@pytest.mark.parametrize("way", ["in place", "by a view", "by a trained value", "by numpy", "data"])
def test_inputs_that_are_written_are_given_back(way):
    weight = nn.Parameter(torch.ones(3))

    def program(x):
        y = x * weight
        if way == "in place":
            x.add_(1)
        elif way == "by a view":
            x[0].zero_()
        elif way == "by a trained value":
            x.mul_(weight)
        elif way == "by numpy":
            x.numpy()[:] = 7
        else:
            x.data = torch.ones(5)
        return y.sum()

    changes_nothing(program, X.clone(), among=(weight,))


def test_containers_and_arrays_among_inputs_are_given_back():
    model = nn.Linear(3, 1)

    def program(batch, numbers):
        x = batch.pop("x")
        batch["rows"].append(1)
        numbers += 1
        return model(x).mean()

    changes_nothing(program, {"x": X, "rows": [X]}, np.ones(3), among=(model,))


def test_tensors_from_elsewhere_are_given_back():
    model, table = nn.Linear(3, 1), torch.zeros(3)
    trained = torch.ones(3, requires_grad=True)

    def inner(x):
        table.add_(x.mean(0).detach())
        return model(x * trained).mean()

    def program(x):
        loss = inner(x)
        loss.backward()
        with torch.no_grad():
            trained.sub_(trained.grad)
        return loss

    changes_nothing(program, X, among=(model, table, trained))


def test_numbers_that_are_not_finite_are_given_back_bit_by_bit():
    model, odd = nn.Linear(3, 1), torch.tensor([-0.0, float("nan"), float("inf")])
    changes_nothing(lambda x: (model(x).mean(), odd.zero_())[0], X, among=(odd,))


def test_what_can_not_be_written_is_not():
    x = torch.ones(3).expand(4, 3)  # writing to it raises
    model = nn.Linear(3, 1)
    changes_nothing(lambda x: model(x).mean(), x, among=(model,))


def test_random_states_are_given_back():
    model, draws = nn.Sequential(nn.Linear(3, 3), nn.Dropout()), torch.Generator()
    modern, old, own = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)

    def states():
        found = (
            draws.get_state().tolist(),
            modern.bit_generator.state,
            old.get_state()[1],
            own.getstate(),
        )
        return plain(list(found))

    def program(x):
        noise = torch.randn(3, generator=draws) + random.random() + np.random.rand()
        noise = noise + modern.normal() + old.rand() + own.random()
        return (model(x) + noise).pow(2).mean()

    before = states()
    changes_nothing(program, X, among=(model,))
    assert states() == before


def test_modes_and_hooks_of_all_modules_are_given_back():
    model = nn.Linear(3, 1)

    def program(x):
        loss = model(x).mean()
        nn.modules.module.register_module_forward_hook(lambda *_: None)
        torch.set_default_dtype(torch.float64)
        torch.autograd.set_detect_anomaly(True)
        torch.set_grad_enabled(False)
        return loss

    changes_nothing(program, X, among=(model,))


def test_the_methods_of_optimisers_are_their_own_again():
    kinds = torch.optim.Optimizer, torch.optim.SGD, lr_scheduler.StepLR, lr_scheduler.OneCycleLR
    before = [dict(vars(kind)) for kind in kinds]
    model = nn.Linear(3, 1)
    changes_nothing(lambda x: model(x).mean(), X, among=(model,))
    assert [dict(vars(kind)) for kind in kinds] == before
    assert not _global_optimizer_pre_hooks


def test_a_capture_and_the_next_are_alike():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout())
    optimizer = torch.optim.Adam(model.parameters())

    def step(x):
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    first, second = (gw.capture(step, X) for _ in range(2))
    assert first.remarks == second.remarks and first.outputs == second.outputs
    assert first.diagram == second.diagram
