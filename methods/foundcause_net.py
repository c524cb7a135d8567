"""The network of FoundCause (Blöbaum et al. 2026), with the names and shapes of its published state dict.

It runs on one complete table at a time, in float32: masks for missing entries and padding are left out, and where the
published code replaces NaN that only half precision can bring about, there is nothing here. The clamps are kept.
"""

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from methods.foundcause_stats import DIRECTED, PAIRED, SIZE, SYMMETRIC, directions, pair_statistics, standardised

_LARGE = 5000.0


class FoundCauseNet(nn.Module):
    """Transformer over rows and variables, then a refinement of all pairs, with a part for hidden confounders.

    Args:
        hidden_dim: Size of embeddings.
        num_encoder_layers: Half the number of attention blocks.
        num_heads: Attention heads.
        num_global_tokens: Extra tokens among the variables.
        num_confounder_tokens: Number of possible confounders.
        num_tri_refine_rounds: Rounds of the refinement, at least 1.
        tri_pair_dim: Size of the embedding of a pair, a multiple of 4.
        pma_num_queries: Summaries of the rows of a variable.
        pma_num_heads: Attention heads of those.
        num_features: Random features of HSIC.
    """

    def __init__(
        self,
        *,
        hidden_dim: int,
        num_encoder_layers: int,
        num_heads: int,
        num_global_tokens: int,
        num_confounder_tokens: int,
        num_tri_refine_rounds: int,
        tri_pair_dim: int,
        pma_num_queries: int,
        pma_num_heads: int,
        num_features: int,
    ):
        super().__init__()
        self.encoder = _Encoder(
            hidden_dim, num_encoder_layers, num_heads, num_global_tokens, pma_num_queries, pma_num_heads
        )
        self.pair_stats = _RandomFeatures(num_features)
        self.edge_pred = _EdgePredictor(hidden_dim)
        self.tri_proj_in = nn.Linear(2 * hidden_dim, tri_pair_dim)
        self.tri_refine = _Refinement(tri_pair_dim, num_tri_refine_rounds)
        self.tri_logit = nn.Linear(tri_pair_dim, 1)
        self.tri_alpha_exist = nn.Parameter(torch.tensor(0.0))
        self.tri_alpha_dir = nn.Parameter(torch.tensor(0.0))
        self.skel_dir_scale = nn.Parameter(torch.tensor(0.0))
        self.skel_fn = nn.Linear(2, 1)
        self.confounder = _Confounders(hidden_dim, num_confounder_tokens, num_heads)
        self.parent_proj = nn.Linear(hidden_dim, hidden_dim // 4)
        self.child_proj = nn.Linear(hidden_dim, hidden_dim // 4)

    def forward(self, values: Tensor, jitter: torch.Generator) -> Tensor:
        """The logit of each edge, `[d, d]`, row causes column; what is on the diagonal means nothing.

        Args:
            values: `[n, d]`, complete.
            jitter: Breaks ties in ranks.
        """
        statistics = pair_statistics(values, self.pair_stats.omega_rff, self.pair_stats.bias_rff, jitter)
        z = self.encoder(values, statistics)
        apart = 1 - torch.eye(len(z)).to(z)

        gated = directions(statistics) * self.edge_pred.gate(z, statistics)
        confounded = self.confounder(z, torch.cat([statistics[..., SYMMETRIC], gated], dim=-1))
        base, pairs = self.edge_pred(z, statistics[..., SYMMETRIC], gated, confounded)
        base = base.clamp(-15, 15)
        pairs = self.tri_refine(self.tri_proj_in(pairs).clamp(-_LARGE, _LARGE))
        refined = self.tri_logit(pairs).squeeze(-1).clamp(-15, 15) * apart

        weight = torch.sigmoid(self.tri_alpha_exist)
        existence = weight * self._symmetric(refined) + (1 - weight) * self._symmetric(base)
        weight = torch.sigmoid(self.tri_alpha_dir)
        direction = weight * (refined - refined.T) + (1 - weight) * (base - base.T)
        logits = ((existence + direction) * torch.sigmoid(self.skel_dir_scale).clamp(0.3, 0.7)).clamp(-15, 15)

        parents, children = self.parent_proj(z), self.child_proj(z)
        roles = (parents @ children.T / math.sqrt(parents.shape[1]) * apart).clamp(-100, 100)
        return (logits + 0.1 * roles).clamp(-15, 15)

    def _symmetric(self, logits: Tensor) -> Tensor:
        return self.skel_fn(torch.stack([logits + logits.T, logits * logits.T], dim=-1)).squeeze(-1)


class _RandomFeatures(nn.Module):
    omega_rff: Tensor
    bias_rff: Tensor

    def __init__(self, size: int):
        super().__init__()
        self.register_buffer("omega_rff", torch.zeros(size))
        self.register_buffer("bias_rff", torch.zeros(size))


class _RMSNorm(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return x * (x.square().mean(dim=-1, keepdim=True) + 1e-6).rsqrt() * self.scale


class _SwiGLU(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        inner = int(dim * 4 * 2 / 3)
        self.w1 = nn.Linear(dim, inner)
        self.w_gate = nn.Linear(dim, inner)
        self.w2 = nn.Linear(inner, dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2((functional.silu(self.w_gate(x)) * self.w1(x)).clamp(-10000, 10000))


def _heads(x: Tensor, n: int) -> Tensor:
    """`[b, s, n * h]` as `[b, n, s, h]`."""
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


class _Attention(nn.Module):
    """Self-attention and a feed-forward layer on `[b, s, e]`, the logits of attention shifted by `[heads, s, s]`."""

    def __init__(self, dim: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.ln_attn = _RMSNorm(dim)
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.kv_proj = nn.Linear(dim, 2 * dim, bias=False)
        self.out_proj = nn.Linear(dim, dim, bias=False)
        self.ln_ffn = _RMSNorm(dim)
        self.ffn = _SwiGLU(dim)

    def forward(self, z: Tensor, shift: Tensor | None = None) -> Tensor:
        x = self.ln_attn(z)
        q, k, v = (_heads(part, self.num_heads) for part in (self.q_proj(x), *self.kv_proj(x).chunk(2, dim=-1)))
        found = functional.scaled_dot_product_attention(q, k, v, attn_mask=shift)
        z = z + self.out_proj(found.transpose(1, 2).flatten(-2))
        return z + self.ffn(self.ln_ffn(z))


class _Pooling(nn.Module):
    """From all rows of a variable to one embedding: learned queries, blended with the maximum."""

    def __init__(self, dim: int, num_queries: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.queries = nn.Parameter(torch.zeros(1, num_queries, dim))
        self.query_norm = nn.LayerNorm(dim)
        self.q_proj = nn.Linear(dim, dim)
        self.kv_proj = nn.Linear(dim, 2 * dim)
        self.out_proj_attn = nn.Linear(dim, dim)
        self.ffn = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.out_proj = nn.Linear(num_queries * dim, dim)
        self.gate = nn.Parameter(torch.tensor(0.0))

    def forward(self, z: Tensor) -> Tensor:
        """`[d, e]` of `z` `[n, d, e]`."""
        x = z.transpose(0, 1)
        q = self.q_proj(self.query_norm(self.queries)).expand(len(x), -1, -1)
        q, k, v = (_heads(part, self.num_heads) for part in (q, *self.kv_proj(x).chunk(2, dim=-1)))
        found = functional.scaled_dot_product_attention(q, k, v)
        found = self.out_proj_attn(found.transpose(1, 2).flatten(-2))
        found = self.out_proj((found + self.ffn(found)).flatten(-2))
        gate = torch.sigmoid(self.gate)
        return (gate * found + (1 - gate) * z.amax(dim=0)).clamp(-_LARGE, _LARGE)


class _StatisticsBias(nn.Module):
    """A shift of attention among variables from the statistics of pairs, one map a layer."""

    def __init__(self, num_heads: int, num_layers: int):
        super().__init__()
        self.projs = nn.ModuleList(
            nn.Sequential(nn.Linear(SIZE, 48), nn.GELU(), nn.Linear(48, num_heads)) for _ in range(num_layers)
        )

    def forward(self, statistics: Tensor, layer: int) -> Tensor:
        return self.projs[layer](statistics).permute(2, 0, 1).clamp(-10, 10)


class _Encoder(nn.Module):
    """Attention among variables and among rows in turns; each fourth block is normalised and counts in the sum."""

    def __init__(
        self, dim: int, num_layers: int, num_heads: int, num_global_tokens: int, pma_queries: int, pma_heads: int
    ):
        super().__init__()
        self.taps = list(range(3, 2 * num_layers - 1, 4))
        self.input_proj = nn.Linear(2, dim)
        self.blocks = nn.ModuleList(_Attention(dim, num_heads) for _ in range(2 * num_layers))
        self.intermediate_norms = nn.ModuleList(_RMSNorm(dim) for _ in self.taps)
        self.final_norm = _RMSNorm(dim)
        self.pma = _Pooling(dim, pma_queries, pma_heads)
        self.stat_bias = _StatisticsBias(num_heads, num_layers)
        self.layer_weights = nn.Parameter(torch.zeros(len(self.taps) + 1))
        self.global_tokens = nn.Parameter(torch.zeros(1, 1, num_global_tokens, dim))

    def forward(self, values: Tensor, statistics: Tensor) -> Tensor:
        """The embedding of each variable, `[d, e]`."""
        n, d = values.shape
        x = standardised(values)
        z = self.input_proj(torch.stack([x, torch.ones_like(x)], dim=-1))
        extra = self.global_tokens[0].expand(n, -1, -1)
        tapped = []
        for place, block in enumerate(self.blocks):
            if place % 2 == 0:
                shift = functional.pad(self.stat_bias(statistics, place // 2), (0, extra.shape[1], 0, extra.shape[1]))
                z, extra = block(torch.cat([z, extra], dim=1), shift).tensor_split([d], dim=1)
            else:
                z = block(z.transpose(0, 1)).transpose(0, 1)
            if place in self.taps:
                z = self.intermediate_norms[len(tapped)](z)
                tapped.append(z)
        tapped.append(self.final_norm(z).clamp(-_LARGE, _LARGE))
        weights = torch.softmax(self.layer_weights, dim=0)
        return self.pma(sum(weight * layer for weight, layer in zip(weights, tapped, strict=True)))


class _EdgePredictor(nn.Module):
    """A logit for each edge from what is symmetric in i and j (is there one) and what is not (which way)."""

    def __init__(self, dim: int):
        super().__init__()
        n_directions = len(PAIRED) + len(DIRECTED)
        self.ln = nn.LayerNorm(dim)
        self.stat_proj_sym = nn.Sequential(nn.Linear(len(SYMMETRIC), dim // 4), nn.GELU())
        self.stat_proj_asym = nn.Sequential(nn.Linear(n_directions, dim // 4), nn.GELU())
        self.feature_gate = nn.Sequential(nn.Linear(dim + SIZE, 256), nn.GELU(), nn.Linear(256, n_directions))
        self.exist_mlp = nn.Sequential(nn.Linear(2 * dim + dim // 4 + 1, dim), nn.GELU())
        self.dir_mlp = nn.Sequential(nn.Linear(dim + dim // 4, dim), nn.GELU())
        self.fusion = nn.Sequential(nn.Linear(2 * dim, dim), nn.GELU(), nn.Linear(dim, 1))

    def gate(self, z: Tensor, statistics: Tensor) -> Tensor:
        """How far each statistic about direction is to be trusted, `[d, d, 20]` in (0, 1)."""
        z = self.ln(z)
        return torch.sigmoid(self.feature_gate(torch.cat([z[:, None] - z[None], statistics], dim=-1)))

    def forward(self, z: Tensor, symmetric: Tensor, gated: Tensor, confounded: Tensor) -> tuple[Tensor, Tensor]:
        """Logits `[d, d]`, zero on the diagonal, and the embedding of each pair `[d, d, 2 e]`."""
        z = self.ln(z)
        cause, effect = z[:, None].expand(-1, len(z), -1), z[None].expand(len(z), -1, -1)
        parts = [cause + effect, cause * effect, self.stat_proj_sym(symmetric), confounded[..., None]]
        exists = self.exist_mlp(torch.cat(parts, dim=-1))
        points = self.dir_mlp(torch.cat([cause - effect, self.stat_proj_asym(gated)], dim=-1))
        pairs = torch.cat([exists, points], dim=-1)
        return self.fusion(pairs).squeeze(-1) * (1 - torch.eye(len(z)).to(z)), pairs


# Which two edges of a triangle i, j, k speak about i -> j: the first is gated, in the second nothing is.
_TRIANGLES = {"out": "ikh,kjh->ijh", "in": "kih,kjh->ijh", "col": "ikh,jkh->ijh"}


class _Refinement(nn.Module):
    """Rounds in which each pair hears of the pairs that it shares a triangle with, and of all with the same cause."""

    def __init__(self, dim: int, rounds: int):
        super().__init__()
        self.round_norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(rounds))
        self.rounds = nn.ModuleList(nn.ModuleDict(_triangle_parts(dim)) for _ in range(rounds))
        self.pair_attns = nn.ModuleList(nn.MultiheadAttention(dim, 4, batch_first=True) for _ in range(rounds))
        self.pair_attn_norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(rounds))

    def forward(self, e: Tensor) -> Tensor:
        """`[d, d, p]`, zero on the diagonal."""
        apart = (1 - torch.eye(len(e)).to(e))[..., None]
        rounds = zip(self.round_norms, self.rounds, self.pair_attns, self.pair_attn_norms, strict=True)
        for norm, triangles, attention, attention_norm in rounds:
            parts = cast(nn.ModuleDict, triangles)
            e = norm(e)
            for name, triangle in _TRIANGLES.items():
                gate = torch.tanh(parts[f"{name}_gate"](e)) * 0.5 + 0.5
                heard = torch.einsum(triangle, gate, parts[f"{name}_val"](e)) / math.sqrt(len(e))
                e = e + parts[f"{name}_norm"](parts[f"{name}_proj"](heard)) * apart
            x = attention_norm(e)
            e = ((e + attention(x, x, x, need_weights=False)[0]) * apart).clamp(-_LARGE, _LARGE)
        return e


def _triangle_parts(dim: int) -> dict[str, nn.Module]:
    parts: dict[str, nn.Module] = {}
    for name in _TRIANGLES:
        parts |= {f"{name}_{part}": nn.Linear(dim, dim) for part in ("gate", "val", "proj")}
        parts[f"{name}_norm"] = nn.LayerNorm(dim)
    return parts


class _Confounders(nn.Module):
    """How likely a hidden common cause of each pair is."""

    def __init__(self, dim: int, num_tokens: int, num_heads: int):
        super().__init__()
        layers = range(2)
        self.tokens = nn.Parameter(torch.zeros(1, num_tokens, dim))
        self.cross_layers = nn.ModuleList(nn.MultiheadAttention(dim, num_heads, batch_first=True) for _ in layers)
        self.cross_norms = nn.ModuleList(nn.LayerNorm(dim) for _ in layers)
        self.cross_ffns = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in layers
        )
        self.loading_net = nn.Sequential(nn.Linear(2 * dim, dim), nn.GELU(), nn.Linear(dim, 1))
        n_statistics = len(SYMMETRIC) + len(PAIRED) + len(DIRECTED)
        self.conf_stat_proj = nn.Sequential(nn.Linear(n_statistics, 48), nn.GELU(), nn.Linear(48, 1))

    def forward(self, z: Tensor, statistics: Tensor) -> Tensor:
        """`[d, d]` probabilities from embeddings `[d, e]` and statistics `[d, d, 29]`."""
        tokens = self.tokens
        for attention, norm, ffn in zip(self.cross_layers, self.cross_norms, self.cross_ffns, strict=True):
            tokens = tokens + attention(norm(tokens), z[None], z[None], need_weights=False)[0]
            tokens = (tokens + ffn(tokens)).clamp(-_LARGE, _LARGE)
        d, k = len(z), tokens.shape[1]
        both = torch.cat([z[:, None].expand(-1, k, -1), tokens.expand(d, -1, -1)], dim=-1)
        loading = torch.sigmoid(self.loading_net(both).squeeze(-1))  # [d, k]
        shared = 1 - (1 - loading[:, None] * loading[None]).prod(dim=-1)
        logits = torch.logit(((shared + shared.T) / 2).clamp(1e-3, 1 - 1e-3)) + self.conf_stat_proj(statistics)[..., 0]
        return torch.sigmoid(logits.masked_fill(torch.eye(d, dtype=torch.bool).to(z.device), -30.0))


def build(config) -> FoundCauseNet:
    """The network that a `config.json` describes; its keys are the arguments of `FoundCauseNet`."""
    return FoundCauseNet(**config)
