"""Write clients/typescript/src/types.ts, the types of requests and answers, from the service's OpenAPI document.

`make types` runs it. It needs deno, which formats them, and comes with the packages of developing.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TYPES = ROOT / "clients" / "typescript" / "src" / "types.ts"
HEAD = """/**
 * The types of requests and answers of Dragoman's HTTP API.
 *
 * Made by `make types` from the service's OpenAPI document; not to be edited.
 *
 * @module
 */

"""
_NAMES = {
    "dragoman__engine__qa__response__Usage": "ReasonUsage",
    "dragoman__engine__query__response__Translation": "QueryTranslation",
    "dragoman__service__collections__schemas__RejectedLine": "RejectedDocument",
    "dragoman__service__rerank__schemas__Usage": "RerankUsage",
    "dragoman__service__tables__schemas__RejectedLine": "RejectedEntry",
    "dragoman__service__tables__schemas__Translation": "EntryTranslation",
}
"""What is called the same in several modules, and has a name of its own here."""
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_REFERENCE = "#/components/schemas/"
_WIDTH = 110

Schema = Mapping[str, Any]


def types_of(document: Schema) -> str:
    """The types of what the addresses under ``/v1/`` take and answer, as TypeScript, by name."""
    operations = [
        operation
        for path, methods in document["paths"].items()
        if path.startswith("/v1/")
        for method, operation in methods.items()
        if method in {"get", "post", "put", "patch", "delete"}
    ]
    schemas: Schema = document["components"]["schemas"]
    declarations = {
        _name(name): _declaration(_name(name), schemas[name]) for name in _reachable(operations, schemas)
    } | {
        name: _declaration(name, parameters) for operation in operations for name, parameters in _parameters(operation)
    }
    return HEAD + "\n".join(declarations[name] for name in sorted(declarations))


def formatted(source: str) -> str:
    """TypeScript as ``deno fmt`` writes it.

    Raises:
        CalledProcessError: it is no TypeScript.
    """
    command = [str(Path(sys.executable).with_name("deno")), "fmt", "--ext", "ts", "--line-width", "120", "-"]
    return subprocess.run(command, input=source, text=True, capture_output=True, check=True, cwd=ROOT).stdout


def _reachable(used: Any, schemas: Schema) -> Iterable[str]:
    """The names of all schemas that something refers to, through others too."""
    names: dict[str, None] = {}
    waiting = list(_references(used))
    while waiting:
        if (name := waiting.pop()) not in names:
            names[name] = None
            waiting += _references(schemas[name])
    return names


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(reference := part.get("$ref"), str):
            yield reference.removeprefix(_REFERENCE)
        part = list(part.values())
    if isinstance(part, list):
        for element in part:
            yield from _references(element)


def _parameters(operation: Schema) -> Iterator[tuple[str, Schema]]:
    """The parameters in the address of an operation, as an object with a name of its own, where there are any."""
    asked = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
    if asked:
        yield (
            "".join(map(str.capitalize, operation["operationId"].split("_"))) + "Parameters",
            {
                "description": f"Parameters of `{operation['operationId']}`.",
                "properties": {
                    parameter["name"]: parameter["schema"] | {"description": parameter.get("description", "")}
                    for parameter in asked
                },
                "required": [parameter["name"] for parameter in asked if parameter.get("required")],
            },
        )


def _declaration(name: str, schema: Schema) -> str:
    if "properties" not in schema:
        return f"{_comment(schema)}export type {name} = {_type(schema)};\n"
    return f"{_comment(schema)}export interface {name} {_members(schema)}\n"


def _members(schema: Schema) -> str:
    required = schema.get("required", ())
    lines = [
        f"{_comment(content)}{_key(name)}{'' if name in required else '?'}: {_type(content)};\n"
        for name, content in schema["properties"].items()
    ]
    if schema.get("additionalProperties") is True:
        lines.append("[name: string]: unknown;\n")
    return "{\n" + "".join(lines) + "}"


def _type(schema: Schema) -> str:
    """A schema as a type.

    Raises:
        ValueError: there is no such type yet.
    """
    if "$ref" in schema:
        return _name(schema["$ref"].removeprefix(_REFERENCE))
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(dict.fromkeys(map(_type, schema[union])))
    if "enum" in schema or "const" in schema:
        return " | ".join(map(json.dumps, schema.get("enum") or [schema["const"]]))
    kind = schema.get("type")
    if kind == "array":
        return f"Array<{_type(schema.get('items', {}))}>"
    if kind == "object" and "properties" in schema:
        return _members(schema)
    if kind == "object":
        content = schema.get("additionalProperties", True)
        return f"Record<string, {_type(content) if isinstance(content, dict) else 'unknown'}>"
    if kind is None and schema.keys() <= {"title", "description", "default", "examples"}:
        return "unknown"
    if kind not in _PLAIN:
        raise ValueError(f"no type is known for {json.dumps(schema)}")
    return _PLAIN[kind]


def _name(name: str) -> str:
    """
    Raises:
        ValueError: it is that of one module among several, and has no name here.
    """
    if "__" in name and name not in _NAMES:
        raise ValueError(f"{name} needs a name of its own in {Path(__file__).name}")
    return _NAMES.get(name, name)


def _key(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else json.dumps(name)


def _comment(schema: Schema) -> str:
    text = str(schema.get("description") or "").replace("*/", "* /").replace("``", "`")
    if not text:
        return ""
    lines = [line for paragraph in text.splitlines() for line in wrap(paragraph, _WIDTH) or [""]]
    if len(lines) == 1:
        return f"/** {lines[0]} */\n"
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def main() -> None:
    """Write the types of the service of this repository."""
    from dragoman.engine.settings import Settings
    from dragoman.service.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        document = create_app(Settings.from_defaults(data_dir=Path(folder))).openapi()
    TYPES.write_text(formatted(types_of(document)), encoding="utf-8")


if __name__ == "__main__":
    main()
