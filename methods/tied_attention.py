"""Network parts that SEA and CauScale share: attention along one axis of a table of embeddings, and the pair head.

Embeddings are `[b, rows, columns, e]`. Both published models come from the MSA transformer (Rao et al. 2021): attention
weights are tied, one map for all rows, summed over them. Names of weights are those of the published state dicts.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

# Most floats of a feed-forward layer's inner activations at one time.
_INNER = 2**26


class TiedAttention(nn.Module):
    """Self-attention among columns with weights summed over rows; with `across="rows"` the other way round.

    Args:
        embed_dim: Size of embeddings.
        n_heads: Number of heads.
        head_dim: Size of a head, `embed_dim // n_heads` if None.
        across: What attends to each other, `columns` or `rows`.
        scaled: Divide logits by sqrt(head size * what is summed over), so that they do not grow with it.
    """

    def __init__(self, embed_dim: int, n_heads: int, head_dim: int | None, *, across: str, scaled: bool):
        super().__init__()
        self.n_heads, self.across, self.scaled = n_heads, across, scaled
        self.head_dim = head_dim or embed_dim // n_heads
        inner = n_heads * self.head_dim
        self.k_proj = nn.Linear(embed_dim, inner)
        self.v_proj = nn.Linear(embed_dim, inner)
        self.q_proj = nn.Linear(embed_dim, inner)
        self.out_proj = nn.Linear(inner, embed_dim)

    def forward(self, x: Tensor, hidden: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """The update of `x`.

        Args:
            x: `[b, r, c, e]`.
            hidden: `[b, r, c]` bool, cells that are not there. A hidden query counts as zero; as in the published
                models, who cannot be attended to is read from the first row alone.
            rows: `[b]` how many rows are real; only the scale depends on it.
            columns: `[b]` likewise.
        """
        if self.across == "rows":
            x, hidden, rows = x.transpose(1, 2), hidden.transpose(1, 2), columns
        heads = (*x.shape[:3], self.n_heads, self.head_dim)
        q = self.q_proj(x).view(heads) * ~hidden[..., None, None]
        if self.scaled:
            q = q * (self.head_dim * rows).rsqrt()[:, None, None, None, None]
        logits = torch.einsum("brihe,brjhe->bhij", q, self.k_proj(x).view(heads))
        weights = logits.masked_fill(hidden[:, None, None, 0], -10000.0).softmax(-1)
        found = torch.einsum("bhij,brjhe->brihe", weights, self.v_proj(x).view(heads))
        update = self.out_proj(found.flatten(-2))
        return update.transpose(1, 2) if self.across == "rows" else update


class FeedForward(nn.Module):
    """Two linear maps with a GELU between, worked off in parts of rows so that wide tables fit in memory."""

    def __init__(self, embed_dim: int, ffn_embed_dim: int):
        super().__init__()
        self.fc1 = nn.Linear(embed_dim, ffn_embed_dim)
        self.fc2 = nn.Linear(ffn_embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        size = max(1, _INNER // (x.shape[0] * x.shape[2] * self.fc1.out_features))
        return torch.cat([self.fc2(functional.gelu(self.fc1(part))) for part in x.split(size, dim=1)], dim=1)


class Residual(nn.Module):
    """`x + layer(norm(x), ...)`."""

    def __init__(self, layer: nn.Module, embed_dim: int):
        super().__init__()
        self.layer = layer
        self.layer_norm = nn.LayerNorm(embed_dim)

    def forward(self, x: Tensor, *rest: Tensor) -> Tensor:
        return x + self.layer(self.layer_norm(x), *rest)


class PairHead(nn.Module):
    """From the two embeddings of a pair, i -> j and j -> i, to the logits of no edge, i -> j, j -> i."""

    def __init__(self, embed_dim: int):
        super().__init__()
        self.linear = nn.Linear(2 * embed_dim, 2 * embed_dim)
        self.layer_norm = nn.LayerNorm(2 * embed_dim)
        self.linear2 = nn.Linear(2 * embed_dim, 3)

    def forward(self, edges: Tensor) -> Tensor:
        """The logits `[b, d (d - 1) / 2, 3]` of the pairs i < j, row by row, of `edges` `[b, d, d, e]`."""
        i, j = torch.triu_indices(edges.shape[1], edges.shape[1], 1, device=edges.device)
        both = torch.cat([edges[:, i, j], edges[:, j, i]], dim=-1)
        return self.linear2(self.layer_norm(functional.gelu(self.linear(both))))
