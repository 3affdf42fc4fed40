"""The settings of the service, in groups, and where they come from: options, the environment, a file."""

from dragoman.engine.settings.server import DATABASE
from dragoman.engine.settings.settings import Settings

__all__ = ["DATABASE", "Settings"]
