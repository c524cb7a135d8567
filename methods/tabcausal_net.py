"""The network of TabCausal in PyTorch, with the names and shapes of the published weights, for padded tables.

Source: Li et al., TabCausal: Pretraining Across Causal Environments for Tabular Causal Discovery, arXiv:2605.31156.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a published configuration says; the defaults are the published ones.

    Attributes:
        embed_dim: Size of the embedding of an entry of the table.
        out_dim: Size of what edges are scored by; `embed_dim` when None.
        col_num_blocks: Pairs of blocks, one along the variables and one along the rows.
        col_nhead: Heads.
        key_size: Size of a head's keys, queries and values.
        widening_factor: Hidden units of the feed-forward part, as a multiple of `embed_dim`.
        input_dim: Channels: the value, and whether it was set.
        dropout: For training only, as are the two that follow.
        cosine_temp_init: Where the temperature started.
        logit_bias_init: Where the bias started.

    Raises:
        ValueError: If there are other than two channels.
    """

    embed_dim: int = 128
    out_dim: int | None = None
    col_num_blocks: int = 8
    col_nhead: int = 8
    key_size: int = 32
    widening_factor: int = 4
    input_dim: int = 2
    dropout: float = 0.1
    cosine_temp_init: float = 2.0
    logit_bias_init: float = -1.0

    def __post_init__(self):
        if self.input_dim != 2:
            raise ValueError(f"input_dim is {self.input_dim}; only 2 is known here")


def build(config: Mapping[str, Any]) -> "TabCausal":
    """The network that a checkpoint's configuration describes.

    Raises:
        TypeError: If a setting is unknown.
        ValueError: If one is out of range.
    """
    return TabCausal(Settings(**config))


class TabCausal(nn.Module):
    """Attention along the variables and along the rows of a table, in turn; edges are scored by a scaled cosine."""

    def __init__(self, settings: Settings):
        super().__init__()
        self.feature_encoder = _Encoder(settings)
        self.graph_head = _Head(settings.embed_dim, settings.out_dim or settings.embed_dim)

    def forward(self, values: Tensor, interventions: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """The log odds of every edge: `[b, d, d]`, (i, j) for i -> j; the diagonal means nothing.

        Args:
            values: `[b, n, d]`, standardised; what stands where it is padded has no effect.
            interventions: `[b, n, d]`, 1 where a variable was set.
            rows: `[b, n]` bool, true for real rows.
            columns: `[b, d]` bool, true for real variables.
        """
        return self.graph_head(self.feature_encoder(torch.stack([values, interventions], -1), rows, columns))


class _Encoder(nn.Module):
    def __init__(self, settings: Settings):
        super().__init__()
        self.input_proj = nn.Linear(settings.input_dim, settings.embed_dim)
        self.blocks = nn.ModuleList(_Block(settings) for _ in range(2 * settings.col_num_blocks))
        self.final_ln = nn.LayerNorm(settings.embed_dim)

    def forward(self, x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """`[b, n, d, 2]` and the masks -> `[b, d, embed_dim]`."""
        z = self.input_proj(x)
        keep = (columns, rows)
        for number, block in enumerate(self.blocks):
            z = block(z, keep[number % 2]).transpose(1, 2)
        return self.final_ln(z).masked_fill(~rows[:, :, None, None], -torch.inf).amax(1)


class _Block(nn.Module):
    def __init__(self, settings: Settings):
        super().__init__()
        dim, inner = settings.embed_dim, settings.col_nhead * settings.key_size
        self.heads = settings.col_nhead
        self.ln_q, self.ln_k, self.ln_v = (nn.LayerNorm(dim) for _ in range(3))
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(dim, inner) for _ in range(3))
        self.out_proj = nn.Linear(inner, dim)
        self.ln_ffn = nn.LayerNorm(dim)
        hidden = settings.widening_factor * dim
        self.ffn = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def forward(self, z: Tensor, keep: Tensor) -> Tensor:
        """Attention within sequences of `t` tokens: `[b, s, t, dim]` to the same; `keep` `[b, t]` are attended to."""
        b, s, t, _ = z.shape
        split = lambda x: x.reshape(b * s, t, self.heads, -1).transpose(1, 2)  # noqa: E731
        query, key, value = (
            split(self.q_proj(self.ln_q(z))),
            split(self.k_proj(self.ln_k(z))),
            split(self.v_proj(self.ln_v(z))),
        )
        mask = None if keep.all() else keep[:, None].expand(b, s, t).reshape(b * s, 1, 1, t)
        found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        z = z + self.out_proj(found.transpose(1, 2).reshape(b, s, t, -1))
        return z + self.ffn(self.ln_ffn(z))


class _Head(nn.Module):
    def __init__(self, dim: int, out: int):
        super().__init__()
        self.u_proj, self.v_proj = (nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, out)) for _ in range(2))
        self.learned_temp, self.final_bias = (nn.Parameter(torch.zeros(())) for _ in range(2))

    def forward(self, z: Tensor) -> Tensor:
        """`[b, d, dim]` -> `[b, d, d]`."""
        source, target = (F.normalize(project(z), dim=-1) for project in (self.u_proj, self.v_proj))
        return source @ target.mT * self.learned_temp.exp() + self.final_bias
