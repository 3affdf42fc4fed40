"""What the translation table endpoints take and answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dragoman.lexicon.formats.reader import Format
from dragoman.lexicon.table.compose import Kind
from dragoman.store.tables.changes import Upload
from dragoman.store.tables.patching import Addition, Patch, Removal
from dragoman.store.tables.repository import TableInfo
from dragoman.store.tables.table_reader import ReadAs
from dragoman.store.validation import AtFirstFault, Body, LanguageCode, NotBlank

TERM_CHARS = 1000
PATCH_ENTRIES = 10_000
"""Most entries that one request adds, and most that it removes."""

VersionNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]
TermToLookUp = Annotated[NotBlank, Field(max_length=TERM_CHARS)]
_Word = Annotated[str, Field(max_length=40)]


class UploadParameters(BaseModel):
    """How an uploaded file is to be read, and what its entries are."""

    source: LanguageCode = Field(description="ISO 639-1 code of the source terms' language.")
    target: LanguageCode = Field(description="ISO 639-1 code of the target terms' language.")
    format: Format = Field("auto", description="The format of the file; auto: what it shows.")
    encoding: _Word | None = Field(None, description="The file's encoding, such as utf-8; default: what it shows.")
    separator: _Word | None = Field(
        None,
        description="What separates the columns: tab, comma, semicolon, pipe, space or a character; default: what the"
        " file shows.",
    )
    decimal: _Word | None = Field(None, description="The decimal mark, . or ,; default: what the numbers show.")
    columns: Annotated[str, Field(max_length=4000)] | None = Field(
        None,
        description="What each column is, separated by commas: source, target, probability, inverse_probability, or -"
        " where it is ignored; default: what the header or the cells show.",
    )
    header: bool | None = Field(None, description="Whether the first line names the columns; default: what it shows.")
    kind: Kind = Field("statistical", description="A glossary outranks statistical tables.")
    weight: float = Field(
        1.0, gt=0, le=1000, allow_inf_nan=False, description="Weight among active tables of one kind."
    )
    activate: bool = Field(False, description="Use this version in searches from now on.")
    dry_run: bool = Field(False, description="Check the file and store nothing.")

    def as_upload(self, name: str, created_by: str | None = None) -> Upload:
        """What is to become a new version of the table ``name``."""
        read_as = ReadAs(self.format, self.encoding, self.separator, self.decimal, self.columns, self.header)
        return Upload(
            name, self.source, self.target, read_as, self.kind, self.weight, self.activate, self.dry_run, created_by
        )


class TrainingParameters(BaseModel):
    """How an uploaded text is to be read, and what the table is that is trained from it."""

    source: LanguageCode = Field(description="ISO 639-1 code of the source terms' language.")
    target: LanguageCode = Field(description="ISO 639-1 code of the target terms' language.")
    format: Literal["auto", "tsv", "tmx"] = Field("auto", description="The format of the text; auto: what it shows.")
    columns: Annotated[str, Field(max_length=400)] = Field(
        "target,source", description="The columns of tsv; _ is a column to skip."
    )
    kind: Kind = Field("statistical", description="A glossary outranks statistical tables.")
    weight: float = Field(
        1.0, gt=0, le=1000, allow_inf_nan=False, description="Weight among active tables of one kind."
    )
    activate: bool = Field(False, description="Use the version in searches as soon as it is there.")


class RejectedLine(BaseModel):
    """A line of an uploaded file that gave no entry, and why."""

    line: int
    reason: str


class LineWarning(BaseModel):
    """Something in an uploaded file that was passed over, or read as what it may not be."""

    line: int
    reason: str


class DetectedLayout(BaseModel):
    """How an uploaded file was read: what it shows itself, and what the request says of it."""

    format: str
    encoding: str | None = Field(description="null for spreadsheets and for XML, which names its own.")
    separator: str | None = Field(description="What separates the columns; null for a format without columns of text.")
    decimal: str | None = Field(description="The decimal mark; null where no number shows one.")
    columns: list[str | None] | None = Field(
        description="What each column is: source, target, probability, inverse_probability; null: ignored."
    )
    languages: list[str | None] = Field(
        description="The language of each column; without columns, of terms and translations in the file's order."
    )


class TableUploaded(BaseModel):
    """A table version as it was stored; with ``dry_run``, as it would be."""

    name: str
    source: str
    target: str
    version: int
    checksum: str = Field(description="SHA-256 of the normalised entries: same content, same checksum.")
    source_terms: int
    entries: int
    rejected: list[RejectedLine] = Field(description="The first 1,000 rejected lines.")
    rejected_total: int
    warnings: list[LineWarning] = Field(description="The first 1,000 warnings.")
    warnings_total: int
    detected: DetectedLayout
    pruned: int = Field(description="Entries dropped because both probabilities were below the threshold.")
    active: bool
    header: list[str] | None = Field(description="The columns that the file's header names; null if it has none.")
    kind: Kind
    weight: float
    dry_run: bool


class TableList(BaseModel):
    """All tables, by name."""

    tables: list[TableInfo]


class Translation(BaseModel):
    """A translation of the term that was looked up."""

    term: str = Field(description="As it was written in the upload.")
    probability: float = Field(description="P(this translation | the term looked up)")
    inverse_probability: float = Field(description="P(the term looked up | this translation)")


_Term = Annotated[NotBlank, Field(max_length=TERM_CHARS)]
_Chance = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class NewEntry(Body):
    """An entry to add; one whose terms fold to the same is replaced."""

    model_config = ConfigDict(extra="forbid")

    source: _Term
    target: _Term
    probability: _Chance | None = Field(None, description="P(target | source); its share if left out.")


class OldEntry(Body):
    """An entry to remove; without a target, all entries of the source term."""

    model_config = ConfigDict(extra="forbid")

    source: _Term
    target: _Term | None = None


class TablePatch(Body):
    """What to remove from a table, and what to add afterwards."""

    model_config = ConfigDict(extra="forbid")

    add: Annotated[list[NewEntry], Field(max_length=PATCH_ENTRIES), AtFirstFault] = Field(default_factory=list)
    remove: Annotated[list[OldEntry], Field(max_length=PATCH_ENTRIES), AtFirstFault] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check_not_empty(self) -> TablePatch:
        if not self.add and not self.remove:
            raise ValueError("add or remove at least one entry")
        return self

    def as_patch(self) -> Patch:
        """What is to change."""
        return Patch(
            [Addition(entry.source.strip(), entry.target.strip(), entry.probability) for entry in self.add],
            [
                Removal(entry.source.strip(), None if entry.target is None else entry.target.strip())
                for entry in self.remove
            ],
        )


class TablePatched(BaseModel):
    """The version that a patch made."""

    name: str
    source: str
    target: str
    version: int
    base_version: int = Field(description="The version that was patched: the active one, or the newest if none was.")
    checksum: str
    source_terms: int
    entries: int
    added: int = Field(description="Entries of the request, of which some may have replaced others.")
    removed: int = Field(description="Entries that were there and were to be removed.")
    pruned: int
    active: bool
    kind: Kind
    weight: float


class ListedTermBody(BaseModel):
    """A term of a table version."""

    term: str = Field(description="As it was written first.")
    folded: str
    translations: int


class TermList(BaseModel):
    """Some terms of one side of a table version, in the order of their folded forms."""

    version: int
    language: str
    terms: list[ListedTermBody]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class EntryBody(BaseModel):
    """One entry as it was written."""

    source: str
    target: str
    probability: float = Field(description="P(target | source)")
    inverse_probability: float = Field(description="P(source | target)")


class ChangedEntry(BaseModel):
    """One entry with other probabilities, or written otherwise."""

    before: EntryBody
    after: EntryBody


class TableDiff(BaseModel):
    """Entries that differ between two versions of a table, in the order of their folded terms."""

    added: list[EntryBody] = Field(description="Entries that only the second version has.")
    removed: list[EntryBody] = Field(description="Entries that only the first version has.")
    changed: list[ChangedEntry]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class TableTranslations(BaseModel):
    """What one table of a pair of languages has for a term."""

    name: str
    version: int = Field(description="The active version, or else the newest.")
    active: bool
    kind: Kind
    matched: list[str] = Field(
        description="The table's terms found, as written: the term itself, or those that a search takes for the same."
    )
    translations: list[Translation] = Field(description="Most probable first; empty if the table lacks the term.")
    translations_total: int = Field(description="How many there are: at most 1,000 are shown, of all tables 10,000.")


class DegradedLookup(BaseModel):
    """What was not looked up, and why."""

    stage: str
    reason: str


class PairTranslations(BaseModel):
    """What all tables between two languages have for a term, whichever direction they were made in."""

    tables: list[TableTranslations] = Field(description="The active ones, then the others, each by name.")
    degraded: list[DegradedLookup] = Field(description="What there was no time for.")


class TermBody(BaseModel):
    """What one table version knows about a term."""

    term: str
    folded: str = Field(description="The term as the table is keyed: lower case, without diacritics and so on.")
    language: str = Field(description="The language whose side of the table the term was found on.")
    version: int
    matched: list[str] = Field(
        description="The table's terms found, as written: the term itself, or those that a search takes for the same."
    )
    translations: list[Translation] = Field(
        description="Most probable first, at most 1,000; empty for an unknown term."
    )
    translations_total: int = Field(description="How many there are, shown or not.")
