"""Optimisers that do not have what they are to train."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.bugs.models import (
    WIDTH,
    ActorCritic,
    Block,
    Player,
    QNetwork,
    Vision,
    images,
    transitions,
)
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@case(
    "the new head stays at chance, the backbone trains",
    "the head was replaced after the optimiser was made",
    "head",
    "no optimiser",
    "after it was made",
    at="loss.backward()  # of the new head too",
    never=("Nothing wrong",),
)
def head_replaced_after_the_optimiser(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Vision()
    if not broken:
        model.head = nn.Linear(WIDTH, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    if broken:
        model.head = nn.Linear(WIDTH, 3)

    def step(x: torch.Tensor, labels: torch.Tensor) -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()  # of the new head too
        optimizer.step()
        return loss.item()

    return gw.capture(step, images(), torch.tensor([0, 2]))


@case(
    "only the head of the ViT learns, though both groups have a rate",
    "the generator of the backbone's parameters was spent by the sum that counted them",
    "no optimiser",
    "empty",
    "list",
    at="loss.backward()  # of the whole ViT",
    never=("Nothing wrong",),
)
def spent_iterator(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Vision()
    body = (p for name, p in model.named_parameters() if not name.startswith("head"))
    backbone = body if broken else list(body)
    assert sum(p.numel() for p in backbone) > 100
    optimizer = torch.optim.AdamW(
        [{"params": backbone, "lr": 1e-5}, {"params": model.head.parameters()}], lr=1e-3
    )

    def step(x: torch.Tensor, labels: torch.Tensor) -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()  # of the whole ViT
        optimizer.step()
        return loss.item()

    return gw.capture(step, images(), torch.tensor([0, 2]))


@case(
    "the actor and the critic learn, their encoder doesn't",
    "the encoder is in neither optimiser",
    "encoder",
    "no optimiser",
    at="(policy_loss + value_loss).backward()",
    never=("Nothing wrong",),
)
def encoder_in_no_optimiser(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
    actor, critic = nn.Linear(8, 3), nn.Linear(8, 1)
    more = [] if broken else list(encoder.parameters())
    actors = torch.optim.Adam([*actor.parameters(), *more])
    critics = torch.optim.Adam(critic.parameters())

    def step(states: torch.Tensor, actions: torch.Tensor, returns: torch.Tensor) -> None:
        h = encoder(states)
        values = critic(h).squeeze(-1)
        chosen = actor(h).log_softmax(-1).gather(1, actions[:, None]).squeeze(1)
        policy_loss = -((returns - values).detach() * chosen).mean()
        value_loss = F.mse_loss(values, returns)
        actors.zero_grad()
        critics.zero_grad()
        (policy_loss + value_loss).backward()
        actors.step()
        critics.step()

    return gw.capture(step, *transitions()[:3])


@case(
    "the shared trunk moves twice as fast as it should",
    "the trunk is in both optimisers",
    "trunk",
    "two optimisers",
    at="critics.step()  # the trunk again",
    never=("Nothing wrong",),
)
def trunk_in_two_optimisers(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = ActorCritic()
    shared = list(model.trunk.parameters())
    actors = torch.optim.Adam([*model.policy.parameters(), *shared])
    critics = torch.optim.Adam([*model.value.parameters(), *(shared if broken else [])])

    def step(states: torch.Tensor, actions: torch.Tensor, returns: torch.Tensor) -> None:
        log_probs, values = model(states)
        chosen = log_probs.gather(1, actions[:, None]).squeeze(1)
        advantages = (returns - values).detach()
        loss = F.mse_loss(values, returns) - (advantages * chosen).mean()
        actors.zero_grad()
        critics.zero_grad()
        loss.backward()
        actors.step()
        critics.step()  # the trunk again

    return gw.capture(step, *transitions()[:3])


class Stack(nn.Module):
    """Transformer layers, in a list that registers them or not."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        layers = [Block(), Block()]
        self.layers = layers if broken else nn.ModuleList(layers)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


@case(
    "a deeper stack is no better than none",
    "the layers are in a plain list: parameters() lacks them",
    "layers",
    "ModuleList",
    at="x = layer(x)",
    never=("Nothing wrong",),
)
def layers_in_a_list(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Stack(broken)

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), labels)

    return gw.capture(loss, torch.randn(2, 4, WIDTH), torch.tensor([0, 2]))


