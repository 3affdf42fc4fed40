"""Request and response bodies of embeddings: OpenAI (and Voyage), Cohere v2, and TEI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictBool, StrictInt

from dragoman.engine.core.json import check_text
from dragoman.engine.core.limits import TEXT_CHARS, TEXTS
from dragoman.store.validation import AtFirstFault, Body, Name, Text, TolerantBody

MODEL_CHARS = 1_000
_PARTS = 100
_TYPES = 6
_SIZES = 65_536

Kind = Literal["query", "passage"]

_TOKEN_IDS = (
    "token ids are of another model's tokenizer: send texts (LangChain's OpenAIEmbeddings:"
    " check_embedding_ctx_length=False)"
)


def _read_texts(content: Any) -> list[str]:
    """A text or a list of texts.

    Raises:
        ValueError: it is neither.
    """
    texts = [content] if isinstance(content, str) else content
    if not isinstance(texts, list) or not texts:
        raise ValueError("must be a text or a list of texts")
    if len(texts) > TEXTS:
        raise ValueError(f"{len(texts)} texts; at most {TEXTS} are allowed")
    for place, text in enumerate(texts):
        if isinstance(text, int) or (isinstance(text, list) and all(isinstance(part, int) for part in text)):
            raise ValueError(_TOKEN_IDS)
        if not isinstance(text, str):
            raise ValueError(f"number {place} is no text")
        if len(text) > TEXT_CHARS:
            raise ValueError(f"number {place} is longer than {TEXT_CHARS} characters")
        try:
            check_text(text)
        except ValueError as fault:
            raise ValueError(f"number {place}: {fault}") from fault
    return texts


_Passage = Annotated[str, Field(max_length=TEXT_CHARS)]
_Inputs = Annotated[
    list[str],
    PlainValidator(
        _read_texts, json_schema_input_type=_Passage | Annotated[list[_Passage], Field(min_length=1, max_length=TEXTS)]
    ),
]
_Model = Annotated[
    Name | None,
    Field(description="One that `/v1/models` lists; the name for passages when left out.", examples=["e5-small"]),
]
_Size = Annotated[StrictInt, Field(ge=1, le=_SIZES)]


class EmbeddingsRequest(TolerantBody):
    """OpenAI's form, with the fields of Voyage."""

    input: _Inputs = Field(description="A text or a list of texts. Token ids are refused.")
    model: _Model = None
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: _Size | None = Field(
        default=None, description="A size that the encoder was trained to have its vectors cut to; its own if left out."
    )
    output_dimension: _Size | None = Field(default=None, description="Voyage's name of `dimensions`.")
    input_type: Literal["query", "document", "passage"] | None = Field(
        default=None, description="Whether the texts are queries or passages, whatever the model's name says."
    )
    output_dtype: Literal["float"] | None = None
    user: Text | None = Field(default=None, max_length=MODEL_CHARS, description="Not used.")


class ContentPart(Body):
    type: Literal["text"]
    text: Text = Field(max_length=TEXT_CHARS)


class CohereInput(Body):
    """Parts of one text, joined by line ends."""

    content: Annotated[list[ContentPart], Field(min_length=1, max_length=_PARTS), AtFirstFault]


CohereType = Literal["float", "int8", "uint8", "binary", "ubinary", "base64"]


class CohereRequest(TolerantBody):
    """Cohere's second version."""

    model: _Model = None
    texts: Annotated[list[Annotated[Text, Field(max_length=TEXT_CHARS)]], AtFirstFault] | None = Field(
        default=None, min_length=1, max_length=TEXTS
    )
    inputs: Annotated[list[CohereInput], AtFirstFault] | None = Field(default=None, min_length=1, max_length=TEXTS)
    input_type: Literal["search_document", "search_query", "classification", "clustering"] | None = Field(
        default=None, description="`search_document` is a passage, any other a query; else the model's name says it."
    )
    embedding_types: Annotated[list[CohereType], AtFirstFault] | None = Field(
        default=None,
        min_length=1,
        max_length=_TYPES,
        description="In 8 bits each vector is scaled by its greatest number; binary is the numbers' signs.",
    )
    output_dimension: _Size | None = None
    truncate: Literal["NONE", "START", "END"] | None = Field(
        default=None, description="Not used: long texts are read whole, in several windows."
    )

    def texts_of_request(self) -> list[str]:
        """The texts, or those of the inputs; none if there are neither."""
        return self.texts or ["\n".join(part.text for part in entry.content) for entry in self.inputs or ()]


class TeiRequest(TolerantBody):
    """TEI's form."""

    inputs: _Inputs
    normalize: StrictBool | None = Field(default=True, description="Whether the vectors have length 1.")
    truncate: StrictBool | None = Field(
        default=None, description="Not used: long texts are read whole, in several windows."
    )
    prompt_name: Literal["query", "passage", "document"] | None = Field(
        default=None, description="Whether the texts are queries or passages; passages if left out."
    )
    dimensions: _Size | None = None


class EmbeddingItem(BaseModel):
    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str = Field(description="Numbers, or little-endian 32-bit floats in base64.")


class EmbeddingUsage(BaseModel):
    prompt_tokens: int
    total_tokens: int


class EmbeddingsResponse(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)

    object: Literal["list"] = "list"
    items: list[EmbeddingItem] = Field(serialization_alias="data")
    model: str
    usage: EmbeddingUsage


class CohereVersion(BaseModel):
    version: str = "2"


class CohereUnits(BaseModel):
    input_tokens: int


class CohereMeta(BaseModel):
    api_version: CohereVersion = CohereVersion()
    billed_units: CohereUnits
    warnings: list[str] | None = None


class CohereResponse(BaseModel):
    id: str
    response_type: Literal["embeddings_by_type"] = "embeddings_by_type"
    embeddings: dict[str, list[Any]] = Field(description="By type, a vector for each text.")
    texts: list[str]
    meta: CohereMeta


class ModelEntry(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int = Field(description="When the service started, in seconds since 1970.")
    owned_by: Literal["dragoman"] = "dragoman"


class ModelList(BaseModel):
    """The names that `/v1/embeddings` takes."""

    model_config = ConfigDict(serialize_by_alias=True)

    object: Literal["list"] = "list"
    entries: list[ModelEntry] = Field(serialization_alias="data")


class TeiPooling(BaseModel):
    pooling: str


class TeiModelType(BaseModel):
    embedding: TeiPooling


class TeiInfo(BaseModel):
    """What TEI's clients ask about a model."""

    model_id: str
    model_dtype: str
    model_type: TeiModelType
    max_input_length: int = Field(description="Tokens of a window; longer texts are read in several.")
    max_client_batch_size: int
    max_concurrent_requests: int
    max_batch_tokens: int
    auto_truncate: bool = Field(description="True: no text is too long.")
    version: str
