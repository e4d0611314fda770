"""Trainings in several processes, in which one alone must do nothing that all take part in."""

from __future__ import annotations

import os

import torch


def is_distributed() -> bool:
    """Whether other processes take part in this training."""
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        return False
    return bool(distributed.get_world_size() > 1)


def is_sharded(model: torch.nn.Module) -> bool:
    """Whether this process has only a part of a model's parameters."""
    return has_flat_parameters(model) or any(hasattr(p, "to_local") for p in model.parameters())


def has_flat_parameters(model: torch.nn.Module) -> bool:
    """Whether ``FullyShardedDataParallel`` keeps parameters in large ones, of which they are parts
    only while a step needs them.
    """
    names = (type(module).__name__ for module in model.modules())
    return "FullyShardedDataParallel" in names


def needs_all(model: torch.nn.Module) -> bool:
    """Whether a step fails that leaves a parameter without gradient."""
    is_distributed = isinstance(model, torch.nn.parallel.DistributedDataParallel)
    return is_distributed and not model.find_unused_parameters


def is_first_process() -> bool:
    """Whether this process speaks for all."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return bool(distributed.get_rank() == 0)
    return os.environ.get("RANK", "0") == "0"
