"""Networks that train as they should, in plain PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program, trained

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@program
def multilayer_perceptron_after_ten_steps() -> Imported:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(),
                          nn.Linear(32, 3))  # fmt: skip
    x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(model(x), y)

    trained(lambda: loss(x, y), optimizer, 10)
    return gw.capture(loss, x, y, optimizer=optimizer)


@program
def residual_convolutions_with_batch_norm() -> Imported:
    class Residual(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(channels, channels, 3, padding=1)
            self.norm1 = nn.BatchNorm2d(channels)
            self.second = nn.Conv2d(channels, channels, 3, padding=1)
            self.norm2 = nn.BatchNorm2d(channels)

        def forward(self, x: Tensor) -> Tensor:
            inner = F.relu(self.norm1(self.first(x)))
            return F.relu(x + self.norm2(self.second(inner)))

    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), Residual(8),
                          nn.MaxPool2d(2), Residual(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(8, 4))  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x, y = torch.randn(4, 3, 8, 8), torch.randint(0, 4, (4,))

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(model(x), y, label_smoothing=0.1)

    trained(lambda: loss(x, y), optimizer, 3)
    return gw.capture(loss, x, y, optimizer=optimizer)


@program
def inverted_bottleneck_with_squeeze_and_excitation() -> Imported:
    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            wide = 4 * channels
            self.expand = nn.Conv2d(channels, wide, 1, bias=False)
            self.norm = nn.BatchNorm2d(wide)
            self.depthwise = nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False)
            self.squeeze = nn.Conv2d(wide, channels, 1)
            self.excite = nn.Conv2d(channels, wide, 1)
            self.project = nn.Conv2d(wide, channels, 1, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            y = F.silu(self.depthwise(F.silu(self.norm(self.expand(x)))))
            gate = self.excite(F.silu(self.squeeze(y.mean((2, 3), keepdim=True))))
            return x + self.project(y * gate.sigmoid())

    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), Block(8), Block(8))
    head = nn.Linear(8, 5)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(head(model(x).mean((2, 3))), y)

    return gw.capture(loss, torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,)))


@program
def convnext_with_layer_scale() -> Imported:
    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
            self.norm = nn.LayerNorm(channels, eps=1e-6)
            self.up = nn.Linear(channels, 4 * channels)
            self.down = nn.Linear(4 * channels, channels)
            self.scale = nn.Parameter(1e-6 * torch.ones(channels))

        def forward(self, x: Tensor) -> Tensor:
            y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
            y = self.scale * self.down(F.gelu(self.up(y)))
            return x + y.permute(0, 3, 1, 2)

    model = nn.Sequential(nn.Conv2d(3, 8, 4, stride=4), Block(8), Block(8))
    head = nn.Linear(8, 5)
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-3)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(head(model(x).mean((2, 3))), y)

    x, y = torch.randn(2, 3, 32, 32), torch.randint(0, 5, (2,))
    return gw.capture(loss, x, y, optimizer=optimizer)


@program
def u_net_with_dice_loss() -> Imported:
    def double(a: int, b: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(2, b), nn.ReLU(),
                             nn.Conv2d(b, b, 3, padding=1), nn.ReLU())  # fmt: skip

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down1, self.down2 = double(1, 8), double(8, 16)
            self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
            self.merge = double(16, 8)
            self.out = nn.Conv2d(8, 1, 1)

        def forward(self, x: Tensor) -> Tensor:
            first = self.down1(x)
            second = self.down2(F.max_pool2d(first, 2))
            return self.out(self.merge(torch.cat([self.up(second), first], 1)))

    model = UNet()

    def loss(x: Tensor, mask: Tensor) -> Tensor:
        logits = model(x)
        p = logits.sigmoid()
        dice = 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)
        return F.binary_cross_entropy_with_logits(logits, mask) + dice

    return gw.capture(loss, torch.randn(2, 1, 16, 16), (torch.rand(2, 1, 16, 16) > 0.5).float())


@program
def lstm_language_model_with_clipping() -> Imported:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, 16)
            self.lstm = nn.LSTM(16, 16, num_layers=2, batch_first=True)
            self.head = nn.Linear(16, 20)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.lstm(self.embed(x))[0])

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(x: Tensor) -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return gw.capture(step, torch.randint(0, 20, (4, 12)), optimizer=optimizer)


@program
def gru_over_packed_sequences() -> Imported:
    embed, gru, head = nn.Embedding(30, 8, padding_idx=0), nn.GRU(8, 8), nn.Linear(8, 2)
    lengths = torch.tensor([6, 4, 3])

    def loss(x: Tensor, y: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(embed(x), lengths)
        _, last = gru(packed)
        return F.cross_entropy(head(last[0]), y)

    x = torch.randint(1, 30, (6, 3))
    x[4:, 1] = 0
    x[3:, 2] = 0
    return gw.capture(loss, x, torch.tensor([0, 1, 1]))


@program
def transformer_encoder_with_padding() -> Imported:
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    embed, head = nn.Embedding(25, 16), nn.Linear(16, 3)
    optimizer = torch.optim.AdamW(
        [*model.parameters(), *embed.parameters(), *head.parameters()], lr=1e-3
    )

    def loss(x: Tensor, y: Tensor) -> Tensor:
        padding = x == 0
        states = model(embed(x), src_key_padding_mask=padding)
        kept = (~padding).unsqueeze(-1)
        return F.cross_entropy(head((states * kept).sum(1) / kept.sum(1)), y)

    x = torch.randint(1, 25, (3, 7))
    x[0, 5:] = 0
    y = torch.randint(0, 3, (3,))
    trained(lambda: loss(x, y), optimizer, 3)
    return gw.capture(loss, x, y, optimizer=optimizer)


@program
def causal_transformer_with_tied_embedding() -> Imported:
    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Tensor) -> Tensor:
            b, t, c = x.shape
            q, k, v = (
                part.view(b, t, 4, c // 4).transpose(1, 2)
                for part in self.attend(self.norm1(x)).split(c, dim=2)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(y.transpose(1, 2).reshape(b, t, c))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(40, 32), nn.Embedding(16, 32)
            self.blocks = nn.ModuleList(Block(32) for _ in range(2))
            self.norm = nn.LayerNorm(32)
            self.head = nn.Linear(32, 40, bias=False)
            self.head.weight = self.tokens.weight
            for module in self.modules():
                if isinstance(module, nn.Linear | nn.Embedding):
                    nn.init.normal_(module.weight, std=0.02)

        def forward(self, x: Tensor) -> Tensor:
            y = self.tokens(x) + self.places(torch.arange(x.shape[1]))
            for block in self.blocks:
                y = block(y)
            return self.head(self.norm(y))

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95))

    def loss(x: Tensor) -> Tensor:
        return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    x = torch.randint(0, 40, (4, 16))
    trained(lambda: loss(x), optimizer, 5)
    return gw.capture(loss, x, optimizer=optimizer)


@program
def grouped_query_attention_with_rotary_embedding() -> Imported:
    class RootMeanSquare(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x: Tensor) -> Tensor:
            return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    width, heads, groups, size = 32, 4, 2, 8
    tokens, head = nn.Embedding(50, width), nn.Linear(width, 50, bias=False)
    norm, last = RootMeanSquare(width), RootMeanSquare(width)
    ask = nn.Linear(width, heads * size, bias=False)
    key, value = (nn.Linear(width, groups * size, bias=False) for _ in range(2))
    out = nn.Linear(heads * size, width, bias=False)
    angles = torch.arange(12)[:, None] / 10000 ** (torch.arange(0, size, 2) / size)
    cosine, sine = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))

    def turned(x: Tensor) -> Tensor:
        half = torch.cat([-x[..., size // 2 :], x[..., : size // 2]], -1)
        return x * cosine + half * sine

    def loss(x: Tensor) -> Tensor:
        h = tokens(x[:, :-1])
        n = norm(h)
        q, k, v = (f(n).unflatten(-1, (-1, size)).transpose(1, 2) for f in (ask, key, value))
        y = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True, enable_gqa=True)
        h = h + out(y.transpose(1, 2).flatten(-2))
        return F.cross_entropy(head(last(h)).flatten(0, 1), x[:, 1:].flatten())

    return gw.capture(loss, torch.randint(0, 50, (2, 13)))


@program
def graph_convolutions() -> Imported:
    first, second = nn.Linear(6, 16), nn.Linear(16, 3)
    edges = torch.randint(0, 10, (2, 30))

    def gathered(x: Tensor) -> Tensor:
        total = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
        degree = torch.zeros(len(x)).index_add(0, edges[1], torch.ones(edges.shape[1]))
        return total / degree.clamp(min=1)[:, None]

    def loss(x: Tensor, y: Tensor) -> Tensor:
        h = F.relu(first(x + gathered(x)))
        known = torch.arange(10) < 6
        return F.nll_loss(F.log_softmax(second(h + gathered(h)), 1)[known], y[known])

    return gw.capture(loss, torch.randn(10, 6), torch.randint(0, 3, (10,)))


@program
def low_rank_adapters_on_a_frozen_model() -> Imported:
    class Adapted(nn.Module):
        def __init__(self, base: nn.Linear, rank: int = 2) -> None:
            super().__init__()
            self.base = base.requires_grad_(False)
            self.a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
            self.b = nn.Parameter(torch.zeros(base.out_features, rank))

        def forward(self, x: Tensor) -> Tensor:
            return self.base(x) + F.linear(F.linear(x, self.a), self.b) * 8

    model = nn.Sequential(Adapted(nn.Linear(8, 16)), nn.GELU(), Adapted(nn.Linear(16, 4)))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    x, y = torch.randn(16, 8), torch.randn(16, 4)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return F.mse_loss(model(x), y)

    trained(lambda: loss(x, y), optimizer, 2)
    return gw.capture(loss, x, y, optimizer=optimizer)


@program
def fresh_low_rank_adapters() -> Imported:
    base = nn.Linear(8, 4).requires_grad_(False)
    down, up = nn.Linear(8, 2, bias=False), nn.Linear(2, 4, bias=False)
    nn.init.zeros_(up.weight)
    optimizer = torch.optim.AdamW([*down.parameters(), *up.parameters()], lr=1e-3)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return F.mse_loss(base(x) + up(down(x)), y)

    return gw.capture(loss, torch.randn(8, 8), torch.randn(8, 4), optimizer=optimizer)


@program
def network_that_fits_its_data() -> Imported:
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.randn(12, 4)
    y = torch.arange(12) % 3

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(model(x), y)

    trained(lambda: loss(x, y), optimizer, 400)
    return gw.capture(loss, x, y, optimizer=optimizer)


@program
def triplets() -> Imported:
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(anchor: Tensor, same: Tensor, other: Tensor) -> Tensor:
        return F.triplet_margin_loss(model(anchor), model(same), model(other), margin=2.0)

    return gw.capture(loss, *torch.randn(3, 5, 6).unbind(), optimizer=optimizer)


@program
def ranking_of_pairs() -> Imported:
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(better: Tensor, worse: Tensor) -> Tensor:
        return -F.logsigmoid(model(better) - model(worse)).mean()

    return gw.capture(loss, *torch.randn(2, 5, 6).unbind(), optimizer=optimizer)
