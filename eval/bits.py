"""Reachability in many graphs at once on the host: rows of an adjacency as bits of 64-bit words."""

import numpy as np


def reachability(edges: np.ndarray) -> np.ndarray:
    """`[b, w, d]` uint64: bit j of the words of row i says whether a path leads from i to j; the diagonal is set.

    Warshall's algorithm: of two nodes that k connects the first also reaches all that k does.

    Args:
        edges: `[b, d, d]` bool adjacencies, possibly cyclic.
    """
    b, d, _ = edges.shape
    packed = np.packbits(edges | np.eye(d, dtype=bool), axis=-1, bitorder="little")
    room = np.zeros((b, d, -(-d // 64) * 8), np.uint8)
    room[..., : packed.shape[-1]] = packed
    # Rows last, so that the innermost loop is over many.
    reached = np.ascontiguousarray(room.view("<u8").transpose(0, 2, 1))
    through = np.empty_like(reached)
    for k in range(d):
        # All ones for the rows that reach k, else zero.
        into = np.negative((reached[:, k // 64] >> np.uint64(k % 64)) & np.uint64(1))
        np.bitwise_and(into[:, None, :], reached[:, :, k : k + 1], out=through)
        np.bitwise_or(reached, through, out=reached)
    return reached


def differing(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`[b]`, in how many bits two arrays `[b, w, d]` differ."""
    return np.bitwise_count(first ^ second).sum(axis=(1, 2), dtype=np.int64)
