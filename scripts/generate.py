"""A spec as a dataset: `dataset.parquet`, `meta.json` and `answer_key.json`; the same as `arena simulate`.

python scripts/generate.py specs/example.json --n 40000 --out out/example
"""

import typer

from arena.cli import run_command
from arena.hypotheses_cli import simulate

if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(simulate)
    run_command(app)
