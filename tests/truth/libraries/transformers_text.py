"""Language models of transformers, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers as hf

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

SMALL = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=48, max_position_embeddings=32)  # fmt: skip
"""What most configurations call these sizes."""


def captured(model: Any, **inputs: Any) -> Imported:
    """The loss of a model of transformers in training, without dropout."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0

    def loss(**inputs: Any) -> torch.Tensor:
        return model(**inputs).loss

    return gw.capture(loss, **inputs)


def words(vocabulary: int = 64, length: int = 10) -> torch.Tensor:
    """Token ids of two sentences."""
    return torch.randint(3, vocabulary, (2, length))


def masked(model: Any) -> Imported:
    """The loss of a masked language model."""
    x = words()
    return captured(model, input_ids=x, attention_mask=torch.ones_like(x), labels=x)


def causal(model: Any) -> Imported:
    """The loss of a causal language model."""
    x = words()
    return captured(model, input_ids=x, labels=x, use_cache=False)


@program
def bert_for_masked_words() -> Imported:
    return masked(hf.BertForMaskedLM(hf.BertConfig(**SMALL)))


@program
def bert_for_classification() -> Imported:
    model = hf.BertForSequenceClassification(hf.BertConfig(**SMALL, num_labels=3))
    return captured(model, input_ids=words(), labels=torch.tensor([0, 2]))


@program
def bert_for_questions() -> Imported:
    model = hf.BertForQuestionAnswering(hf.BertConfig(**SMALL))
    places = torch.tensor([1, 4])
    return captured(model, input_ids=words(), start_positions=places, end_positions=places + 2)


@program
def roberta() -> Imported:
    return masked(hf.RobertaForMaskedLM(hf.RobertaConfig(**SMALL)))


@program
def albert() -> Imported:
    return masked(hf.AlbertForMaskedLM(hf.AlbertConfig(**SMALL, embedding_size=16)))


@program
def distilbert() -> Imported:
    config = hf.DistilBertConfig(vocab_size=64, dim=32, n_layers=2, n_heads=4, hidden_dim=48)
    return masked(hf.DistilBertForMaskedLM(config))


@program
def electra() -> Imported:
    model = hf.ElectraForPreTraining(hf.ElectraConfig(**SMALL, embedding_size=16))
    return captured(model, input_ids=words(), labels=torch.randint(0, 2, (2, 10)))


@program
def deberta() -> Imported:
    config = hf.DebertaV2Config(**SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"])
    model = hf.DebertaV2ForSequenceClassification(config)
    return captured(model, input_ids=words(), labels=torch.tensor([0, 1]))


@program
def mpnet() -> Imported:
    return masked(hf.MPNetForMaskedLM(hf.MPNetConfig(**SMALL)))


@program
def fourier_net() -> Imported:
    x = words()
    return captured(hf.FNetForMaskedLM(hf.FNetConfig(**SMALL)), input_ids=x, labels=x)


@program
def longformer() -> Imported:
    config = hf.LongformerConfig(**SMALL, attention_window=[4, 4], pad_token_id=1)
    model = hf.LongformerForSequenceClassification(config)
    return captured(model, input_ids=words(length=8), labels=torch.tensor([0, 1]))


@program
def big_bird() -> Imported:
    return masked(hf.BigBirdForMaskedLM(hf.BigBirdConfig(**SMALL, attention_type="original_full")))


@program
def xlnet() -> Imported:
    config = hf.XLNetConfig(vocab_size=64, d_model=32, n_layer=2, n_head=4, d_inner=48)
    model = hf.XLNetForSequenceClassification(config)
    return captured(model, input_ids=words(), labels=torch.tensor([0, 1]))


@program
def t5() -> Imported:
    config = hf.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
                         decoder_start_token_id=0)  # fmt: skip
    return captured(hf.T5ForConditionalGeneration(config), input_ids=words(), labels=words())


@program
def bart() -> Imported:
    config = hf.BartConfig(vocab_size=64, d_model=32, encoder_layers=1, decoder_layers=1,
                           encoder_attention_heads=4, decoder_attention_heads=4,
                           encoder_ffn_dim=48, decoder_ffn_dim=48)  # fmt: skip
    return captured(hf.BartForConditionalGeneration(config), input_ids=words(), labels=words())
