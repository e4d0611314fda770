"""Models of transformers that train as they should, fresh and after some steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers as hf

import gradwire as gw
from tests.truth.libraries.transformers_causal import GROUPED
from tests.truth.libraries.transformers_images import PATCHES, TEXT, images, labels
from tests.truth.libraries.transformers_text import SMALL, words
from tests.truth.programs import program, trained

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


def after(model: Any, steps: int, **inputs: Any) -> Imported:
    """A model after some steps of AdamW, as its examples train it."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(**inputs: Any) -> torch.Tensor:
        return model(**inputs).loss

    trained(lambda: loss(**inputs), optimizer, steps)
    return gw.capture(loss, optimizer=optimizer, **inputs)


@program
def bert() -> Imported:
    x = words()
    return after(hf.BertForMaskedLM(hf.BertConfig(**SMALL)), 5, input_ids=x, labels=x)


@program
def fresh_bert_for_classification() -> Imported:
    model = hf.BertForSequenceClassification(hf.BertConfig(**SMALL, num_labels=3))
    x = words()
    mask = torch.ones_like(x)
    mask[0, 6:] = 0
    return after(model, 0, input_ids=x, attention_mask=mask, labels=labels())


@program
def gpt2() -> Imported:
    config = hf.GPT2Config(vocab_size=64, n_embd=32, n_layer=3, n_head=4, n_positions=32)
    x = words()
    return after(hf.GPT2LMHeadModel(config), 0, input_ids=x, labels=x, use_cache=False)


@program
def opt() -> Imported:
    config = hf.OPTConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, ffn_dim=48,
                          num_attention_heads=4, word_embed_proj_dim=32,
                          max_position_embeddings=32)  # fmt: skip
    x = words()
    return after(hf.OPTForCausalLM(config), 5, input_ids=x, labels=x, use_cache=False)


@program
def llama_with_grouped_queries() -> Imported:
    model = hf.LlamaForCausalLM(hf.LlamaConfig(**GROUPED))
    x = words()
    return after(model, 3, input_ids=x, labels=x, use_cache=False)


@program
def t5() -> Imported:
    config = hf.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
                         decoder_start_token_id=0, dropout_rate=0.0)  # fmt: skip
    model = hf.T5ForConditionalGeneration(config)
    return after(model, 3, input_ids=words(), labels=words())


@program
def bart() -> Imported:
    config = hf.BartConfig(vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=2,
                           encoder_attention_heads=4, decoder_attention_heads=4, dropout=0.0,
                           encoder_ffn_dim=48, decoder_ffn_dim=48)  # fmt: skip
    model = hf.BartForConditionalGeneration(config)
    return after(model, 3, input_ids=words(), labels=words())


@program
def whisper() -> Imported:
    config = hf.WhisperConfig(vocab_size=64, num_mel_bins=8, d_model=32, encoder_layers=1,
                              decoder_layers=1, encoder_attention_heads=4, encoder_ffn_dim=48,
                              decoder_attention_heads=4, decoder_ffn_dim=48, pad_token_id=0,
                              max_source_positions=16, max_target_positions=16, bos_token_id=1,
                              eos_token_id=2, decoder_start_token_id=1)  # fmt: skip
    model = hf.WhisperForConditionalGeneration(config)
    return after(model, 3, input_features=torch.randn(2, 8, 32), labels=words(length=6))


@program
def vit() -> Imported:
    model = hf.ViTForImageClassification(hf.ViTConfig(**PATCHES))
    return after(model, 3, pixel_values=images(), labels=labels())


@program
def dinov2() -> Imported:
    config = hf.Dinov2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                             mlp_ratio=2, image_size=16, patch_size=4)  # fmt: skip
    model = hf.Dinov2ForImageClassification(config)
    return after(model, 0, pixel_values=images(), labels=labels())


@program
def convnext() -> Imported:
    config = hf.ConvNextConfig(hidden_sizes=[8, 16, 16], depths=[1, 2, 1], num_stages=3)
    model = hf.ConvNextForImageClassification(config)
    return after(model, 0, pixel_values=images(64), labels=labels())


@program
def segformer() -> Imported:
    config = hf.SegformerConfig(depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16],
                                num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16,
                                drop_path_rate=0.0, num_labels=3)  # fmt: skip
    model = hf.SegformerForSemanticSegmentation(config)
    return after(model, 3, pixel_values=images(64), labels=torch.randint(0, 3, (2, 64, 64)))


@program
def clip() -> Imported:
    config = hf.CLIPConfig(text_config={**TEXT, "eos_token_id": 2}, vision_config=PATCHES,
                           projection_dim=16)  # fmt: skip
    text = words()
    text[:, -1] = 2
    return after(hf.CLIPModel(config), 3, input_ids=text, pixel_values=images(), return_loss=True)
