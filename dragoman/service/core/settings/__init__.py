"""The settings of the service, in groups, and where they come from: options, the environment, a file."""

from dragoman.service.core.settings.server import DATABASE
from dragoman.service.core.settings.settings import Settings

__all__ = ["DATABASE", "Settings"]
