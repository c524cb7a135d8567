"""The network of SEA (Wu et al. 2024), with the names and shapes of its published state dict."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from arena.errors import MethodError
from methods.tied_attention import FeedForward, PairHead, Residual, TiedAttention


class SEANet(nn.Module):
    """The aggregator: one stream over trials and pairs of variables, one over the matrix of global statistics.

    Args:
        transformer_num_layers: Number of blocks.
        embed_dim: Size of embeddings.
        ffn_embed_dim: Inner size of feed-forward layers.
        n_heads: Attention heads.
        num_vars: Largest number of variables.
        num_edge_types: Number of tokens that a pair can have, with 0 for "not in this trial".
        max_trials: Largest number of trials.
        max_length: Largest number of cells (trials times pairs) that is worked off as the published program does.
    """

    def __init__(
        self,
        *,
        transformer_num_layers: int,
        embed_dim: int,
        ffn_embed_dim: int,
        n_heads: int,
        num_vars: int,
        num_edge_types: int,
        max_trials: int,
        max_length: float,
    ):
        super().__init__()
        self.max_length, self.max_trials = max_length, max_trials
        self.encoder = _Encoder(
            [_Block(embed_dim, ffn_embed_dim, n_heads) for _ in range(transformer_num_layers)],
            embed_dim,
            num_vars,
            num_edge_types,
            max_trials,
        )
        self.top_layer = PairHead(embed_dim)

    def forward(self, tokens: Tensor, pairs: Tensor, statistics: Tensor, shuffle: torch.Generator) -> Tensor:
        """The logits of no edge, i -> j, j -> i.

        Args:
            tokens: `[trials, pairs]` int64, what a trial found out about a pair, 0 where it did not look at it.
            pairs: `[pairs, 2]` int64, the variables of each pair, sorted.
            statistics: `[d, d]`, the precision matrix.
            shuffle: Draws which embedding stands for which variable, anew at each use as in the published program.

        Returns:
            `[d (d - 1) / 2, 3]`, pairs i < j row by row.

        Raises:
            MethodError: If the table is too large for the network.
        """
        cells = max(tokens.numel(), statistics.numel())
        if len(tokens) > self.max_trials or cells > self.max_length:
            found = f"{len(tokens)} trials over {tokens.shape[1]} pairs"
            raise MethodError(f"sea: {found}; the network takes {self.max_trials} trials, {self.max_length:g} cells")
        return self.top_layer(self.encoder(tokens, pairs, statistics, shuffle))[0]


class _Encoder(nn.Module):
    def __init__(self, blocks: list["_Block"], embed_dim: int, num_vars: int, num_edge_types: int, max_trials: int):
        super().__init__()
        self.embed_tokens = nn.Embedding(num_edge_types, embed_dim)
        self.embed_feats = nn.Linear(1, embed_dim)
        self.embed_nodes = nn.Embedding(num_vars + 1, embed_dim)
        self.embed_edges = _PairEmbedding(num_vars + 1, embed_dim)
        self.embed_time = nn.Embedding(max_trials + 1, embed_dim)
        self.layers = nn.ModuleList(blocks)
        self.emb_layer_norm_before = nn.LayerNorm(embed_dim)
        self.emb_layer_norm_after = nn.LayerNorm(embed_dim)  # has weights, but nothing reads what it gives
        self.feat_layer_norm_before = nn.LayerNorm(embed_dim)
        self.feat_layer_norm_after = nn.LayerNorm(embed_dim)

    def forward(self, tokens: Tensor, pairs: Tensor, statistics: Tensor, shuffle: torch.Generator) -> Tensor:
        hidden, hidden_pairs = tokens == 0, statistics == 0
        # Trials are numbered among those that looked at the first pair; the others are all number 0.
        trials = self.embed_time(_numbered(tokens[:, 0] != 0))
        x = self.embed_tokens(tokens) + self.embed_edges(pairs + 1, shuffle) + trials[:, None]
        x = self.emb_layer_norm_before(x) * ~hidden[..., None]
        rows = self.embed_nodes(_shuffled(_numbered(~hidden_pairs[0]), self.embed_nodes.num_embeddings, shuffle))
        columns = self.embed_nodes(_shuffled(_numbered(~hidden_pairs[:, 0]), self.embed_nodes.num_embeddings, shuffle))
        matrix = self.embed_feats(statistics[..., None]) + rows[:, None] + columns
        matrix = self.feat_layer_norm_before(matrix) * ~hidden_pairs[..., None]

        x, matrix, hidden, seen = x[None], matrix[None], hidden[None], hidden_pairs[None]
        for block in self.layers:
            x, matrix = block(x, matrix, pairs, hidden, seen)
        return self.feat_layer_norm_after(matrix) * ~hidden_pairs[..., None]


def _numbered(present: Tensor) -> Tensor:
    """1, 2, 3, ... for the true entries of `[n]` bool, 0 for the others."""
    return present.cumsum(0) * present


def _shuffled(places: Tensor, size: int, shuffle: torch.Generator) -> Tensor:
    """Places below `size` under a random permutation of all of them."""
    return torch.randperm(size, generator=shuffle).to(places.device)[places]


class _PairEmbedding(nn.Embedding):
    """One embedding a pair of variables, from one for each of them."""

    def __init__(self, size: int, embed_dim: int):
        super().__init__(size, embed_dim)
        self.linear = nn.Linear(2 * embed_dim, embed_dim)
        self.layer_norm = nn.LayerNorm(embed_dim)
        self.linear2 = nn.Linear(embed_dim, embed_dim)

    def forward(self, input: Tensor, shuffle: torch.Generator) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        both = super().forward(_shuffled(input, self.num_embeddings, shuffle)).flatten(-2)
        return self.linear2(self.layer_norm(functional.gelu(self.linear(both))))


class _Block(nn.Module):
    """Attention over trials, what they say about each pair into the matrix, attention over it, and back."""

    def __init__(self, embed_dim: int, ffn_embed_dim: int, n_heads: int):
        super().__init__()
        self.feat_layer = _AxialLayer(embed_dim, ffn_embed_dim, n_heads, scale_rows=False)
        self.graph_layer = _AxialLayer(embed_dim, ffn_embed_dim, n_heads, scale_rows=True)
        self.pad = nn.Parameter(torch.zeros(1))
        self.linear = nn.Linear(2 * embed_dim, embed_dim)

    def forward(self, x: Tensor, matrix: Tensor, pairs: Tensor, hidden: Tensor, hidden_pairs: Tensor):
        i, j = pairs.T
        x = self.graph_layer(x, hidden)
        found = self.pad.expand_as(matrix).clone()
        found[:, i, j] = x.mean(dim=1)
        matrix = self.feat_layer(self.linear(torch.cat([matrix, found], dim=-1)), hidden_pairs)
        return x + matrix[:, None, i, j], matrix


class _AxialLayer(nn.Module):
    """Attention among columns, then among rows, then a feed-forward layer."""

    def __init__(self, embed_dim: int, ffn_embed_dim: int, n_heads: int, *, scale_rows: bool):
        super().__init__()
        among = lambda across, scaled: Residual(  # noqa: E731
            TiedAttention(embed_dim, n_heads, None, across=across, scaled=scaled), embed_dim
        )
        self.row_attn = among("columns", scale_rows)
        self.col_attn = among("rows", False)
        self.ffn = Residual(FeedForward(embed_dim, ffn_embed_dim), embed_dim)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        rows, columns = (torch.full((1,), size, device=x.device) for size in x.shape[1:3])
        return self.ffn(self.col_attn(self.row_attn(x, hidden, rows, columns), hidden, rows, columns))


def build(config) -> SEANet:
    """The network that a `config.json` describes; its keys are the arguments of `SEANet`."""
    return SEANet(**config)
