"""Types that requests and the lines of uploads share, and pydantic's errors as one line that names the fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    StrictStr,
    model_validator,
)

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.core.json import check_text
from dragoman.engine.core.limits import NAMES, READER_LANGUAGES
from dragoman.lexicon.text.languages import check_language
from dragoman.lexicon.text.offsets import Unit

_CODE_CHARS = 100
_LISTED, _NAME_CHARS = 20, 100
"""Most unknown fields that a warning lists, and most characters of each name."""
FIELDS = 100
CONDITIONS = 1_000
"""Most fields of one object of a filter."""
"""Most fields of an object that a caller sends."""


class Body(BaseModel):
    """What a caller sends: at most 100 fields, as each one that is unknown is an error or a warning."""

    model_config = ConfigDict(json_schema_extra={"maxProperties": FIELDS})

    @model_validator(mode="before")
    @classmethod
    def _count_fields(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and len(fields) > FIELDS:
            raise ValueError(f"has {len(fields)} fields; at most {FIELDS} are allowed")
        return fields


class TolerantBody(Body):
    """A body that clients of other services send: fields that are not known here are left out, and listed."""

    model_config = ConfigDict(extra="ignore")

    _unknown: list[str] = PrivateAttr(default_factory=list)

    @model_validator(mode="wrap")
    @classmethod
    def _note_unknown(cls, fields: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        body = validate(fields)
        if isinstance(fields, dict):  # clients send null for what their users have not set
            sent = [name for name, content in fields.items() if content is not None]
            body._unknown = [name for name in sent if name not in cls.model_fields]
        return body

    def unknown_fields(self) -> list[str]:
        """The warning about fields that are not known here; none if there are none."""
        if not self._unknown:
            return []
        shown = ", ".join(ascii(name[:_NAME_CHARS]) for name in self._unknown[:_LISTED])
        more = f" and {len(self._unknown) - _LISTED} more" if len(self._unknown) > _LISTED else ""
        return [f"unknown fields were ignored: {shown}{more}"]


def _check_not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _check_code(code: str) -> str:
    return check_language(code if len(code) <= _CODE_CHARS else code[:_CODE_CHARS] + "...")


Clean = BeforeValidator(lambda text: check_text(text) if isinstance(text, str) else text)
"""Text without NUL and without lone surrogates: what the database and the index can hold."""

Text = Annotated[StrictStr, Clean]
FilterObject = Annotated[dict[str, Any], Field(max_length=CONDITIONS)]
"""A filter over documents' fields, which the engine reads."""
NotBlank = Annotated[Text, AfterValidator(_check_not_blank)]
LanguageCode = Annotated[StrictStr, AfterValidator(_check_code), Field(max_length=_CODE_CHARS)]
AtFirstFault = Field(fail_fast=True)
"""For every list that a caller sends: its validation ends at the first element that is wrong."""
ReaderLanguages = Annotated[list[LanguageCode], Field(min_length=1, max_length=READER_LANGUAGES), AtFirstFault]

Offsets = Annotated[
    Unit,
    Field(
        description="What offsets in the answer are counted in: `codepoint`, as strings of Python are, or `utf16`"
        " code units, as those of JavaScript, Java and C# are."
    ),
]
Name = Annotated[Text, Field(min_length=1, max_length=200)]
Names = Annotated[list[Name], Field(min_length=1, max_length=NAMES), AtFirstFault]


def check_parameters(parameters: Iterable[str], allowed: Sequence[str]) -> None:
    """
    Raises:
        InvalidRequest: a parameter that there is not: a misspelt one would be left out in silence.
    """
    if unknown := [name for name in parameters if name not in allowed]:
        shown = ", ".join(ascii(name[:40]) for name in unknown[:5])
        raise InvalidRequest(f"unknown query parameter {shown}: there are {', '.join(allowed) or 'none here'}")


_REPORTED = 5
_PLACES = {
    "body": "",
    "query": "query parameter ",
    "path": "path parameter ",
    "header": "header ",
}
TEI_FORM, JINA_FORM = "form of TEI", "form of Jina"
_ALTERNATIVES = frozenset({"RerankOptions", "ExplainOptions", "switch", "FacetField", "FieldName", TEI_FORM, JINA_FORM})
"""Names that pydantic adds to the path of a field with several alternatives; callers do not know them."""


def describe(errors: Sequence[Any]) -> str:
    """One line for all validation errors, each with its field."""
    shown = [_describe_error(error) for error in errors[:_REPORTED]]
    if len(errors) > _REPORTED:
        shown.append(f"and {len(errors) - _REPORTED} more")
    return "; ".join(shown)


def _describe_error(error: Any) -> str:
    place, *path = error["loc"] or ("body",)
    message = _message(error)
    if place not in _PLACES:
        place, path = "body", [place, *path]
    field = ""
    for step in path:
        if step in _ALTERNATIVES:
            continue
        field += f"[{step}]" if isinstance(step, int) else f".{step}" if field else str(step)
    field = field if field.isprintable() else ascii(field)
    if len(field) > 200:
        field = field[:200] + "..."
    if not field:
        return f"{place}: {message}"
    return f"{_PLACES[place]}{field}: {message}"


def _message(error: Any) -> str:
    text = error["type"] == "string_too_long" or (error["type"] == "too_long" and error["ctx"]["field_type"] == "Value")
    if text:  # pydantic's own words for a text whose length it checks after another check speak of items
        return f"longer than {error['ctx']['max_length']} characters"
    return str(error["msg"]).removeprefix("Value error, ")
