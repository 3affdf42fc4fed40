"""The Java classes in use, with the exact signature of every method called.

Calls by declared signature are ten times faster than overload resolution, and always pick the right overload.
Import this module only on the thread that owns Java (:func:`dragoman.indexes.java.jvm.run`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.indexes.java.jvm import JvmUnavailable, owned

if not owned():
    raise JvmUnavailable("Java classes belong to the thread of dragoman.indexes.java.jvm.run")

from jnius import (
    JavaClass,
    JavaException,
    JavaField,
    JavaMethod,
    JavaStaticField,
    JavaStaticMethod,
    MetaJavaClass,
    cast,
    find_javaclass,
)

__all__ = ["JavaException", "cast", "find_javaclass"]

_LUCENE = "org/apache/lucene/"
_OBJECT = "Ljava/lang/Object;"
_STRING = "Ljava/lang/String;"
_QUERY = f"L{_LUCENE}search/Query;"
_ANALYZER = f"L{_LUCENE}analysis/Analyzer;"
_READER = f"L{_LUCENE}index/IndexReader;"
_TERM = f"L{_LUCENE}index/Term;"
_OCCUR = f"L{_LUCENE}search/BooleanClause$Occur;"
_SORT = f"L{_LUCENE}search/Sort;"
_CUSTOM = f"L{_LUCENE}analysis/custom/CustomAnalyzer"
_DIRECTORY = f"L{_LUCENE}store/Directory;"


def _class(name: str, /, *constructors: str, fields: Mapping[str, str] | None = None, **methods: str) -> Any:
    """Declare a Java class; the prefix ``static`` marks a static member."""
    members: dict[str, Any] = {"__javaclass__": name, "__module__": __name__}
    members["__javaconstructor__"] = [(signature, False) for signature in constructors]
    for member, signature in methods.items():
        static = signature.startswith("static ")
        members[member] = JavaStaticMethod(signature[7:]) if static else JavaMethod(signature)
    for member, signature in (fields or {}).items():
        static = signature.startswith("static ")
        members[member] = JavaStaticField(signature[7:]) if static else JavaField(signature)
    return MetaJavaClass(name.rsplit("/", 1)[-1], (JavaClass,), members)


# java.*
_class("java/nio/file/Path")
_class("java/util/Collection")
_class("java/util/Map")
_class("java/util/Set")
File = _class("java/io/File", f"({_STRING})V", toPath="()Ljava/nio/file/Path;")
HashMap = _class("java/util/HashMap", "()V", put=f"({_OBJECT}{_OBJECT}){_OBJECT}", entrySet="()Ljava/util/Set;")
Logger = _class(
    "java/util/logging/Logger",
    getLogger=f"static ({_STRING})Ljava/util/logging/Logger;",
    setLevel="(Ljava/util/logging/Level;)V",
)
Level = _class("java/util/logging/Level", fields={"WARNING": "static Ljava/util/logging/Level;"})
LUCENE_LOGGER = Logger.getLogger("org.apache.lucene")
LUCENE_LOGGER.setLevel(Level.WARNING)

# Jackson: returns many small values in one string
ObjectMapper = _class(
    "com/fasterxml/jackson/databind/ObjectMapper",
    "()V",
    writeValueAsString=f"({_OBJECT}){_STRING}",
    setVisibility=(
        "(Lcom/fasterxml/jackson/annotation/PropertyAccessor;"
        "Lcom/fasterxml/jackson/annotation/JsonAutoDetect$Visibility;)Lcom/fasterxml/jackson/databind/ObjectMapper;"
    ),
    configOverride="(Ljava/lang/Class;)Lcom/fasterxml/jackson/databind/cfg/MutableConfigOverride;",
)
_class(
    "com/fasterxml/jackson/databind/cfg/MutableConfigOverride",
    setIgnorals=(
        "(Lcom/fasterxml/jackson/annotation/JsonIgnoreProperties$Value;)"
        "Lcom/fasterxml/jackson/databind/cfg/MutableConfigOverride;"
    ),
)
JsonIgnored = _class(
    "com/fasterxml/jackson/annotation/JsonIgnoreProperties$Value",
    forIgnoredProperties=f"static ([{_STRING})Lcom/fasterxml/jackson/annotation/JsonIgnoreProperties$Value;",
)
PropertyAccessor = _class(
    "com/fasterxml/jackson/annotation/PropertyAccessor",
    fields={"FIELD": "static Lcom/fasterxml/jackson/annotation/PropertyAccessor;"},
)
Visibility = _class(
    "com/fasterxml/jackson/annotation/JsonAutoDetect$Visibility",
    fields={"ANY": "static Lcom/fasterxml/jackson/annotation/JsonAutoDetect$Visibility;"},
)
# documents and writing
Version = _class(
    f"{_LUCENE}util/Version", fields={"LATEST": f"static L{_LUCENE}util/Version;"}, toString=f"(){_STRING}"
)
CustomAnalyzer = _class(_CUSTOM[1:], builder=f"static (){_CUSTOM}$Builder;")
_class(
    _CUSTOM[1:] + "$Builder",
    withTokenizer=f"({_STRING}Ljava/util/Map;){_CUSTOM}$Builder;",
    addTokenFilter=f"({_STRING}Ljava/util/Map;){_CUSTOM}$Builder;",
    build=f"(){_CUSTOM};",
)
IndexOptions = _class(
    f"{_LUCENE}index/IndexOptions",
    fields={
        "DOCS": f"static L{_LUCENE}index/IndexOptions;",
        "DOCS_AND_FREQS": f"static L{_LUCENE}index/IndexOptions;",
    },
)
FieldType = _class(
    f"{_LUCENE}document/FieldType",
    "()V",
    setIndexOptions=f"(L{_LUCENE}index/IndexOptions;)V",
    setTokenized="(Z)V",
    setOmitNorms="(Z)V",
    setStored="(Z)V",
)
TextField = _class(
    f"{_LUCENE}document/Field",
    f"({_STRING}Ljava/lang/CharSequence;L{_LUCENE}index/IndexableFieldType;)V",
    setStringValue=f"({_STRING})V",
)
Store = _class(f"{_LUCENE}document/Field$Store", fields={"NO": f"static L{_LUCENE}document/Field$Store;"})
StringField = _class(
    f"{_LUCENE}document/StringField",
    f"({_STRING}{_STRING}L{_LUCENE}document/Field$Store;)V",
    setStringValue=f"({_STRING})V",
)
NumericDocValuesField = _class(f"{_LUCENE}document/NumericDocValuesField", f"({_STRING}J)V", setLongValue="(J)V")
Document = _class(
    f"{_LUCENE}document/Document", "()V", add=f"(L{_LUCENE}index/IndexableField;)V", getFields="()Ljava/util/List;"
)
StoredField = _class(f"{_LUCENE}document/StoredField", name=f"(){_STRING}", stringValue=f"(){_STRING}")
Term = _class(f"{_LUCENE}index/Term", f"({_STRING}{_STRING})V")
OpenMode = _class(
    f"{_LUCENE}index/IndexWriterConfig$OpenMode",
    fields={
        "APPEND": f"static L{_LUCENE}index/IndexWriterConfig$OpenMode;",
        "CREATE": f"static L{_LUCENE}index/IndexWriterConfig$OpenMode;",
    },
)
_CONFIG = f"L{_LUCENE}index/IndexWriterConfig;"
IndexWriterConfig = _class(
    f"{_LUCENE}index/IndexWriterConfig",
    f"({_ANALYZER})V",
    setOpenMode=f"(L{_LUCENE}index/IndexWriterConfig$OpenMode;){_CONFIG}",
    setRAMBufferSizeMB=f"(D){_CONFIG}",
    setCommitOnClose=f"(Z){_CONFIG}",
)
IndexWriter = _class(
    f"{_LUCENE}index/IndexWriter",
    f"({_DIRECTORY}{_CONFIG})V",
    updateDocument=f"({_TERM}Ljava/lang/Iterable;)J",
    deleteDocuments=f"([{_TERM})J",
    setLiveCommitData="(Ljava/lang/Iterable;)V",
    commit="()J",
    rollback="()V",
)
MMapDirectory = _class(
    f"{_LUCENE}store/MMapDirectory",
    "(Ljava/nio/file/Path;)V",
    openInput=f"({_STRING}L{_LUCENE}store/IOContext;)L{_LUCENE}store/IndexInput;",
    close="()V",
)
IOContext = _class(f"{_LUCENE}store/IOContext", fields={"READONCE": f"static L{_LUCENE}store/IOContext;"})
_class(f"{_LUCENE}store/IndexInput", close="()V")
CodecUtil = _class(f"{_LUCENE}codecs/CodecUtil", checksumEntireFile=f"static (L{_LUCENE}store/IndexInput;)J")
SegmentInfos = _class(
    f"{_LUCENE}index/SegmentInfos",
    files="(Z)Ljava/util/Collection;",
    readLatestCommit=f"static ({_DIRECTORY})L{_LUCENE}index/SegmentInfos;",
    getUserData="()Ljava/util/Map;",
)

# reading and searching
_DIRECTORY_READER = f"L{_LUCENE}index/DirectoryReader;"
_WRITER = f"L{_LUCENE}index/IndexWriter;"
DirectoryReader = _class(
    f"{_LUCENE}index/DirectoryReader",
    open=f"static ({_WRITER}){_DIRECTORY_READER}",
    openIfChanged=f"static ({_DIRECTORY_READER}{_WRITER}){_DIRECTORY_READER}",
    getDocCount=f"({_STRING})I",
    getSumTotalTermFreq=f"({_STRING})J",
    numDocs="()I",
    maxDoc="()I",
    leaves="()Ljava/util/List;",
    storedFields=f"()L{_LUCENE}index/StoredFields;",
    close="()V",
)
_class(f"{_LUCENE}index/StoredFields", document=f"(I)L{_LUCENE}document/Document;")
MatchAllDocsQuery = _class(f"{_LUCENE}search/MatchAllDocsQuery", "()V")
_class(f"{_LUCENE}index/LeafReaderContext", reader=f"()L{_LUCENE}index/LeafReader;")
_class(f"{_LUCENE}index/LeafReader", checkIntegrity="()V")
_class("java/util/List", get=f"(I){_OBJECT}", size="()I")
MultiTerms = _class(
    f"{_LUCENE}index/MultiTerms",
    getTerms=f"static ({_READER}{_STRING})L{_LUCENE}index/Terms;",
)
_class(f"{_LUCENE}index/Terms", iterator=f"()L{_LUCENE}index/TermsEnum;")
_SEEK_STATUS = f"L{_LUCENE}index/TermsEnum$SeekStatus;"
_class(
    f"{_LUCENE}index/TermsEnum",
    seekCeil=f"(L{_LUCENE}util/BytesRef;){_SEEK_STATUS}",
    next=f"()L{_LUCENE}util/BytesRef;",
    term=f"()L{_LUCENE}util/BytesRef;",
)
SeekStatus = _class(
    f"{_LUCENE}index/TermsEnum$SeekStatus", fields={"END": f"static {_SEEK_STATUS}"}, equals=f"({_OBJECT})Z"
)
BytesRef = _class(f"{_LUCENE}util/BytesRef", "(Ljava/lang/CharSequence;)V", utf8ToString=f"(){_STRING}")
IndexSearcher = _class(
    f"{_LUCENE}search/IndexSearcher",
    f"({_READER})V",
    setMaxClauseCount="static (I)V",
    setSimilarity=f"(L{_LUCENE}search/similarities/Similarity;)V",
    setQueryCache=f"(L{_LUCENE}search/QueryCache;)V",
    search=f"({_QUERY}L{_LUCENE}search/Collector;)V",
    createWeight=f"({_QUERY}L{_LUCENE}search/ScoreMode;F)L{_LUCENE}search/Weight;",
)
BM25Similarity = _class(f"{_LUCENE}search/similarities/BM25Similarity", "(FF)V")
ScoreMode = _class(f"{_LUCENE}search/ScoreMode", fields={"COMPLETE": f"static L{_LUCENE}search/ScoreMode;"})
SortType = _class(f"{_LUCENE}search/SortField$Type", fields={"LONG": f"static L{_LUCENE}search/SortField$Type;"})
SortField = _class(
    f"{_LUCENE}search/SortField",
    f"({_STRING}L{_LUCENE}search/SortField$Type;)V",
    fields={
        "FIELD_DOC": f"static L{_LUCENE}search/SortField;",
        "FIELD_SCORE": f"static L{_LUCENE}search/SortField;",
    },
)
Sort = _class(f"{_LUCENE}search/Sort", f"([L{_LUCENE}search/SortField;)V")
TopFieldCollector = _class(
    f"{_LUCENE}search/TopFieldCollector",
    create=f"static ({_SORT}II)L{_LUCENE}search/TopFieldCollector;",
    topDocs=f"()L{_LUCENE}search/TopFieldDocs;",
)
_class(f"{_LUCENE}search/TopFieldDocs")

# queries
Occur = _class(
    f"{_LUCENE}search/BooleanClause$Occur", fields=dict.fromkeys(("SHOULD", "MUST", "FILTER"), f"static {_OCCUR}")
)
QueryBuilder = _class(
    f"{_LUCENE}util/QueryBuilder",
    f"({_ANALYZER})V",
    createBooleanQuery=f"({_STRING}{_STRING}{_OCCUR}){_QUERY}",
    createPhraseQuery=f"({_STRING}{_STRING}){_QUERY}",
)
BooleanQueryBuilder = _class(
    f"{_LUCENE}search/BooleanQuery$Builder",
    "()V",
    add=f"({_QUERY}{_OCCUR})L{_LUCENE}search/BooleanQuery$Builder;",
    build=f"()L{_LUCENE}search/BooleanQuery;",
)
SynonymQueryBuilder = _class(
    f"{_LUCENE}search/SynonymQuery$Builder",
    f"({_STRING})V",
    addTerm=f"({_TERM}F)L{_LUCENE}search/SynonymQuery$Builder;",
    build=f"()L{_LUCENE}search/SynonymQuery;",
)
BoostQuery = _class(f"{_LUCENE}search/BoostQuery", f"({_QUERY}F)V")
_class(f"{_LUCENE}search/Query", toString=f"({_STRING}){_STRING}")
_class(f"{_LUCENE}search/BooleanQuery")
_class(f"{_LUCENE}search/SynonymQuery")
_class(f"{_LUCENE}search/Weight")

# analyzers
_class(f"{_LUCENE}analysis/CharArraySet", toString=f"(){_STRING}")
TokenizerMode = _class(
    f"{_LUCENE}analysis/ja/JapaneseTokenizer$Mode",
    fields={"NORMAL": f"static L{_LUCENE}analysis/ja/JapaneseTokenizer$Mode;"},
)
_STOP_SET = f"L{_LUCENE}analysis/CharArraySet;"


def analyzer(name: str) -> Any:
    """The analyzer class ``name`` under ``org/apache/lucene/analysis``."""
    if name.startswith("ja/"):
        return _class(
            f"{_LUCENE}analysis/{name}",
            f"(L{_LUCENE}analysis/ja/dict/UserDictionary;L{_LUCENE}analysis/ja/JapaneseTokenizer$Mode;"
            f"{_STOP_SET}Ljava/util/Set;)V",
            getDefaultStopSet=f"static (){_STOP_SET}",
            getDefaultStopTags="static ()Ljava/util/Set;",
        )
    return _class(
        f"{_LUCENE}analysis/{name}",
        "()V",
        getDefaultStopSet=f"static (){_STOP_SET}",
        getDefaultStopwords=f"static (){_STOP_SET}",
    )
