"""The ``dragoman-lab`` command: `train` and `evaluate`, which ``dragoman`` has too where the lab is installed."""

from __future__ import annotations

import typer

from dragoman.cli.main import run_app
from dragoman_lab.cli.evaluate import evaluate
from dragoman_lab.cli.train import train

app = typer.Typer(name="dragoman-lab", no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
app.add_typer(train, name="train")
app.command("evaluate")(evaluate)


def main() -> None:
    """Run the command line; the entry point of the ``dragoman-lab`` script."""
    run_app(app)
