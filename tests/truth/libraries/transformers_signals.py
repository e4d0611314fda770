"""Models of speech, of series and of decisions of transformers, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import transformers as hf

import gradwire as gw
from tests.truth.libraries.transformers_text import SMALL, captured, words
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

WAVES = dict(vocab_size=16, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
             intermediate_size=48, conv_dim=(8, 8), conv_stride=(5, 2), conv_kernel=(10, 3),
             num_feat_extract_layers=2, num_conv_pos_embeddings=8, mask_time_prob=0.0,
             num_conv_pos_embedding_groups=2, layerdrop=0.0)  # fmt: skip
SERIES = dict(prediction_length=4, context_length=8, lags_sequence=[1, 2], num_time_features=1,
              d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
              decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24)  # fmt: skip


def series() -> dict[str, torch.Tensor]:
    """Two series with their past and future."""
    return dict(
        past_values=torch.randn(2, 10), past_time_features=torch.randn(2, 10, 1),
        past_observed_mask=torch.ones(2, 10), future_values=torch.randn(2, 4),
        future_time_features=torch.randn(2, 4, 1),
    )  # fmt: skip


@program
def whisper() -> Imported:
    config = hf.WhisperConfig(vocab_size=64, num_mel_bins=8, d_model=32, encoder_layers=1,
                              decoder_layers=1, encoder_attention_heads=4, encoder_ffn_dim=48,
                              decoder_attention_heads=4, decoder_ffn_dim=48, pad_token_id=0,
                              max_source_positions=16, max_target_positions=16, bos_token_id=1,
                              eos_token_id=2, decoder_start_token_id=1)  # fmt: skip
    model = hf.WhisperForConditionalGeneration(config)
    return captured(model, input_features=torch.randn(2, 8, 32), labels=words(length=6))


@program
def wav2vec2_with_ctc() -> Imported:
    model = hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(**WAVES, ctc_loss_reduction="mean"))
    return captured(model, input_values=torch.randn(2, 400), labels=torch.randint(1, 16, (2, 4)))


@program
def hubert() -> Imported:
    model = hf.HubertForSequenceClassification(hf.HubertConfig(**WAVES))
    return captured(model, input_values=torch.randn(2, 400), labels=torch.tensor([0, 1]))


@program
def speech_to_text() -> Imported:
    config = hf.Speech2TextConfig(vocab_size=64, d_model=32, encoder_layers=1, decoder_layers=1,
                                  encoder_attention_heads=4, decoder_attention_heads=4,
                                  encoder_ffn_dim=48, decoder_ffn_dim=48, conv_channels=16,
                                  input_feat_per_channel=8, max_source_positions=32,
                                  max_target_positions=32, decoder_start_token_id=2)  # fmt: skip
    model = hf.Speech2TextForConditionalGeneration(config)
    return captured(model, input_features=torch.randn(2, 16, 8), labels=words(length=6))


@program
def audio_spectrogram_transformer() -> Imported:
    config = hf.ASTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
                          intermediate_size=48, patch_size=4, num_mel_bins=8, max_length=16,
                          frequency_stride=4, time_stride=4)  # fmt: skip
    model = hf.ASTForAudioClassification(config)
    return captured(model, input_values=torch.randn(2, 16, 8), labels=torch.tensor([0, 1]))


@program
def encodec() -> Imported:
    config = hf.EncodecConfig(num_filters=4, upsampling_ratios=[4, 2], hidden_size=16,
                              codebook_size=16, codebook_dim=16, num_lstm_layers=1)  # fmt: skip
    model = hf.EncodecModel(config).train()

    def loss(x: torch.Tensor) -> torch.Tensor:
        return (model(x).audio_values - x).abs().mean()

    return gw.capture(loss, torch.randn(1, 1, 64))


@program
def time_series_transformer() -> Imported:
    return captured(hf.TimeSeriesTransformerForPrediction(hf.TimeSeriesTransformerConfig(**SERIES)),
                    **series())  # fmt: skip


@program
def informer() -> Imported:
    return captured(hf.InformerForPrediction(hf.InformerConfig(**SERIES)), **series())


@program
def autoformer() -> Imported:
    config = hf.AutoformerConfig(**SERIES, moving_average=3, label_length=4)
    return captured(hf.AutoformerForPrediction(config), **series())


@program
def patch_time_series_transformer() -> Imported:
    config = hf.PatchTSTConfig(num_input_channels=2, context_length=16, patch_length=4,
                               patch_stride=4, prediction_length=4, d_model=16, ffn_dim=24,
                               num_hidden_layers=1, num_attention_heads=2)  # fmt: skip
    model = hf.PatchTSTForPrediction(config)
    return captured(model, past_values=torch.randn(2, 16, 2), future_values=torch.randn(2, 4, 2))


@program
def decision_transformer() -> Imported:
    config = hf.DecisionTransformerConfig(state_dim=4, act_dim=2, hidden_size=32, n_layer=1,
                                          n_head=4, max_ep_len=16)  # fmt: skip
    model = hf.DecisionTransformerModel(config)
    states, actions, gains = torch.randn(2, 5, 4), torch.randn(2, 5, 2), torch.randn(2, 5, 1)
    steps, mask = torch.arange(5).repeat(2, 1), torch.ones(2, 5)

    def loss(states: torch.Tensor, actions: torch.Tensor, gains: torch.Tensor) -> torch.Tensor:
        found = model(states=states, actions=actions, rewards=gains, returns_to_go=gains,
                      timesteps=steps, attention_mask=mask)  # fmt: skip
        return (found.action_preds - actions).pow(2).mean()

    return gw.capture(loss, states, actions, gains)


@program
def perceiver() -> Imported:
    config = hf.PerceiverConfig(vocab_size=64, num_latents=4, d_latents=16, d_model=32,
                                num_blocks=1, num_self_attends_per_block=1,
                                num_self_attention_heads=2, num_cross_attention_heads=2,
                                max_position_embeddings=16)  # fmt: skip
    x = words(length=16)
    return captured(hf.PerceiverForMaskedLM(config), inputs=x, labels=x)


@program
def layout_language_model() -> Imported:
    config = hf.LayoutLMConfig(**SMALL, max_2d_position_embeddings=32)
    model = hf.LayoutLMForTokenClassification(config)
    boxes = torch.randint(0, 15, (2, 10, 2)).repeat(1, 1, 2)
    boxes[..., 2:] += 3
    labels = torch.randint(0, 2, (2, 10))
    return captured(model, input_ids=words(), bbox=boxes, labels=labels)
