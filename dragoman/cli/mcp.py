"""``dragoman mcp``: tools for agents by MCP on standard input and output, with a data directory or a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dragoman.cli.database import Key, Url, database
from dragoman.cli.options import ConfigFile, DatabaseUrl, DataDir
from dragoman.installation import require

if TYPE_CHECKING:
    from dragoman.door.database import Database
    from dragoman.service.integrations.mcp_tools import Action


def mcp(
    url: Url = None,
    key: Key = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
) -> None:
    """Offer search, fetch, answer, look_up_term and add_term to an agent that starts this command and speaks MCP."""
    require("server", "dragoman mcp")
    require("mcp", "dragoman mcp")
    import anyio
    from mcp.server.stdio import stdio_server

    from dragoman.service.integrations.mcp_server import make_server

    with database(url, key, config, data_dir, database_url) as opened:
        server = make_server(lambda _: _OfDatabase(opened))

        async def serve() -> None:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        anyio.run(serve)


class _OfDatabase:
    """Answers tools from a data directory, or by a service, which says itself what the key may do."""

    def __init__(self, opened: Database) -> None:
        self._opened = opened

    def allows(self, action: Action) -> bool:
        return True

    async def send(self, action: Action, place: Mapping[str, str], fields: Mapping[str, Any]) -> Any:
        import anyio.to_thread

        from dragoman.door.calls import Call

        asked: Call[Any] = Call(action, place, fields)
        return await anyio.to_thread.run_sync(self._opened.send, asked)
