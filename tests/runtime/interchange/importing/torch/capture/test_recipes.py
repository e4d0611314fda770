"""Optimisers of PyTorch as recipes."""

from __future__ import annotations

import pytest

import gradwire as gw
from gradwire.runtime.interchange.importing.imported import UnsupportedError

torch = pytest.importorskip("torch")
from torch import nn, optim  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def captured(optimizer_of):
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
    x = torch.randn(4, 3)

    def loss(x):
        return model(x).square().mean()

    return gw.capture(loss, x, optimizer=optimizer_of(model)).diagram.training.optimisers[0]


@pytest.mark.parametrize(
    ("made", "kind", "options"),
    [
        (lambda p: optim.SGD(p, lr=0.5, momentum=0.9, nesterov=True), "sgd",
         {"lr": 0.5, "momentum": 0.9, "nesterov": True}),
        (lambda p: optim.Adam(p, betas=(0.8, 0.9), amsgrad=True), "adam",
         {"betas": (0.8, 0.9), "amsgrad": True}),
        (lambda p: optim.AdamW(p, weight_decay=0.1), "adamw", {"weight_decay": 0.1}),
        (lambda p: optim.RMSprop(p, alpha=0.9, centered=True), "rmsprop",
         {"alpha": 0.9, "centered": True}),
        (lambda p: optim.Adagrad(p, lr_decay=0.1), "adagrad", {"lr_decay": 0.1}),
        (lambda p: optim.Adadelta(p, rho=0.8), "adadelta", {"rho": 0.8}),
        (lambda p: optim.NAdam(p, momentum_decay=0.1), "nadam", {"momentum_decay": 0.1}),
        (lambda p: optim.RAdam(p, lr=0.2), "radam", {"lr": 0.2}),
        (lambda p: optim.Adamax(p, eps=1e-6), "adamax", {"eps": 1e-6}),
    ],
)  # fmt: skip
def test_a_method_keeps_its_options(made, kind, options):
    rule = captured(lambda model: made(model.parameters()))
    assert rule.method.kind == kind
    assert {name: getattr(rule.method, name) for name in options} == options


def test_groups_keep_their_own_rates_and_order():
    rule = captured(
        lambda model: optim.Adam(
            [
                {"params": model[0].parameters()},
                {"params": model[2].parameters(), "lr": 0.5, "weight_decay": 0.1},
            ],
            lr=0.1,
        )
    )
    assert rule.method.lr == 0.1 and len(rule.variables) == 4
    (group,) = rule.groups
    assert (group.lr, group.weight_decay) == (0.5, 0.1)
    assert group.variables == rule.variables[2:]


def test_what_no_recipe_has_is_refused_by_name():
    with pytest.raises(gw.UnsupportedError, match="Rprop"):
        captured(lambda model: optim.Rprop(model.parameters()))
    with pytest.raises(gw.UnsupportedError, match="betas"):
        captured(
            lambda model: optim.Adam(
                [
                    {"params": model[0].parameters()},
                    {"params": model[2].parameters(), "betas": (0.5, 0.9)},
                ]
            )
        )


@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize(
    ("made", "kind", "options"),
    [
        (lambda o: optim.lr_scheduler.StepLR(o, 30, 0.2), "step", {"step_size": 30, "gamma": 0.2}),
        (lambda o: optim.lr_scheduler.ExponentialLR(o, 0.9), "exponential", {"gamma": 0.9}),
        (lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 50, 0.01), "cosine",
         {"t_max": 50, "eta_min": 0.01}),
    ],
)  # fmt: skip
def test_a_scheduler_brings_its_optimiser_and_the_first_rate(made, kind, options):
    def scheduled(model):
        scheduler = made(optim.SGD(model.parameters(), lr=0.5))
        for _ in range(3):
            scheduler.step()
        return scheduler

    rule = captured(scheduled)
    assert (rule.method.lr, rule.schedule.kind) == (0.5, kind)
    assert {name: getattr(rule.schedule, name) for name in options} == options


def test_a_schedule_that_no_recipe_has_is_refused_by_name():
    with pytest.raises(gw.UnsupportedError, match="OneCycleLR"):
        captured(
            lambda model: optim.lr_scheduler.OneCycleLR(
                optim.SGD(model.parameters()), 0.1, total_steps=5
            )
        )


class Blocks(nn.Module):
    """Forty layers behind one another, and a head."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(2, 2) for _ in range(40))
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        for block in self.blocks:
            x = x + 0.1 * block(x)
        return self.head(x).square().mean()


def of_blocks(optimizer_of):
    model = Blocks()
    return gw.capture(model, torch.randn(3, 2), optimizer=optimizer_of(model)).diagram.training


def test_many_variables_are_named_by_patterns_that_name_no_others():
    (rule,) = of_blocks(lambda model: optim.SGD(model.blocks.parameters())).optimisers
    assert rule.variables == ("blocks/*",)

    def by_decay(model):
        named = dict(model.named_parameters())
        decayed = [p for name, p in named.items() if name.endswith("weight")]
        others = [p for name, p in named.items() if not name.endswith("weight")]
        groups = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
        return optim.AdamW(groups, weight_decay=0.1)

    (rule,) = of_blocks(by_decay).optimisers
    assert set(rule.variables) == {"blocks/*", "head/*"}
    (group,) = rule.groups
    assert len(group.variables) == 41 and group.weight_decay == 0.0


def test_all_of_many_variables_are_one_pattern():
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(105)))
    optimizer = optim.SGD(model.parameters())
    imported = gw.capture(model, torch.randn(3, 2), optimizer=optimizer)
    assert imported.diagram.training.optimisers[0].variables == ("*",)


def test_many_variables_without_such_patterns_are_refused():
    def every_third(model):
        return optim.SGD([p for i, p in enumerate(model.parameters()) if i % 3 == 0])

    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(105)))

    def loss(x):
        return model(x).square().mean()

    with pytest.raises(UnsupportedError, match="70 parameters, and they are no whole modules"):
        gw.capture(loss, torch.randn(3, 2), optimizer=every_third(model))


def test_weight_decay_is_said_to_move_what_gets_a_gradient_of_0():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    for parameter in model.parameters():
        parameter.register_hook(torch.zeros_like)
    groups = [
        {"params": model[0].parameters()},
        {"params": model[1].parameters(), "weight_decay": 0.0},
    ]
    optimizer = optim.AdamW(groups, weight_decay=0.25)
    imported = gw.capture(lambda x: model(x).sum(), torch.randn(4, 3), optimizer=optimizer)
    said = {f.key: f.sentence for f in gw.diagnose(gw.Session(imported.diagram))}
    yet = "Yet optimiser moves it, by its weight_decay of 0.25."
    assert [name for name, text in said.items() if yet in text] == [
        "model_0_weight",
        "model_0_bias",
    ]
    assert len(said) == 4
