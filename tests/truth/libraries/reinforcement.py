"""Losses of training steps of Stable-Baselines3, with its policies at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticCnnPolicy, ActorCriticPolicy
from stable_baselines3.dqn.policies import DQNPolicy
from stable_baselines3.sac.policies import SACPolicy
from stable_baselines3.td3.policies import TD3Policy
from torch import Tensor
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

SEEN = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
CONTINUOUS = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
DISCRETE = gymnasium.spaces.Discrete(3)


def _rate(_: float) -> float:
    return 1e-3


def actor_critic(policy: ActorCriticPolicy, state: Tensor, action: Tensor) -> Imported:
    """The loss of a step of PPO."""
    old, gain = torch.randn(len(state)) * 0.1 - 1, torch.randn(len(state))

    def loss(state: Tensor, action: Tensor, old: Tensor, gain: Tensor) -> Tensor:
        values, log_prob, entropy = policy.evaluate_actions(state, action)
        advantage = (gain - gain.mean()) / (gain.std() + 1e-8)
        ratio = torch.exp(log_prob - old)
        clipped = torch.clamp(ratio, 0.8, 1.2)
        actor = -torch.min(advantage * ratio, advantage * clipped).mean()
        return actor + 0.5 * F.mse_loss(gain, values.flatten()) - 0.01 * entropy.mean()

    return gw.capture(loss, state, action, old, gain)


@program
def proximal_policy_with_discrete_actions() -> Imported:
    policy = ActorCriticPolicy(SEEN, DISCRETE, _rate)
    return actor_critic(policy, torch.randn(6, 4), torch.randint(0, 3, (6,)))


@program
def proximal_policy_with_continuous_actions() -> Imported:
    policy = ActorCriticPolicy(SEEN, CONTINUOUS, _rate)
    return actor_critic(policy, torch.randn(6, 4), torch.rand(6, 2))


@program
def state_dependent_exploration() -> Imported:
    policy = ActorCriticPolicy(SEEN, CONTINUOUS, _rate, use_sde=True)
    return actor_critic(policy, torch.randn(6, 4), torch.rand(6, 2))


@program
def advantage_actor_critic_on_images() -> Imported:
    images = gymnasium.spaces.Box(0, 255, (1, 36, 36), np.uint8)
    policy = ActorCriticCnnPolicy(images, DISCRETE, _rate)
    seen = torch.randint(0, 256, (3, 1, 36, 36), dtype=torch.uint8)

    def loss(seen: Tensor, action: Tensor, gain: Tensor) -> Tensor:
        values, log_prob, entropy = policy.evaluate_actions(seen, action)
        advantage = gain - values.flatten().detach()
        value = F.mse_loss(gain, values.flatten())
        return -(advantage * log_prob).mean() + 0.5 * value - 0.01 * entropy.mean()

    return gw.capture(loss, seen, torch.randint(0, 3, (3,)), torch.randn(3))


@program
def deep_q_network() -> Imported:
    policy = DQNPolicy(SEEN, DISCRETE, _rate)

    def loss(state: Tensor, action: Tensor, reward: Tensor, following: Tensor) -> Tensor:
        with torch.no_grad():
            best = policy.q_net_target(following).max(dim=1).values.reshape(-1, 1)
            target = reward + 0.99 * best
        return F.smooth_l1_loss(policy.q_net(state).gather(1, action), target)

    batch = torch.randn(6, 4), torch.randint(0, 3, (6, 1)), torch.randn(6, 1), torch.randn(6, 4)
    return gw.capture(loss, *batch, optimizer=policy.optimizer)


@program
def critic_of_soft_actor_critic() -> Imported:
    policy = SACPolicy(SEEN, CONTINUOUS, _rate)

    def loss(state: Tensor, action: Tensor, reward: Tensor, following: Tensor) -> Tensor:
        with torch.no_grad():
            chosen, log_prob = policy.actor.action_log_prob(following)
            both = torch.cat(policy.critic_target(following, chosen), dim=1)
            best = both.min(dim=1, keepdim=True).values - 0.2 * log_prob.reshape(-1, 1)
            target = reward + 0.99 * best
        return 0.5 * sum(F.mse_loss(q, target) for q in policy.critic(state, action))

    batch = torch.randn(6, 4), torch.rand(6, 2), torch.randn(6, 1), torch.randn(6, 4)
    return gw.capture(loss, *batch, optimizer=policy.critic.optimizer)


@program
def actor_of_soft_actor_critic() -> Imported:
    policy = SACPolicy(SEEN, CONTINUOUS, _rate)

    def loss(state: Tensor) -> Tensor:
        chosen, log_prob = policy.actor.action_log_prob(state)
        best = torch.cat(policy.critic(state, chosen), dim=1).min(dim=1, keepdim=True).values
        return (0.2 * log_prob.reshape(-1, 1) - best).mean()

    return gw.capture(loss, torch.randn(6, 4), optimizer=policy.actor.optimizer)


@program
def critic_of_twin_delayed_policy_gradient() -> Imported:
    policy = TD3Policy(SEEN, CONTINUOUS, _rate)

    def loss(state: Tensor, action: Tensor, reward: Tensor, following: Tensor) -> Tensor:
        with torch.no_grad():
            noise = (torch.randn_like(action) * 0.2).clamp(-0.5, 0.5)
            chosen = (policy.actor_target(following) + noise).clamp(-1, 1)
            both = torch.cat(policy.critic_target(following, chosen), dim=1)
            target = reward + 0.99 * both.min(dim=1, keepdim=True).values
        return sum(F.mse_loss(q, target) for q in policy.critic(state, action))

    batch = torch.randn(6, 4), torch.rand(6, 2), torch.randn(6, 1), torch.randn(6, 4)
    return gw.capture(loss, *batch, optimizer=policy.critic.optimizer)


@program
def actor_of_deterministic_policy_gradient() -> Imported:
    policy = TD3Policy(SEEN, CONTINUOUS, _rate)

    def step(state: Tensor) -> Tensor:
        loss = -policy.critic.q1_forward(state, policy.actor(state)).mean()
        policy.actor.optimizer.zero_grad()
        loss.backward()
        policy.actor.optimizer.step()
        return loss

    return gw.capture(step, torch.randn(6, 4), optimizer=policy.actor.optimizer)
