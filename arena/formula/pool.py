"""Gates of the whole pool (paper A.3, stage 5, anti-template checks; A.5): no two scenarios are one in other words."""

import collections
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from arena.authored import Authored
from arena.formula import DOMAINS
from arena.quality import Verdict
from arena.spec import SCMSpec

#: Largest share of word triples that two scenarios have in common.
SIMILARITY = 0.15
#: How often one text, variables' names aside, gives the reason of an edge.
SAME_REASON = 3
#: Scenarios that an equation is the core of.
SAME_CORE = 2
#: Largest shares in the pool: of a process among edges, of a noise family among noisy variables, of a root family.
PROCESS_SHARE, NOISE_SHARE, ROOT_SHARE = 0.35, 0.60, 0.60
#: Shares say something from here on.
ENOUGH = 20
PER_DOMAIN = 10

Pool = Sequence[Authored]


def no_same_support(pool: Pool) -> Verdict:
    """No two graphs are the same up to names: a Weisfeiler-Lehman hash first, then exactly."""
    import networkx as nx

    graphs = {one.name: nx.from_numpy_array(one.spec.adjacency, create_using=nx.DiGraph) for one in pool}
    same = [
        f"{a} and {b}"
        for group in _groups(graphs, _support_hash)
        for a, b in itertools.combinations(group, 2)
        if nx.is_isomorphic(graphs[a], graphs[b])
    ]
    return _listed(same), "no two alike", not same


def _support_hash(graph: Any) -> tuple[int, ...]:
    """The colours after some rounds, where a variable's colour is that of its parents and of its children."""
    colour = dict.fromkeys(graph, 0)
    for _ in range(4):
        colour = {
            v: hash((colour[v], *sorted(colour[p] for p in graph.pred[v]), "->", *sorted(colour[c] for c in graph[v])))
            for v in graph
        }
    return tuple(sorted(colour.values()))


def no_same_roles(pool: Pool) -> Verdict:
    """No two scenarios have the same roles with the same numbers of edges between them."""
    same = [" and ".join(group) for group in _groups({one.name: one.spec for one in pool}, _roles)]
    return _listed(same), "no two alike", not same


def _roles(spec: SCMSpec) -> tuple[object, ...]:
    role = {node.name: node.role for node in spec.nodes}
    between = collections.Counter((role[p], node.role) for node in spec.nodes for p in node.parents)
    return frozenset(collections.Counter(role.values()).items()), frozenset(between.items())


def no_similar_text(pool: Pool) -> Verdict:
    """No two scenarios' descriptions and reasons share more than 15 % of their word triples (Jaccard)."""
    triples = {one.name: _triples(_texts(one.spec)) for one in pool}
    pairs = itertools.combinations(triples, 2)
    shares = {(a, b): len(triples[a] & triples[b]) / max(len(triples[a] | triples[b]), 1) for a, b in pairs}
    if not shares:
        return None
    (a, b), most = max(shares.items(), key=lambda item: item[1])
    return f"{a} and {b} share {100 * most:.1f} %", f"at most {100 * SIMILARITY:g} %", most <= SIMILARITY


def no_template_reasons(pool: Pool) -> Verdict:
    """No reason of an edge is another one's with other names in it."""
    said: dict[str, list[str]] = collections.defaultdict(list)
    for one in pool:
        for edge in one.spec.edges:
            said[_without_names(edge.reason or "", one.spec)].append(f"{one.name}: {edge.source} -> {edge.target}")
    if not said:
        return None
    text, where = max(said.items(), key=lambda item: len(item[1]))
    return f"'{text[:60]}' {len(where)} times: {where[0]}", f"at most {SAME_REASON} times", len(where) <= SAME_REASON


def core_equations(pool: Pool) -> Verdict:
    """An equation is the core of at most two scenarios."""
    count = collections.Counter(law for one in pool for law in {e.law.lower() for e in one.spec.equations if e.core})
    if not count:
        return None
    law, most = count.most_common(1)[0]
    return f"'{law}' in {most} of {len(pool)}", f"at most {SAME_CORE}", most <= SAME_CORE


def no_dominant_process(pool: Pool) -> Verdict:
    """No kind of structural equation has more than 35 % of the edges."""
    return _dominant(process_shares(pool), PROCESS_SHARE, len(pool))


def no_dominant_noise(pool: Pool) -> Verdict:
    """No noise family has more than 60 % of the noisy variables."""
    return _dominant(_shares(n.noise.family for n in _nodes(pool) if n.noise is not None), NOISE_SHARE, len(pool))


def no_dominant_root(pool: Pool) -> Verdict:
    """No root family has more than 60 % of the roots."""
    return _dominant(_shares(n.root.family for n in _nodes(pool) if n.root is not None), ROOT_SHARE, len(pool))


def domains(pool: Pool) -> Verdict:
    """Ten scenarios in each of ten domains."""
    count = collections.Counter(one.domain for one in pool)
    short = [f"{domain} {count[domain]}" for domain in DOMAINS if count[domain] != PER_DOMAIN]
    return _listed(short), f"{PER_DOMAIN} in each of {len(DOMAINS)} domains", not short


POOL_GATES: dict[str, Callable[[Pool], Verdict]] = {
    "no_same_support": no_same_support,
    "no_same_roles": no_same_roles,
    "no_similar_text": no_similar_text,
    "no_template_reasons": no_template_reasons,
    "core_equations": core_equations,
    "no_dominant_process": no_dominant_process,
    "no_dominant_noise": no_dominant_noise,
    "no_dominant_root": no_dominant_root,
    "domains": domains,
}


def process_shares(pool: Pool) -> dict[str, float]:
    """The share of the pool's edges by the kind of their structural equation (paper Figure 18)."""
    return _shares(node.process or "" for node in _nodes(pool) for _ in node.parents)


def noise_shares(pool: Pool) -> dict[str, float]:
    """The share of the pool's variables by noise family; roots and formulas have none (paper Figure 18)."""
    return _shares(node.noise.family if node.noise is not None else "none" for node in _nodes(pool))


def _nodes(pool: Pool):
    return (node for one in pool for node in one.spec.nodes)


def _shares(items: Iterable[str]) -> dict[str, float]:
    count = collections.Counter(items)
    return {item: number / count.total() for item, number in count.most_common()}


def _dominant(shares: dict[str, float], limit: float, size: int) -> Verdict:
    if size < ENOUGH or not shares:
        return None
    name, most = max(shares.items(), key=lambda item: item[1])
    return f"{name} {100 * most:.1f} %", f"at most {100 * limit:g} %", most <= limit


def _groups(items: Mapping[str, object], key: Callable) -> list[list[str]]:
    """Names of items of equal key, where there are several."""
    groups: dict[object, list[str]] = collections.defaultdict(list)
    for name, item in items.items():
        groups[key(item)].append(name)
    return [group for group in groups.values() if len(group) > 1]


def _texts(spec: SCMSpec) -> str:
    parts = [spec.description, *(node.description for node in spec.nodes), *(edge.reason for edge in spec.edges)]
    return " . ".join(part for part in parts if part)


def _triples(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {*zip(words, words[1:], words[2:], strict=False)}


def _without_names(text: str, spec: SCMSpec) -> str:
    for name in sorted(spec.names, key=len, reverse=True):
        text = text.replace(name, "_").replace(name.replace("_", " "), "_")
    return " ".join(text.lower().split())


def _listed(items: list[str]) -> str:
    return "; ".join(items[:10]) or "none"
