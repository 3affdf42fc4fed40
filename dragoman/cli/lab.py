"""The commands that the lab brings: a distribution of its own, which the product does not need."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from dragoman.cli.options import load_settings

COMMANDS = {
    "train": "Train the neural models from text files; see docs/lab/training.md.",
    "evaluate": "Run a benchmark through the HTTP API: MAP@100, nDCG@20 and R@100 per system.",
}
"""Their names and what they do."""
ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Of a command that hands its arguments on."""
GROUP = "dragoman.commands"
"""The group of entry points of distributions that bring a command: each is a Typer app."""


class LabMissing(ModuleNotFoundError):
    """No installed distribution brings the command."""


def run(context: typer.Context) -> None:
    """Run the command of the lab that has the name of the called one, with its arguments.

    Raises:
        LabMissing: the lab is not installed.
    """
    from dragoman.backbone.pretrained.packages import look_in

    look_in(load_settings(None).store.models_dir)  # where `dragoman model install` puts models
    name = context.info_name or ""
    for point in entry_points(group=GROUP, name=name):
        point.load()(args=context.args, prog_name=f"dragoman {name}", standalone_mode=False)
        return
    raise LabMissing(
        f"dragoman {name} is a command of Dragoman's lab, which is not installed: in a checkout of Dragoman,"
        " pip install ./dragoman_lab"
    )
