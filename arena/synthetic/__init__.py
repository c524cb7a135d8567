"""The synthetic family: random graphs with random mechanisms, controlled in every factor (paper 4.1, A.1)."""

from arena.synthetic.sample import sample_spec, sample_specs

__all__ = ["sample_spec", "sample_specs"]
