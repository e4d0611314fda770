"""Causal language models of transformers, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import transformers as hf

from tests.truth.libraries.transformers_text import SMALL, causal
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

GROUPED = dict(**SMALL, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)


@program
def gpt2() -> Imported:
    config = hf.GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=32)
    return causal(hf.GPT2LMHeadModel(config))


@program
def gpt_j() -> Imported:
    config = hf.GPTJConfig(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=32,
                           rotary_dim=4)  # fmt: skip
    return causal(hf.GPTJForCausalLM(config))


@program
def gpt_neo() -> Imported:
    config = hf.GPTNeoConfig(vocab_size=64, hidden_size=32, num_layers=2, num_heads=4,
                             attention_types=[[["global", "local"], 1]], window_size=4,
                             max_position_embeddings=32)  # fmt: skip
    return causal(hf.GPTNeoForCausalLM(config))


@program
def gpt_neox() -> Imported:
    return causal(hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**SMALL)))


@program
def opt() -> Imported:
    config = hf.OPTConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, ffn_dim=48,
                          num_attention_heads=4, word_embed_proj_dim=32,
                          max_position_embeddings=32)  # fmt: skip
    return causal(hf.OPTForCausalLM(config))


@program
def bloom() -> Imported:
    return causal(hf.BloomForCausalLM(hf.BloomConfig(vocab_size=64, hidden_size=32, n_layer=2,
                                                     n_head=4)))  # fmt: skip


@program
def llama() -> Imported:
    return causal(hf.LlamaForCausalLM(hf.LlamaConfig(**GROUPED)))


@program
def mistral_with_sliding_window() -> Imported:
    return causal(hf.MistralForCausalLM(hf.MistralConfig(**GROUPED, sliding_window=4)))


@program
def qwen2() -> Imported:
    return causal(hf.Qwen2ForCausalLM(hf.Qwen2Config(**GROUPED)))


@program
def phi3() -> Imported:
    return causal(hf.Phi3ForCausalLM(hf.Phi3Config(**GROUPED)))


@program
def gemma() -> Imported:
    return causal(hf.GemmaForCausalLM(hf.GemmaConfig(**GROUPED, head_dim=8)))


@program
def falcon() -> Imported:
    config = hf.FalconConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2,
                             num_attention_heads=4, pad_token_id=0)  # fmt: skip
    return causal(hf.FalconForCausalLM(config))


@program
def mixtral() -> Imported:
    config = hf.MixtralConfig(**GROUPED, num_local_experts=3, num_experts_per_tok=2)
    return causal(hf.MixtralForCausalLM(config))


@program
def mamba() -> Imported:
    config = hf.MambaConfig(vocab_size=64, hidden_size=16, num_hidden_layers=2, state_size=4)
    return causal(hf.MambaForCausalLM(config))


@program
def rwkv() -> Imported:
    config = hf.RwkvConfig(vocab_size=64, hidden_size=16, num_hidden_layers=2,
                           attention_hidden_size=16, context_length=16)  # fmt: skip
    return causal(hf.RwkvForCausalLM(config))
