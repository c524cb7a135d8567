"""Graph families of the synthetic pool (paper A.1, Graph structure). A new family is one file and one line here."""

from arena.synthetic.graphs.base import GraphFamily, in_degree_caps, is_valid
from arena.synthetic.graphs.bipartite_layered import BipartiteLayered
from arena.synthetic.graphs.block_sparse_layered import BlockSparseLayered
from arena.synthetic.graphs.chain import Chain
from arena.synthetic.graphs.collider_rich import ColliderRich
from arena.synthetic.graphs.dense_local_modules import DenseLocalModules
from arena.synthetic.graphs.erdos_renyi import ErdosRenyi
from arena.synthetic.graphs.layered import Layered
from arena.synthetic.graphs.scale_free import ScaleFree
from arena.synthetic.graphs.small_world import SmallWorld
from arena.synthetic.graphs.tree import Tree

FAMILIES: dict[str, GraphFamily] = {
    family.name: family
    for family in (
        ErdosRenyi(),
        ScaleFree(),
        Chain(),
        Tree(),
        Layered(),
        BipartiteLayered(),
        SmallWorld(),
        BlockSparseLayered(),
        DenseLocalModules(),
        ColliderRich(),
    )
}

__all__ = ["FAMILIES", "GraphFamily", "in_degree_caps", "is_valid"]
