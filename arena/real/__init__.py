"""Public tables with published graphs (paper 5.2, C.4): loaders, never the data itself.

`load("sachs")` takes the table folder `$ARENA_DATA/sachs/` (layout of `arena.tables`) where there is one, and
else fetches the published files at a pinned commit. Either way the parsed values must have the recorded
checksum.
The graphs are expert-specified or experimentally motivated in their sources, not verified unique true DAGs.
"""

import os
from pathlib import Path

from arena.dataset import Dataset
from arena.errors import ArenaError, DataError, SourceError
from arena.real.catalog import PublicSet, describe, names
from arena.real.download import Unreachable, cache_folder, fetch, fetchable
from arena.tables import TableScenario, read_table, table_files, values_checksum

__all__ = ["PublicSet", "describe", "load", "load_all", "names"]

VARIABLE = "ARENA_DATA"


def load(name: str, *, online: bool = True) -> TableScenario:
    """The public set `name` as scenario `real/<name>`.

    Args:
        name: One of `names()`.
        online: Whether to fetch what is in no local folder.

    Raises:
        SourceError: If the name is unknown, or the data is in no local folder and cannot be fetched.
        DataError: If the files found are not the published values, or cannot be a dataset.
    """
    public = describe(name)
    folder = _folder(public)
    if folder is not None and {"data", "graph"} <= table_files(folder).keys():
        dataset = read_table(folder, allow_constant=public.allow_constant, fill=public.fill)
        origin = str(folder)
    elif online and fetchable(public):
        try:
            dataset, origin = fetch(public), str(cache_folder(public))
        except Unreachable as error:
            raise Unreachable(f"{_absent(public)}; {error}") from error
    else:
        raise SourceError(f"{_absent(public)}. {public.note}")
    return TableScenario(_verify(public, dataset, origin), id=f"real/{name}", family="real")


def load_all() -> tuple[list[TableScenario], dict[str, str]]:
    """Every public set that can be had here, and for each of the others the reason why not.

    The network is left alone after its first failure.
    """
    found: list[TableScenario] = []
    absent: dict[str, str] = {}
    online = True
    for name in names():
        try:
            found.append(load(name, online=online))
        except ArenaError as error:
            absent[f"real/{name}"] = str(error)
            online = online and not isinstance(error, Unreachable)
    return found, absent


def _folder(public: PublicSet) -> Path | None:
    root = os.environ.get(VARIABLE)
    return Path(root) / public.name if root else None


def _absent(public: PublicSet) -> str:
    folder = _folder(public)
    looked = f"{folder} holds no table with a graph" if folder else f"{VARIABLE} is not set"
    by_itself = "" if fetchable(public) else ", which this package cannot read by itself"
    return (
        f"real:{public.name} is not at hand: {looked}; put data.csv, graph.csv and perhaps targets.csv in "
        f"${VARIABLE}/{public.name}. Its public source is {public.where()}{by_itself}"
    )


def _verify(public: PublicSet, dataset: Dataset, origin: str) -> Dataset:
    """The dataset with its columns in the recorded order, if it is the recorded one."""
    where = f"real:{public.name} from {origin}"
    edges = int(dataset.truth.sum())
    if (dataset.d, edges) != (public.d, public.edges):
        raise DataError(
            f"{where}: has {dataset.d} variables and {edges} edges; the published set {public.d} and {public.edges}"
        )
    if public.sha256 is None:
        return dataset
    dataset = dataset.select(public.columns)
    found = values_checksum(dataset)
    if found != public.sha256:
        raise DataError(
            f"{where}: is not the published table; checksum of the parsed values is {found}, recorded {public.sha256}"
        )
    return dataset
