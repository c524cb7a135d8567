"""The network of CauScale (Peng et al. 2026), with the names and shapes of its published state dict."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from methods.tied_attention import FeedForward, PairHead, Residual, TiedAttention


class CauScaleNet(nn.Module):
    """Two streams: the rows of the table, and a matrix over pairs of variables that starts as the precision matrix.

    Args:
        transformer_num_layers: Number of blocks.
        embed_dim: Size of embeddings.
        ffn_embed_dim: Inner size of feed-forward layers.
        n_heads: Attention heads.
        head_dim: Size of a head, `embed_dim // n_heads` if -1.
        scale_graph_rows: Scale attention in the pair stream by the number of rows.
        scale_graph_cols: Likewise, of columns.
        scale_data_cols: Scale attention among rows of the table by the number of variables.
        disable_reduction_unit: Leave out the halving of rows.
    """

    def __init__(
        self,
        *,
        transformer_num_layers: int,
        embed_dim: int,
        ffn_embed_dim: int,
        n_heads: int,
        head_dim: int,
        scale_graph_rows: bool,
        scale_graph_cols: bool,
        scale_data_cols: bool,
        disable_reduction_unit: bool,
    ):
        super().__init__()
        heads = (n_heads, None if head_dim == -1 else head_dim)
        blocks = [
            _Block(
                _AxialLayer(embed_dim, ffn_embed_dim, *heads, scale_graph_rows, scale_graph_cols),
                _AxialLayer(embed_dim, ffn_embed_dim, *heads, True, scale_data_cols),
                _AxialLayer(embed_dim, embed_dim, *heads, True, False),
                embed_dim,
            )
            for _ in range(transformer_num_layers)
        ]
        self.encoder = _Encoder(blocks, embed_dim, not disable_reduction_unit)
        self.top_layer = PairHead(embed_dim)

    def forward(self, values: Tensor, interventions: Tensor, prior: Tensor, columns: Tensor) -> Tensor:
        """The logits of no edge, i -> j, j -> i.

        As in the published program, cells that are exactly zero count as padding. Tables of one batch have equally many
        rows.

        Args:
            values: `[b, n, d]`, standardised.
            interventions: `[b, n, d]`, 1 where a variable was set.
            prior: `[b, d, d]`, the precision matrix.
            columns: `[b, d]` bool, which variables are real; the others come last and are zero.

        Returns:
            `[b, d (d - 1) / 2, 3]`, pairs i < j row by row.
        """
        return self.top_layer(self.encoder(values, interventions, prior, columns.sum(dim=1)))


class _Encoder(nn.Module):
    def __init__(self, blocks: list["_Block"], embed_dim: int, reduce: bool):
        super().__init__()
        self.reduce = reduce
        self.embed_data = nn.Linear(2, embed_dim)
        self.embed_graph = nn.Linear(1, embed_dim)
        self.layers = nn.ModuleList(blocks)
        self.data_layer_norm_before = nn.LayerNorm(embed_dim)
        self.data_layer_norm_after = nn.LayerNorm(embed_dim)  # has weights, but nothing reads what it gives
        self.graph_layer_norm_before = nn.LayerNorm(embed_dim)
        self.graph_layer_norm_after = nn.LayerNorm(embed_dim)

    def forward(self, values: Tensor, interventions: Tensor, prior: Tensor, d: Tensor) -> Tensor:
        hidden, hidden_pairs = values == 0, prior == 0
        data = self.data_layer_norm_before(self.embed_data(torch.stack([values, interventions], dim=-1)))
        data = data * ~hidden[..., None]
        graph = self.graph_layer_norm_before(self.embed_graph(prior[..., None])) * ~hidden_pairs[..., None]
        for place, block in enumerate(self.layers):
            data, graph = block(data, graph, hidden, hidden_pairs, d)
            if self.reduce and place >= 2 and place % 2 == 0:
                data, hidden = _halved(data).mean(dim=2), _halved(hidden).any(dim=2)
        return self.graph_layer_norm_after(graph) * ~hidden_pairs[..., None]


def _halved(rows: Tensor) -> Tensor:
    """`[b, n, ...]` as `[b, n // 2, 2, ...]`, neighbouring rows together; an odd last row is left out."""
    half = rows.shape[1] // 2
    return rows[:, : 2 * half].unflatten(1, (half, 2))


class _Block(nn.Module):
    def __init__(self, graph: "_AxialLayer", data: "_AxialLayer", between: "_AxialLayer", embed_dim: int):
        super().__init__()
        self.graph_layer = graph
        self.data_layer = data
        self.data2graph_layer = _DataToGraph(between, embed_dim)
        self.linear = nn.Linear(embed_dim + 1, embed_dim)

    def forward(self, data: Tensor, graph: Tensor, hidden: Tensor, hidden_pairs: Tensor, d: Tensor):
        n = torch.full_like(d, data.shape[1])
        data = self.data_layer(data, hidden, n, d)
        found = self.data2graph_layer(data, hidden, n, d)
        graph = self.linear(torch.cat([graph, found[..., None]], dim=-1))
        return data, self.graph_layer(graph, hidden_pairs, d, d)


class _DataToGraph(nn.Module):
    """One number a pair of variables from the rows: an inner product of two summaries of each variable."""

    def __init__(self, layer: "_AxialLayer", embed_dim: int):
        super().__init__()
        self.proj_u = _Summary(embed_dim)
        self.proj_v = _Summary(embed_dim)
        self.axial_layer = layer

    def forward(self, data: Tensor, hidden: Tensor, n: Tensor, d: Tensor) -> Tensor:
        average = self.axial_layer(data, hidden, n, d).mean(dim=1)
        return self.proj_u(average) @ self.proj_v(average).transpose(1, 2)


class _Summary(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.linear = nn.Linear(embed_dim, embed_dim)
        self.layer_norm = nn.LayerNorm(embed_dim)
        self.linear2 = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.layer_norm(functional.gelu(self.linear(x))))


class _AxialLayer(nn.Module):
    """Attention among columns, then among rows, then a feed-forward layer."""

    def __init__(
        self,
        embed_dim: int,
        ffn_embed_dim: int,
        n_heads: int,
        head_dim: int | None,
        scale_rows: bool,
        scale_columns: bool,
    ):
        super().__init__()
        among = lambda across, scaled: Residual(  # noqa: E731
            TiedAttention(embed_dim, n_heads, head_dim, across=across, scaled=scaled), embed_dim
        )
        self.row_self_attention = among("columns", scale_rows)
        self.column_self_attention = among("rows", scale_columns)
        self.feed_forward_layer = Residual(FeedForward(embed_dim, ffn_embed_dim), embed_dim)

    def forward(self, x: Tensor, hidden: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        x = self.row_self_attention(x, hidden, rows, columns)
        x = self.column_self_attention(x, hidden, rows, columns)
        return self.feed_forward_layer(x)


def build(config) -> CauScaleNet:
    """The network that a `config.json` describes; its keys are the arguments of `CauScaleNet`."""
    return CauScaleNet(**config)
