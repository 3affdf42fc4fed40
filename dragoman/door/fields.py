"""The fields of calls, read as a service reads those of a request, and answers written as it writes them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from dragoman.door.calls import Call
from dragoman.engine.core.errors import InvalidRequest
from dragoman.service.collections.import_form import ImportParameters
from dragoman.service.collections.schemas import FilterParameters, ListParameters
from dragoman.service.suggest.parameters import NameLists, Typed
from dragoman.service.tables.schemas import TermToLookUp, UploadParameters, VersionNumber
from dragoman.store.validation import LanguageCode, describe

UPLOAD = TypeAdapter(UploadParameters)
LIST = TypeAdapter(ListParameters)
IMPORT = TypeAdapter(ImportParameters)
EXPORT = TypeAdapter(FilterParameters)
TERM: TypeAdapter[str] = TypeAdapter(TermToLookUp)
LANGUAGE: TypeAdapter[str] = TypeAdapter(LanguageCode)
SUGGESTED: dict[str, TypeAdapter[Any]] = {
    "q": TypeAdapter(Typed),
    "language": TypeAdapter(LanguageCode | None),
    "collections": TypeAdapter(NameLists | None),
}
VERSION: TypeAdapter[int] = TypeAdapter(VersionNumber)
OPTIONAL_VERSION: TypeAdapter[int | None] = TypeAdapter(VersionNumber | None)


def expected_generations(call: Call[Any]) -> frozenset[int] | None:
    """The generations that what is changed may have; None for any."""
    return None if call.if_match is None else frozenset([call.if_match])


def read_version(call: Call[Any]) -> int:
    """The number of the table's version that a call is about.

    Raises:
        InvalidRequest: it is none.
    """
    (version,) = read_fields((VERSION, call.place["version"], "path", "version"))
    return int(version)


def read_fields(*fields: tuple[Any, ...]) -> list[Any]:
    """What each field holds; a field is a type adapter, the content, and its place in a request.

    Raises:
        InvalidRequest: some are not allowed; the message names all of them, as that of a service.
    """
    contents, faults = [], []
    for adapter, content, *place in fields:
        try:
            contents.append(adapter.validate_python(content))
        except ValidationError as fault:
            faults += [{**error, "loc": (*place, *error["loc"])} for error in fault.errors()]
    if faults:
        raise InvalidRequest(describe(faults))
    return contents


def dump(answer: BaseModel) -> Any:
    """An answer as JSON has it, without what it leaves out."""
    return answer.model_dump(mode="json", exclude_unset=True)
