"""What changes while a training is watched, and what is the way of a healthy one."""

from __future__ import annotations

import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


class Net(nn.Module):
    """Two hidden layers and a head."""

    def __init__(self):
        super().__init__()
        self.enc, self.mid, self.head = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def hidden(self, x):
        return torch.relu(self.enc(x))

    def forward(self, x):
        return self.head(torch.relu(self.mid(self.hidden(x))))


def seeded(cls):
    torch.manual_seed(0)
    return cls()


def sgd(model):
    return torch.optim.SGD(model.parameters(), 0.01)


def batch():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(5, 6, generator=generator)
    return x, torch.randint(0, 3, (5,), generator=generator)


def train(model, steps=7):
    """Watch some steps of a classification."""
    optimizer, (x, y) = sgd(model), batch()
    with gw.watch(model, optimizer, quiet=True) as watched:
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert watched.failure is None
    return watched


class Dropped(Net):
    """Depth that is left out at random."""

    def hidden(self, x):
        h = super().hidden(x)
        return torch.relu(self.mid(h)) if torch.rand(()) < 0.7 else h

    def forward(self, x):
        return self.head(self.hidden(x))


def test_what_a_step_leaves_out_is_healthy():
    model = seeded(Dropped)
    watched = train(model, steps=40)
    assert [str(found) for found in watched.found] == []


def test_normalised_weights_are_healthy():
    model = seeded(Net)
    nn.utils.parametrizations.weight_norm(model.enc)
    nn.utils.parametrizations.spectral_norm(model.head)
    assert [str(found) for found in train(model).found] == []


def changed(change, steps=30):
    """Watch a training in which something changes after four steps."""
    model = seeded(Net)
    model.mid.requires_grad_(False)
    optimizer, (x, y) = sgd(model), batch()
    with gw.watch(model, optimizer, quiet=True) as watched:
        for step in range(steps):
            if step == 4:
                change(model)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert watched.failure is None
    return watched


def test_layers_that_are_replaced_meanwhile_are_watched():
    watched = changed(lambda model: setattr(model, "enc", nn.Linear(6, 8)))
    assert [found.trouble.value for found in watched.found] == ["stale optimiser"]
    assert watched.found[0].parameters == ("enc.weight", "enc.bias")


def test_layers_that_are_unfrozen_meanwhile_are_watched():
    def unfreeze(model):
        model.mid.requires_grad_(True)
        model.head.register_forward_pre_hook(lambda _, given: given[0].detach())

    watched = changed(unfreeze)
    (found,) = [found for found in watched.found if "mid.weight" in found.parameters]
    assert "detach" in found.sentence
    assert changed(lambda model: model.mid.requires_grad_(True)).found == []


def test_a_hook_that_takes_the_gradient_is_named():
    model = seeded(Net)
    model.enc.weight.register_hook(torch.zeros_like)
    model.enc.bias.register_hook(lambda gradient: gradient * 0)
    texts = [found.sentence for found in train(model).found]
    assert any("has a hook that may change its gradient (test_changing.py:" in t for t in texts)


class Spoils(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * float("nan")


class Spoilt(Net):
    def hidden(self, x):
        return Spoils.apply(self.enc(x))


def test_a_custom_function_that_gives_nan_is_named_and_nothing_is_guessed():
    (found,) = train(seeded(Spoilt)).found
    assert "First NaN made in Spoils (by a rule of its own)" in found.sentence


class Cut(Net):
    def hidden(self, x):
        return super().hidden(x).detach()


def test_an_error_of_a_callback_ends_the_watching_and_not_the_training():
    model = seeded(Cut)

    def fail(found):
        raise ValueError("mine")

    with pytest.warns(RuntimeWarning, match="of on_finding or on_look .ValueError: mine"):
        with gw.watch(model, sgd(model), quiet=True, on_finding=fail) as watched:
            x, y = batch()
            for _ in range(3):
                F.cross_entropy(model(x), y).backward()
                watched.step()
    assert isinstance(watched.failure, ValueError)


def scaled(scale, steps, loss_of, is_half=True, **options):
    """Watch a training whose GradScaler begins with a scale."""
    model = seeded(Net)
    optimizer, (x, _) = sgd(model), batch()
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    with gw.watch(model, optimizer, quiet=True, **options) as watched:
        for _ in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.float16, enabled=is_half):
                loss = loss_of(model, x)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    assert watched.failure is None
    return watched


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("is_guarded", [False, True])
def test_a_scale_that_begins_too_large_is_healthy(is_guarded):
    options = {"guard": is_guarded}
    watched = scaled(2.0**127, 12, lambda model, x: model(x).square().mean(), **options)
    assert ([str(found) for found in watched.found], watched.steps) == ([], 0)
    # The loss with its factor is infinite, and its gradients are not.
    options["is_half"] = False
    watched = scaled(2.0**127, 12, lambda model, x: model(x).mean() * 1e-6 + 10, **options)
    assert ([str(found) for found in watched.found], watched.steps) == ([], 12)


def test_a_scaler_that_skips_all_steps_is_told():
    watched = scaled(2.0, 101, lambda model, x: model(x).sum() * float("nan"))
    assert "no step() of SGD was taken: a GradScaler skips it" in str(watched.found[-1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": nn.Linear(1, 1)}, "no optimiser of PyTorch. Expected .* got Linear"),
        ({"optimizer": nn.Linear(1, 1).parameters()}, "no optimiser of PyTorch.* got generator"),
        ({"every": -1}, "every is too small. Expected at least 0, got -1"),
        ({"check_every": 0}, "check_every is too small. Expected at least 1, got 0"),
    ],
)
def test_what_can_not_be_asked_for_is_refused_and_leaves_no_hooks(options, message):
    model = Net()
    with pytest.raises(gw.RunError, match=message):
        gw.watch(model, **options)
    assert not model._forward_hooks
    assert not model._forward_pre_hooks


def test_a_model_of_torchscript_is_refused():
    with pytest.warns(DeprecationWarning):
        model = torch.jit.script(nn.Linear(2, 2))
    with pytest.raises(gw.RunError, match="TorchScript takes no hooks"):
        gw.watch(model)


def test_its_repr_is_its_report():
    watched = train(seeded(Cut))
    assert repr(watched) == repr(watched.report())
    assert "detach" in repr(watched)
