"""The network of Arrow in PyTorch, with the names and shapes of the published weights, for padded tables.

Source: Thompson, Arrow: A Foundation Model for Causal Discovery, arXiv:2605.07204.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

# The settings that a checkpoint has, all of them; `dropout` is for training only.
SETTINGS = (
    "d_model",
    "nhead_cols",
    "nhead_rows",
    "nhead_nodes",
    "nlayer_cols",
    "nlayer_rows",
    "nlayer_nodes",
    "ncls_rows",
    "dropout",
)


def build(config: Mapping[str, Any]) -> "Arrow":
    """The network that a checkpoint's configuration describes.

    Raises:
        KeyError: If a setting is missing.
        ValueError: If one is unknown.
    """
    unknown = sorted(set(config) - set(SETTINGS))
    if unknown:
        raise ValueError(f"'{unknown[0]}' is not a setting of Arrow")
    return Arrow(**{name: config[name] for name in SETTINGS})


class Arrow(nn.Module):
    """Attention among the variables of each row, then from summary tokens to the rows of each variable."""

    def __init__(
        self,
        d_model: int,
        nhead_cols: int,
        nhead_rows: int,
        nhead_nodes: int,
        nlayer_cols: int,
        nlayer_rows: int,
        nlayer_nodes: int,
        ncls_rows: int,
        dropout: float,
    ):
        super().__init__()

        def layer(kind: Any, heads: int) -> Any:
            return kind(
                d_model, heads, 4 * d_model, dropout=dropout, activation="gelu", batch_first=True, norm_first=True
            )

        def encoder(heads: int, layers: int, norm: nn.Module | None = None) -> nn.TransformerEncoder:
            return nn.TransformerEncoder(
                layer(nn.TransformerEncoderLayer, heads), layers, norm=norm, enable_nested_tensor=False
            )

        self.value_project = nn.Linear(1, d_model)
        self.row_cls_tokens = nn.Parameter(torch.zeros(1, ncls_rows, d_model))
        self.col_encoder = encoder(nhead_cols, nlayer_cols)
        self.row_encoder = nn.TransformerDecoder(layer(nn.TransformerDecoderLayer, nhead_rows), nlayer_rows)
        self.node_encoder = encoder(nhead_nodes, nlayer_nodes, nn.LayerNorm(d_model, elementwise_affine=False))
        self.col_merge = nn.Linear(ncls_rows * d_model, d_model)
        self.order_head = nn.Linear(d_model, 1)
        self.edge_head = nn.Sequential(nn.Linear(2 * d_model, 2 * d_model), nn.GELU(), nn.Linear(2 * d_model, 1))

    def forward(self, values: Tensor, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Adjacency probabilities and order scores.

        Args:
            values: `[b, n, d]`, standardised; what stands where it is padded has no effect.
            rows: `[b, n]` bool, true for real rows.
            columns: `[b, d]` bool, true for real variables.

        Returns:
            `[b, d, d]`, how likely two variables are adjacent, symmetric; and `[b, d]`, larger is earlier. Padded
            variables get values of no meaning.
        """
        nodes = self._nodes(values, ~rows, ~columns)
        b, d, _ = nodes.shape
        pairs = torch.cat([nodes[:, :, None].expand(b, d, d, -1), nodes[:, None].expand(b, d, d, -1)], -1)
        logits = self.edge_head(pairs).squeeze(-1)
        return torch.sigmoid((logits + logits.mT) / 2), self.order_head(nodes).squeeze(-1)

    def _nodes(self, values: Tensor, no_rows: Tensor, no_columns: Tensor) -> Tensor:
        """An embedding of each variable: `[b, d, d_model]`."""
        b, n, d = values.shape
        no_variable = no_columns[:, None].expand(b, n, d).reshape(b * n, d) if no_columns.any() else None
        entries = self.value_project(values[..., None]).reshape(b * n, d, -1)
        entries = self.col_encoder(entries, src_key_padding_mask=no_variable)

        no_entry = no_rows[:, None].expand(b, d, n).reshape(b * d, n) if no_rows.any() else None
        entries = entries.reshape(b, n, d, -1).transpose(1, 2).reshape(b * d, n, -1)
        summary = self.row_cls_tokens.expand(b * d, -1, -1)
        summary = self.row_encoder(summary, entries, memory_key_padding_mask=no_entry)

        nodes = self.col_merge(summary.reshape(b, d, -1))
        return self.node_encoder(nodes, src_key_padding_mask=no_columns if no_columns.any() else None)
