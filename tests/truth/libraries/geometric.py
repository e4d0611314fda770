"""Models of PyTorch Geometric, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.programs import program

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.runtime.interchange.importing.imported import Imported

NODES, WIDTH = 10, 6


def edges() -> Tensor:
    """A ring with chords."""
    first = torch.arange(NODES)
    second = torch.cat([(first + 1) % NODES, (first + 3) % NODES])
    one = torch.stack([first.repeat(2), second])
    return torch.cat([one, one.flip(0)], 1)


def classified(*layers: Any, **inputs: Any) -> Imported:
    """The loss of a network of graphs on all of its nodes."""
    model = nn.ModuleList(layers)

    def loss(x: Tensor, y: Tensor, edge_index: Tensor, **inputs: Any) -> Tensor:
        for layer in model[:-1]:
            x = F.relu(layer(x, edge_index, **inputs))
        return F.cross_entropy(model[-1](x, edge_index, **inputs), y)

    x, y = torch.randn(NODES, WIDTH), torch.randint(0, 3, (NODES,))
    return gw.capture(loss, x, y, edges(), **inputs)


def _perceptron(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 8), nn.ReLU(), nn.Linear(8, outputs))


@program
def graph_convolution() -> Imported:
    return classified(pyg.GCNConv(WIDTH, 8), pyg.GCNConv(8, 3))


@program
def graph_attention() -> Imported:
    return classified(pyg.GATConv(WIDTH, 4, heads=2), pyg.GATConv(8, 3))


@program
def graph_attention_v2_with_edges() -> Imported:
    attributes = torch.randn(edges().shape[1], 2)
    layers = pyg.GATv2Conv(WIDTH, 4, heads=2, edge_dim=2), pyg.GATv2Conv(8, 3, edge_dim=2)
    return classified(*layers, edge_attr=attributes)


@program
def graph_sage() -> Imported:
    return classified(pyg.SAGEConv(WIDTH, 8, aggr="max"), pyg.SAGEConv(8, 3))


@program
def graph_isomorphism() -> Imported:
    return classified(pyg.GINConv(_perceptron(WIDTH, 8), train_eps=True),
                      pyg.GINConv(_perceptron(8, 3)))  # fmt: skip


@program
def graph_transformer() -> Imported:
    return classified(pyg.TransformerConv(WIDTH, 4, heads=2), pyg.TransformerConv(8, 3))


@program
def chebyshev_filters() -> Imported:
    return classified(pyg.ChebConv(WIDTH, 8, K=3), pyg.ChebConv(8, 3, K=2))


@program
def edge_convolution() -> Imported:
    return classified(pyg.EdgeConv(_perceptron(2 * WIDTH, 8)), pyg.EdgeConv(_perceptron(16, 3)))


@program
def relations() -> Imported:
    kinds = torch.arange(edges().shape[1]) % 2
    layers = pyg.RGCNConv(WIDTH, 8, num_relations=2), pyg.RGCNConv(8, 3, num_relations=2)
    return classified(*layers, edge_type=kinds)


@program
def principal_aggregation() -> Imported:
    degrees = torch.tensor([0, 0, 0, 0, NODES])
    layer = pyg.PNAConv(WIDTH, 8, ["mean", "max", "std"], ["identity", "attenuation"], degrees)
    return classified(layer, pyg.GraphConv(8, 3))


def pooled(model: Callable[[Tensor, Tensor], Tensor]) -> Imported:
    """The loss of a classification of two graphs."""
    batch = torch.arange(NODES) // 5
    head = nn.Linear(8, 3)

    def loss(x: Tensor, y: Tensor, edge_index: Tensor) -> Tensor:
        return F.cross_entropy(head(pyg.global_mean_pool(model(x, edge_index), batch)), y)

    return gw.capture(loss, torch.randn(NODES, WIDTH), torch.tensor([0, 2]), edges())


@program
def jumping_knowledge_with_norm() -> Imported:
    return pooled(pyg.GIN(WIDTH, 8, 2, 8, jk="cat", norm="batch_norm"))


@program
def graph_u_net() -> Imported:
    return pooled(pyg.GraphUNet(WIDTH, 8, 8, depth=1, pool_ratios=0.5))


@program
def set_transformer_aggregation() -> Imported:
    aggregate, head = pyg.aggr.SetTransformerAggregation(WIDTH, heads=2), nn.Linear(WIDTH, 3)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(head(aggregate(x, torch.arange(NODES) // 5)), y)

    return gw.capture(loss, torch.randn(NODES, WIDTH), torch.tensor([0, 2]))


@program
def variational_graph_autoencoder() -> Imported:
    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = pyg.GCNConv(WIDTH, 8)
            self.mean, self.logstd = pyg.GCNConv(8, 4), pyg.GCNConv(8, 4)

        def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
            x = F.relu(self.first(x, edge_index))
            return self.mean(x, edge_index), self.logstd(x, edge_index)

    model = pyg.VGAE(Encoder()).train()
    others = torch.randint(0, NODES, (2, 20))

    def loss(x: Tensor, edge_index: Tensor) -> Tensor:
        z = model.encode(x, edge_index)
        return model.recon_loss(z, edge_index, others) + model.kl_loss() / NODES

    return gw.capture(loss, torch.randn(NODES, WIDTH), edges())


@program
def continuous_filters_of_molecules() -> Imported:
    model = pyg.models.SchNet(hidden_channels=16, num_filters=16, num_interactions=1,
                              num_gaussians=8, interaction_graph=_all_pairs)  # fmt: skip
    numbers = torch.tensor([6, 1, 1, 8])

    def loss(places: Tensor, energy: Tensor) -> Tensor:
        return F.l1_loss(model(numbers, places), energy)

    return gw.capture(loss, torch.randn(4, 3), torch.randn(1, 1))


def _all_pairs(places: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
    pairs = (1 - torch.eye(len(places))).nonzero().T
    return pairs, (places[pairs[0]] - places[pairs[1]]).norm(dim=-1)
