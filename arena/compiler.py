"""SCMSpec -> SCM: nodes sorted, sized, and laid side by side in banks."""

from collections.abc import Sequence

import jax
import numpy as np

from arena.blocks import GivenRoot, RootBlock, gaussian_mix
from arena.dag import topological_order
from arena.errors import SpecError
from arena.scm import SCM
from arena.spec import NodeSpec, SCMSpec
from mechanisms.base import Blueprint, Component, FamilyError, check_padding, round_up, stack

#: Parents are padded to a multiple of this.
PARENTS_STEP = 8
#: What a bank holds: a kind and family, the padded lengths of its dimensions, and the class itself, which a notebook
#: may have defined again under the same name.
BankKey = tuple[str, str, tuple[tuple[str, int], ...], int]


def compile(spec: SCMSpec, *, dtype=np.float32) -> SCM:
    """The executable SCM of a spec.

    Args:
        spec: A valid spec.
        dtype: Floating-point type of all parameters and values, float32 or float64; the latter needs
            `jax_enable_x64`.

    Raises:
        SpecError: If `spec` is not a spec, or the type cannot be had.
    """
    if not isinstance(spec, SCMSpec):
        raise SpecError(f"compile takes an SCMSpec, found {type(spec).__name__}; arena.load reads a file or a dict")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise SpecError(f"dtype is {np.dtype(dtype)}; expected float32 or float64")
    if np.dtype(dtype) == np.float64 and not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise SpecError("float64 needs 64-bit JAX: set jax_enable_x64, or use jax.enable_x64(True)")
    return jax.device_put(compile_on_host(spec, dtype=dtype))


def compile_on_host(
    spec: SCMSpec, *, dtype=np.float32, widths: Sequence[int] = (), vocabulary: Sequence[Blueprint] = ()
) -> SCM:
    """As `compile`, with numpy leaves.

    Parents are padded to the first of `widths` that is enough. Each component of `vocabulary` has a bank, with no slot
    where no node uses it.
    """
    d = len(spec.nodes)
    index = {name: j for j, name in enumerate(spec.names)}
    order = topological_order(spec.adjacency)
    most = max((len(node.parents) for node in spec.nodes), default=0)
    width = next((width for width in widths if most <= width), round_up(most, PARENTS_STEP))

    parents = np.full((d, width), d, np.int32)
    known = [[b for b in vocabulary if (b.cls.kind == "mechanism") == first] for first in (True, False)]
    equations, channels = _Banks(width, dtype, known[0]), _Banks(width, dtype, known[1])
    mechanism, noise = np.zeros((d, 2), np.int32), np.zeros((d, 2), np.int32)
    steps_of_roots = []
    for step, j in enumerate(order):
        node = spec.nodes[j]
        parents[step, : len(node.parents)] = [index[p] for p in node.parents]
        _check_calibrated(node)
        try:
            if node.parents:
                check_padding(node.component, len(node.parents))
                check_padding(node.channel, len(node.parents))
                equations.add(step, node.component)
                channels.add(step, node.channel)
            else:
                steps_of_roots.append(step)
                channels.add(step, node.component if node.root is not None else Blueprint(GivenRoot, {}))
        except FamilyError as error:
            raise SpecError(f"variable '{node.name}': {error}") from None
    mechanisms, noises = equations.stack(mechanism), channels.stack(noise)
    mechanism[steps_of_roots] = len(mechanisms), 0

    extra = np.array([node.extra_noise for node in spec.nodes], dtype)
    scaling = np.array([node.scaling or (0.0, 1.0) for node in spec.nodes], dtype)
    return SCM(
        names=spec.names,
        order=np.asarray(order, np.int32),
        parents=parents,
        mechanism=mechanism,
        noise=noise,
        mechanisms=mechanisms,
        noises=noises,
        strength=np.array([node.strength for node in spec.nodes], dtype),
        center=scaling[:, 0],
        scale=scaling[:, 1],
        extra=extra if extra.any() else None,
        block=root_block(spec, dtype) if spec.root_block else None,
        gain=np.ones(d, dtype),
        offset=np.zeros(d, dtype),
    )


def _check_calibrated(node: NodeSpec) -> None:
    for field, array in node.component.arrays.items() if node.parents else ():
        if array.dtype.kind == "f" and np.isnan(array).any():
            found = f"found numbers of its mechanism ('{field}') that calibration has to set"
            raise SpecError(f"variable '{node.name}': {found}; use arena.auto_calibrate(spec)")


def root_block(spec: SCMSpec, dtype) -> RootBlock:
    """The joint block of a spec's roots, over all columns."""
    assert spec.root_block is not None
    d, covariance = len(spec.nodes), spec.root_block.covariance()
    columns = [spec.names.index(name) for name in spec.root_block.roots]
    member, mix = np.zeros(d, bool), np.zeros((d, d), dtype)
    member[columns] = True
    if covariance is not None:
        mix[np.ix_(columns, columns)] = gaussian_mix(covariance)
    return RootBlock(member, mix, np.asarray(covariance is None))


def bank_key(blueprint: Blueprint) -> BankKey:
    """Nodes with equal keys share a bank."""
    return (blueprint.cls.kind, blueprint.cls.family, blueprint.bucket(), id(blueprint.cls))


class _Banks:
    """Collects the components of a graph, then stacks those of equal key."""

    def __init__(self, width: int, dtype, vocabulary: Sequence[Blueprint]):
        self.width, self.dtype = width, dtype
        self.members: dict[BankKey, list[tuple[int, Blueprint]]] = {bank_key(one): [] for one in vocabulary}
        self.vocabulary = {bank_key(one): one for one in vocabulary}

    def add(self, step: int, blueprint: Blueprint) -> None:
        self.members.setdefault(bank_key(blueprint), []).append((step, blueprint))

    def stack(self, table: np.ndarray) -> tuple[Component, ...]:
        """The banks in the order of their keys; writes bank and slot of each step into `table` `[d, 2]`."""
        banks = []
        for number, key in enumerate(sorted(self.members)):
            if not self.members[key]:
                bank = stack([self.vocabulary[key]], self.width, self.dtype)
                banks.append(jax.tree.map(lambda leaf: leaf[:0], bank))
                continue
            steps, blueprints = zip(*self.members[key], strict=True)
            table[list(steps)] = [(number, slot) for slot in range(len(steps))]
            banks.append(stack(blueprints, self.width, self.dtype))
        return tuple(banks)
