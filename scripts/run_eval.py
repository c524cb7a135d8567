"""Proposals against a spec: recall, precision, and every verdict; the same as `arena judge`.

python scripts/run_eval.py specs/example.json scripts/example_proposals.json --out out/report.json
python scripts/run_eval.py specs/example.json hypotheses.json --parse --provider bedrock
"""

import typer

from arena.cli import run_command
from arena.hypotheses_cli import judge

if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(judge)
    run_command(app)
