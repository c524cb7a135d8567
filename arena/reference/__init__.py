"""Numbers that the paper prints, as tables: what a run can be compared with. Nothing of them is measured here."""

from importlib import resources
from typing import TYPE_CHECKING

from arena.errors import SourceError
from arena.spec_errors import did_you_mean, listed

if TYPE_CHECKING:
    import pandas as pd

#: Table of the paper -> what it holds.
TABLES = {
    "main_results": "Table 2: F1 and SHD by method, SCM family and split",
    "complete_metrics": "Tables 13-15: all metrics by method, SCM family and split",
    "sample_size": "Table 18: F1 and SHD by method and number of rows, d = 30",
    "intervention_protocols": "Tables 3 and 19: metrics by method and protocol, d = 30",
    "real_data_compact": "section 5.2: F1 and SHD on public tables",
    "real_data_by_dataset": "Table 17: metrics by public table, split and method",
    "runtime": "Tables 4 and 5: seconds by method and dimension",
    "prior_coverage": "section 6: documented prior coverage of the pretrained methods",
    "ood_examples": "section 6: out-of-distribution ratios named in the text",
    "categories": "names of the factors' levels",
    "methods": "B.4: settings of the methods",
    "construction_ablation": "Table 20: ratings of the authoring workflow",
}
#: What the paper calls our methods.
METHODS = {
    "random_regress": "RandomRegress", "cdis": "CDIS", "gies": "GIES", "igsp": "IGSP", "pc": "PC", "das": "DAS",
    "lingam": "LiNGAM", "dagma": "DAGMA", "notears": "NOTEARS", "notears_mlp": "NOTEARS-MLP", "sdcd": "SDCD",
    "arrow": "Arrow", "avici": "AVICI", "causcale": "CauScale", "cdfm": "CDFM", "foundcause": "FoundCause",
    "sea": "SEA", "tabcausal": "TabCausal",
}  # fmt: skip


def table(name: str) -> "pd.DataFrame":
    """A published table.

    Raises:
        SourceError: If there is none of that name.
    """
    import pandas as pd

    if name not in TABLES:
        raise SourceError(f"no published table '{name}'{did_you_mean(name, TABLES)}; tables are {listed(TABLES)}")
    with resources.files(__name__).joinpath(f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)
