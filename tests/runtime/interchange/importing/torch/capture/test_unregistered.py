"""Layers and tensors that a model uses and its ``parameters()`` lacks: found and explained."""

from __future__ import annotations

import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

X = torch.randn((5, 4), generator=torch.Generator().manual_seed(0))


class Holder:
    """A plain object."""


class Net(nn.Module):
    """``mean(out(body(x))²)``, where a subclass keeps what its body needs in a way of its own."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 1)
        self.keep()

    def keep(self):
        pass

    def forward(self, x):
        return self.out(self.body(x)).pow(2).mean()


class InTuple(Net):
    def keep(self):
        self.layers = (nn.Linear(4, 4), nn.Linear(4, 4, bias=False))

    def body(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return x


class InDicts(Net):
    def keep(self):
        self.layers = {"first": nn.Linear(4, 4), "others": [{"norm": nn.LayerNorm(4)}]}

    def body(self, x):
        norm = self.layers["others"][0]["norm"]
        return norm(self.layers["first"](x))


class InObject(Net):
    def keep(self):
        self.layers = Holder()
        self.layers.linear = nn.Linear(4, 4)

    def body(self, x):
        return self.layers.linear(x)


class Whole(Net):
    """With a network in a list."""

    def keep(self):
        self.layers = [nn.Sequential(nn.Linear(4, 4), nn.Tanh())]

    def body(self, x):
        return self.layers[0](x)


class Gathered(Net):
    """A list of layers that becomes a network in each run."""

    def keep(self):
        self.layers = [nn.Linear(4, 4), nn.Tanh()]

    def body(self, x):
        return nn.Sequential(*self.layers)(x)


class Weights(Net):
    """Uses the weights of a layer in a list without calling it."""

    def keep(self):
        self.layers = [nn.Linear(4, 4)]

    def body(self, x):
        return F.linear(x, self.layers[0].weight, self.layers[0].bias)


class Parameters(Net):
    def keep(self):
        self.layers = [nn.Parameter(torch.eye(4)), nn.Parameter(torch.eye(4))]

    def body(self, x):
        return x @ self.layers[0] @ self.layers[1]


class PlainTensor(Net):
    def keep(self):
        self.layers = torch.eye(4, requires_grad=True)

    def body(self, x):
        return x @ self.layers


class Deeper(Net):
    def keep(self):
        self.inner = InTuple()

    def body(self, x):
        return self.inner.body(x)


def unregistered(model, *args, **options):
    """The remark and the findings about what is not registered, and the import."""
    imported = gw.capture(model, *args, **options)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks
    said = [remark for remark in imported.remarks if "parameters()" in remark.text]
    findings = gw.diagnose(gw.Session(imported.diagram))
    return said, [f for f in findings if f.complaint.name == "unregistered"], imported


KEPT = [InTuple, InDicts, InObject, Whole, Gathered, Weights, Parameters, PlainTensor, Deeper]


@pytest.mark.parametrize("kind", KEPT, ids=lambda kind: kind.__name__)
def test_what_is_kept_outside_of_a_module_is_found_with_line_and_cure(kind):
    model = kind()
    said, (finding,), imported = unregistered(model, X)
    registered = {name for name, _ in model.named_parameters()}
    lacking = {path for name, path in imported.parameters.items() if name not in registered}
    assert set(finding.affected) == lacking and finding.key in lacking
    for remark in said:
        assert "layers keeps what parameters() of the model lacks." in remark.text
        assert "ModuleList or ModuleDict" in remark.text
        assert remark.written.startswith("test_unregistered.py:")
    assert len(said) == (kind is not Gathered)  # there the layers themselves are met in a network
    assert "ModuleList or ModuleDict" in finding.sentence
    assert finding.written.startswith("test_unregistered.py:")
    assert finding.written.partition(": ")[0] in finding.sentence


class BornLayer(Net):
    def body(self, x):
        return nn.Linear(4, 4)(x)


class BornParameter(Net):
    def body(self, x):
        return x @ nn.Parameter(torch.eye(4))


@pytest.mark.parametrize("kind", [BornLayer, BornParameter])
def test_what_a_model_makes_in_each_run_is_found(kind):
    _, (finding,), _ = unregistered(kind(), X)
    assert "parameter1" in finding.affected and "made in __init__" in finding.sentence


class Registered(Net):
    def keep(self):
        self.layers = nn.ModuleList([nn.Linear(4, 4)])

    def body(self, x):
        return self.layers[0](x)


class AlsoRegistered(Whole):
    def keep(self):
        super().keep()
        self.network = self.layers[0]


class Frozen(Whole):
    def keep(self):
        super().keep()
        self.layers[0].requires_grad_(False)


@pytest.mark.parametrize("kind", [Registered, AlsoRegistered, Frozen])
def test_what_is_registered_or_not_trained_is_no_finding(kind):
    said, found, _ = unregistered(kind(), X)
    assert not said and not found


def test_a_network_that_is_not_trained_by_this_loss_is_left_alone():
    class Teacher(Whole):
        def body(self, x):
            with torch.no_grad():
                return super().body(x)

    _, found, _ = unregistered(Teacher(), X)
    assert not found


def test_what_belongs_to_no_model_is_no_finding():
    layers = [nn.Linear(4, 4)]

    class Trainer:
        def __init__(self):
            self.heads = [nn.Linear(4, 1)]

        def step(self, x):
            return self.heads[0](layers[0](x)).mean()

    assert not unregistered(Trainer().step, X)[1]
    assert not unregistered(lambda x: Registered()(x), X)[1]


def test_an_optimiser_that_has_them_settles_it():
    model = Whole()
    everything = [*model.parameters(), *model.layers[0].parameters()]
    assert not unregistered(model, X, optimizer=torch.optim.SGD(everything, 0.1))[1]


def test_an_optimiser_of_the_registered_ones_is_told_why():
    model = Whole()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    _, (finding,), imported = unregistered(model, X, optimizer=optimizer)
    findings = gw.diagnose(gw.Session(imported.diagram))
    assert [f.complaint.name for f in findings] == ["unregistered"]
    assert len(finding.affected) == 2


class Trained(Whole):
    """Keeps the optimiser of what it doesn't register."""

    def keep(self):
        super().keep()
        self.optimizer = torch.optim.SGD(self.layers[0].parameters(), 0.1)


@pytest.mark.parametrize("steps", [True, False])
def test_an_optimiser_that_the_program_has_settles_it(steps):
    model, whole = Trained(), Whole()
    optimizer = torch.optim.SGD(whole.layers[0].parameters(), 0.1)

    def step(x):
        loss = whole(x)
        loss.backward()
        if steps:
            optimizer.step()

    assert not unregistered(model, X)[1]
    assert not unregistered(step, X)[1]