class Heads(nn.Module):
    """Several heads on one trunk, in a dict that registers them or not."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        heads = {"age": nn.Linear(8, 1), "height": nn.Linear(8, 1)}
        self.heads = heads if broken else nn.ModuleDict(heads)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        h = self.trunk(x)
        return {name: head(h).squeeze(-1) for name, head in self.heads.items()}


@case(
    "the heads of a multi-task model stay as they were drawn",
    "the heads are in a plain dict",
    "heads",
    "ModuleDict",
    at="return {name: head(h)",
    never=("Nothing wrong",),
)
def heads_in_a_dict(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Heads(broken)
    optimizer = torch.optim.Adam(model.parameters())

    def step(x: torch.Tensor, age: torch.Tensor, height: torch.Tensor) -> float:
        optimizer.zero_grad()
        found = model(x)
        loss = F.mse_loss(found["age"], age) + F.mse_loss(found["height"], height)
        loss.backward()
        optimizer.step()
        return loss.item()

    return gw.capture(step, torch.randn(6, 4), torch.rand(6), torch.rand(6))


@case(
    "Q-values blow up: the target moves with the network",
    "the target network is trained: its values are not under no_grad",
    "target",
    "StopGradient",
    at="loss = F.mse_loss(q, r + 0.9 * best)",
    never=("Nothing wrong",),
)
def target_network_trained(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    network, target = QNetwork(), QNetwork()
    target.load_state_dict(network.state_dict())
    both = chain(network.parameters(), target.parameters()) if broken else network.parameters()
    optimizer = torch.optim.Adam(both)

    def step(s: torch.Tensor, a: torch.Tensor, r: torch.Tensor, following: torch.Tensor) -> float:
        with torch.set_grad_enabled(broken):
            best = target(following).max(1).values
        q = network(s).gather(1, a[:, None]).squeeze(1)
        loss = F.mse_loss(q, r + 0.9 * best)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return gw.capture(step, *transitions())


@case(
    "the target network never moves, though it is averaged after each step",
    "the average is given to a name of the loop, never to the parameter",
    "nothing uses",
    "copy_",
    at="t = 0.99 * t + 0.01 * p",
    never=("Nothing wrong",),
)
def target_network_never_updated(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    network, target = QNetwork(), QNetwork()
    target.requires_grad_(False)
    optimizer = torch.optim.Adam(network.parameters())

    def step(s: torch.Tensor, a: torch.Tensor, r: torch.Tensor, following: torch.Tensor) -> float:
        with torch.no_grad():
            best = target(following).max(1).values
        q = network(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, r + 0.9 * best)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for t, p in zip(target.parameters(), network.parameters(), strict=True):
                if broken:
                    t = 0.99 * t + 0.01 * p
                else:
                    t.mul_(0.99).add_(p, alpha=0.01)
        return loss.item()

    return gw.capture(step, *transitions())


@case(
    "fine-tuning changes nothing at all",
    "the loop that freezes the backbone runs over the whole model",
    "frozen",
    "requires_grad",
    never=("Nothing wrong",),
)
def head_frozen_with_the_backbone(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Vision()
    for name, parameter in model.named_parameters():
        if broken or not name.startswith("head"):
            parameter.requires_grad = False
    optimizer = torch.optim.AdamW(model.head.parameters())

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), labels)

    return gw.capture(loss, images(), torch.tensor([0, 2]), optimizer=optimizer)


@case(
    "the new head does not learn either",
    "the head runs in the no_grad of the backbone",
    "Without no_grad",
    at="with torch.no_grad():  # for the backbone",
    never=("Nothing wrong",),
)
def head_under_no_grad(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    backbone, head = Vision(), nn.Linear(WIDTH, 5)

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():  # for the backbone
            h = backbone.features(x)
            logits = head(h) if broken else None
        return F.cross_entropy(head(h) if logits is None else logits, labels)

    backbone.requires_grad_(False)
    return gw.capture(loss, images(), torch.tensor([0, 4]))


@case(
    "the generator gets worse the better the discriminator is",
    "fake is not detached, and the gradients of the discriminator's loss stay in the generator",
    "generator",
    "detach()",
    at="d_loss.backward()  # through the generator",
    never=("Nothing wrong",),
)
def discriminator_step_reaches_the_generator(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    generator, discriminator = Player(3, 4), Player(4, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_d = torch.optim.Adam(discriminator.parameters())

    def step(real: torch.Tensor, noise: torch.Tensor) -> None:
        opt_g.zero_grad()
        opt_d.zero_grad()
        fake = generator(noise)
        seen = discriminator(fake if broken else fake.detach())
        d_loss = F.softplus(-discriminator(real)).mean() + F.softplus(seen).mean()
        d_loss.backward()  # through the generator
        opt_d.step()
        g_loss = F.softplus(-discriminator(generator(noise))).mean()
        g_loss.backward()
        opt_g.step()

    return gw.capture(step, torch.randn(5, 4), torch.randn(5, 3))


@case(
    "the generator's loss is right, and it doesn't move",
    "fake is detached in the generator's step too",
    "Without detach",
    at="g_loss = F.softplus(-discriminator(fake.detach()",
    never=("Nothing wrong",),
)
def generator_step_detached(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    generator, discriminator = Player(3, 4), Player(4, 1)
    opt_g = torch.optim.Adam(generator.parameters())

    def step(noise: torch.Tensor) -> None:
        fake = generator(noise)
        if broken:
            g_loss = F.softplus(-discriminator(fake.detach())).mean()
        else:
            g_loss = F.softplus(-discriminator(fake)).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()

    return gw.capture(step, torch.randn(5, 3))
