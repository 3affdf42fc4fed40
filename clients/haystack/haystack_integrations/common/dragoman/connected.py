"""What the components share: an address, a key, and how they are written into a pipeline's file."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

from haystack import default_from_dict, default_to_dict
from haystack.utils import Secret, deserialize_secrets_inplace
from haystack_integrations.common.dragoman.service import DEFAULT_TIMEOUT, DEFAULT_URL, Service

T = TypeVar("T", bound="Connected")


def default_key() -> Secret:
    """The key of the variable DRAGOMAN_KEY, if it is there."""
    return Secret.from_env_var("DRAGOMAN_KEY", strict=False)


class Connected:
    """A component with the address of a service; ``fields`` are its other parameters, by name.

    Components call ``Connected.__init__``: Haystack makes another class of each, in which ``super()`` fails.
    """

    def __init__(self, url: str, api_key: Secret | None, timeout: float, fields: dict[str, Any]) -> None:
        self.url = url
        self.api_key = api_key
        self.timeout = timeout
        self.fields = fields

    @cached_property
    def _service(self) -> Service:
        return Service(self.url, self.api_key.resolve_value() if self.api_key else None, self.timeout)

    def to_dict(self) -> dict[str, Any]:
        """The component as a pipeline's file has it; of a key, only the variable's name."""
        key = self.api_key.to_dict() if self.api_key else None
        return default_to_dict(self, url=self.url, api_key=key, timeout=self.timeout, **self.fields)

    @classmethod
    def from_dict(cls: type[T], data: dict[str, Any]) -> T:
        """The component from what :meth:`to_dict` made."""
        parameters = dict(data.get("init_parameters", {}))
        deserialize_secrets_inplace(parameters, keys=["api_key"])
        return default_from_dict(cls, data | {"init_parameters": parameters})


__all__ = ["DEFAULT_TIMEOUT", "DEFAULT_URL", "Connected", "default_key"]
