"""An MCP server that offers the tools, by the ``mcp`` package."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import mcp.types as types
from mcp.server import Server, ServerRequestContext

from dragoman.engine.core.errors import NotFound, ServiceError
from dragoman.service.http.errors import report_fault
from dragoman.service.integrations.mcp_tools import TOOLS, Backend, Tool

_INSTRUCTIONS = (
    "Searches documents in languages that the user does not read, with translation tables that their owners edit. Ask"
    " in any language; documents are returned in their own."
)


def make_server(backend_of: Callable[[ServerRequestContext[Any, Any]], Backend]) -> Server[Any]:
    """A server whose tools ask the backend of each request."""

    async def list_tools(
        context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        backend = backend_of(context)
        return types.ListToolsResult(tools=[_describe(tool) for tool in TOOLS if backend.allows(tool.action)])

    async def call_tool(
        context: ServerRequestContext[Any, Any], asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            tool = next((tool for tool in TOOLS if tool.name == asked.name), None)
            if tool is None:
                raise NotFound(
                    f"there is no tool {asked.name[:40]!r}; there are {', '.join(each.name for each in TOOLS)}"
                )
            return _result(await tool.call(backend_of(context), asked.arguments or {}))
        except Exception as fault:
            error = fault if isinstance(fault, ServiceError) else report_fault(fault, str(context.request_id))
            return _result(str(error), failed=True)

    return Server(
        "dragoman",
        version=version("dragoman"),
        title="Dragoman",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _describe(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=not tool.changes, destructive_hint=False, open_world_hint=False)
    schema = tool.arguments.model_json_schema()
    return types.Tool(name=tool.name, description=tool.description, input_schema=schema, annotations=hints)


def _result(text: str, failed: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)
