"""Training steps with an opponent, a critic or a policy, in plain PyTorch."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def _network(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 32), nn.LeakyReLU(0.2), nn.Linear(32, outputs))


@program
def discriminator_of_a_gan() -> Imported:
    generator, discriminator = _network(4, 6), _network(6, 1)
    optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def step(real: Tensor, z: Tensor) -> Tensor:
        fake = generator(z).detach()
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(z), 1)
        loss = F.binary_cross_entropy_with_logits(discriminator(real), ones)
        loss = loss + F.binary_cross_entropy_with_logits(discriminator(fake), zeros)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return gw.capture(step, torch.randn(8, 6), torch.randn(8, 4), optimizer=optimizer)


@program
def generator_of_a_gan() -> Imported:
    generator, discriminator = _network(4, 6), _network(6, 1)
    optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def step(z: Tensor) -> Tensor:
        judged = discriminator(generator(z))
        loss = F.binary_cross_entropy_with_logits(judged, torch.ones(len(z), 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return gw.capture(step, torch.randn(8, 4), optimizer=optimizer)


@program
def generator_against_a_sigmoid() -> Imported:
    generator = _network(4, 6)
    discriminator = nn.Sequential(_network(6, 1), nn.Sigmoid())
    optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4)

    def loss(z: Tensor) -> Tensor:
        return F.binary_cross_entropy(discriminator(generator(z)), torch.ones(len(z), 1))

    return gw.capture(loss, torch.randn(8, 4), optimizer=optimizer)


@program
def critic_with_gradient_penalty() -> Imported:
    generator, critic = _network(4, 6), nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))

    def loss(real: Tensor, z: Tensor, share: Tensor) -> Tensor:
        with torch.no_grad():
            fake = generator(z)
        between = (share * real + (1 - share) * fake).requires_grad_(True)
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.norm(2, dim=1) - 1).pow(2).mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    args = torch.randn(8, 6), torch.randn(8, 4), torch.rand(8, 1)
    return gw.capture(loss, *args, optimizer=optimizer)


@program
def advantage_actor_critic() -> Imported:
    body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
    policy, value = nn.Linear(32, 2), nn.Linear(32, 1)
    optimizer = torch.optim.Adam(
        [*body.parameters(), *policy.parameters(), *value.parameters()], lr=1e-3
    )

    def loss(state: Tensor, action: Tensor, gain: Tensor) -> Tensor:
        h = body(state)
        chosen = torch.distributions.Categorical(logits=policy(h))
        v = value(h).squeeze(-1)
        advantage = gain - v
        actor = -(chosen.log_prob(action) * advantage.detach()).mean()
        return actor + 0.5 * advantage.pow(2).mean() - 0.01 * chosen.entropy().mean()

    batch = torch.randn(8, 4), torch.randint(0, 2, (8,)), torch.randn(8)
    return gw.capture(loss, *batch, optimizer=optimizer)


@program
def proximal_policy_optimisation() -> Imported:
    policy, value = nn.Linear(4, 3), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=3e-4)
    state, action = torch.randn(16, 4), torch.randint(0, 3, (16,))
    with torch.no_grad():
        old = policy(state).log_softmax(-1).gather(1, action[:, None])[:, 0]
    old = old + 0.1 * torch.randn(16)

    def loss(state: Tensor, action: Tensor, old: Tensor, gain: Tensor) -> Tensor:
        v = value(state)[:, 0]
        advantage = (gain - v).detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        new = policy(state).log_softmax(-1).gather(1, action[:, None])[:, 0]
        ratio = (new - old).exp()
        clipped = ratio.clamp(0.8, 1.2)
        actor = -torch.min(ratio * advantage, clipped * advantage).mean()
        return actor + 0.5 * F.mse_loss(v, gain)

    return gw.capture(loss, state, action, old, torch.randn(16), optimizer=optimizer)


@program
def critic_of_soft_actor_critic() -> Imported:
    actor, first, second = _network(4, 4), _network(6, 1), _network(6, 1)
    target1, target2 = copy.deepcopy(first), copy.deepcopy(second)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=3e-4)

    def loss(state: Tensor, action: Tensor, reward: Tensor, following: Tensor) -> Tensor:
        with torch.no_grad():
            mean, log_std = actor(following).chunk(2, -1)
            normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
            u = normal.rsample()
            a = torch.tanh(u)
            log_prob = (normal.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1, keepdim=True)
            both = torch.cat([following, a], -1)
            aim = torch.min(target1(both), target2(both)) - 0.2 * log_prob
            aim = reward + 0.99 * aim
        both = torch.cat([state, action], -1)
        return F.mse_loss(first(both), aim) + F.mse_loss(second(both), aim)

    batch = torch.randn(8, 4), torch.rand(8, 2), torch.randn(8, 1), torch.randn(8, 4)
    return gw.capture(loss, *batch, optimizer=optimizer)


@program
def actor_of_soft_actor_critic() -> Imported:
    actor, critic = _network(4, 4), _network(6, 1)
    optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)

    def loss(state: Tensor, noise: Tensor) -> Tensor:
        mean, log_std = actor(state).chunk(2, -1)
        u = mean + noise * log_std.clamp(-5, 2).exp()
        a = torch.tanh(u)
        log_prob = -0.5 * noise.pow(2) - log_std - torch.log(1 - a.pow(2) + 1e-6)
        return (0.2 * log_prob.sum(-1, keepdim=True) - critic(torch.cat([state, a], -1))).mean()

    return gw.capture(loss, torch.randn(8, 4), torch.randn(8, 2), optimizer=optimizer)


@program
def actor_of_deterministic_policy_gradient() -> Imported:
    actor, critic = nn.Sequential(_network(4, 2), nn.Tanh()), _network(6, 1)
    optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)

    def step(state: Tensor) -> Tensor:
        loss = -critic(torch.cat([state, actor(state)], -1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return gw.capture(step, torch.randn(8, 4), optimizer=optimizer)


@program
def policy_gradient_with_baseline() -> Imported:
    policy = _network(4, 3)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def loss(state: Tensor, reward: Tensor) -> Tensor:
        chosen = torch.distributions.Categorical(logits=policy(state))
        action = chosen.sample()
        return -(chosen.log_prob(action) * (reward - reward.mean())).mean()

    return gw.capture(loss, torch.randn(8, 4), torch.randn(8), optimizer=optimizer)
