"""Adapters of peft on models of transformers, and quantisers, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import peft
import torch
import transformers as hf

import gradwire as gw
from tests.truth.libraries.transformers_causal import GROUPED
from tests.truth.libraries.transformers_text import words
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def adapted(config: Any) -> Imported:
    """The loss of a causal language model with an adapter."""
    model = peft.get_peft_model(hf.LlamaForCausalLM(hf.LlamaConfig(**GROUPED)), config)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    x = words()

    def loss(x: torch.Tensor) -> torch.Tensor:
        return model(input_ids=x, attention_mask=torch.ones_like(x), labels=x).loss

    return gw.capture(loss, x, optimizer=optimizer)


@program
def low_rank() -> Imported:
    return adapted(peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))


@program
def low_rank_with_magnitudes() -> Imported:
    config = peft.LoraConfig(r=2, target_modules=["q_proj"], use_dora=True, task_type="CAUSAL_LM")
    return adapted(config)


@program
def scaled_activations() -> Imported:
    return adapted(peft.IA3Config(target_modules=["k_proj", "down_proj"],
                                  feedforward_modules=["down_proj"],
                                  task_type="CAUSAL_LM"))  # fmt: skip


@program
def prompt_tuning() -> Imported:
    return adapted(peft.PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"))


@program
def prefix_tuning() -> Imported:
    return adapted(peft.PrefixTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"))


@program
def hadamard_products() -> Imported:
    return adapted(peft.LoHaConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM"))


@program
def orthogonal_tuning() -> Imported:
    config = peft.OFTConfig(r=0, oft_block_size=4, target_modules=["q_proj"], task_type="CAUSAL_LM")
    return adapted(config)
