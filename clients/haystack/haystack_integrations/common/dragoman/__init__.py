"""What the components for Dragoman share: requests to a service, and filters."""

from haystack_integrations.common.dragoman.filters import as_filter
from haystack_integrations.common.dragoman.service import DragomanError, Service

__all__ = ["DragomanError", "Service", "as_filter"]
