/**
 * The types of requests and answers of Dragoman's HTTP API.
 *
 * Made by `make types` from the service's OpenAPI document; not to be edited.
 *
 * @module
 */

/** Parameters of `add_documents`. */
export interface AddDocumentsParameters {
  /** What the body is, whatever its media type says. */
  format?: "ndjson" | "json" | "csv" | "tsv" | "parquet" | "trec" | null;
  /**
   * Which fields or columns are which, such as id=docid,text=body,metadata.year:number=year; -=NAME leaves one
   * out, metadata=* makes metadata of all others.
   */
  map?: string | null;
  /** The name in the metadata that gets a mark which near copies of a text share: see `collapse`. */
  fingerprint?: string | null;
}

/** An alias, and the collection that it stands for. */
export interface AliasBody {
  alias: string;
  collection: string;
}

/** All aliases by name. */
export interface AliasList {
  aliases: Array<AliasBody>;
}

/** What an alias is to stand for. */
export interface AliasTarget {
  /** The name of a collection, or an alias of it. */
  collection: string;
}

/** Sentences of a text and of its translation that belong together, and what the check of them says. */
export interface AlignedCheck {
  /** Empty where the translation adds a sentence. */
  source: Place;
  /** Empty where a sentence is not translated. */
  translation: Place;
  status: "ok" | "draft" | "failed";
  reasons: Array<CheckReason>;
}

/** The document that holds an answer. */
export interface AnswerDocument {
  id: string;
  collection: string;
  language: string;
}

export interface ApiVersion {
  version: string;
}

/** How the tables link the words of the query with those of the document: T of the reranker's attention matrix. */
export interface Attention {
  /**
   * What a weight is: P(document word | query word), P(query word | document word), or their mean. It is that of
   * the reranker where it ran, else the mean.
   */
  direction: "forward" | "backward" | "mean";
  /** All words of the query; a word that is not searched has a row of zeros. */
  query_words: Array<QueryWord>;
  /**
   * The words that are linked with a word of the query, of the title and then the text, up to where a reranker
   * reads.
   * All others have columns of zeros, and are left out.
   */
  document_words: Array<AttentionWord>;
  /**
   * A row for each word of the query, a column for each of the document: 1 for the same word on both sides, the
   * likeness of words that no table has and that sound alike, 0 without a link.
   */
  weights: Array<Array<number>>;
}

/** A word `document[field][start:end]`, in code points of that field as in a highlight. */
export interface AttentionWord {
  field: "title" | "text";
  start: number;
  end: number;
  text: string;
}

/** One action of an administrator. */
export interface AuditBody {
  id: number;
  at: string;
  /** The key used; null for an open service and for the command line. */
  key_id: string | null;
  actor: string;
  action: string;
  object: string;
  /** done; begun, while it runs or if its process died; or the error_type of a failure. */
  outcome: string;
  request_id: string | null;
}

/** The newest actions, newest first. */
export interface AuditList {
  entries: Array<AuditBody>;
}

export interface BilledUnits {
  search_units?: number;
}

/** How many bytes a collection takes. */
export interface BytesBody {
  /** Texts and titles of the documents. */
  texts: number;
  metadata: number;
  /** As they are stored in the database. */
  embeddings: number;
  /** Files of the Lucene index. */
  index: number;
}

/** One entry with other probabilities, or written otherwise. */
export interface ChangedEntry {
  before: EntryBody;
  after: EntryBody;
}

/** Why a sentence is not `ok`. */
export interface CheckReason {
  /**
   * What does not hold; `coverage`: words of the tables have no translation in the other sentence; `meaning`: it
   * seems to say something else, or the encoder that compares meanings is not available; `glossary`: a term of a
   * glossary is translated otherwise.
   */
  code: "number" | "date" | "unit" | "name" | "length" | "coverage" | "meaning" | "glossary";
  /** What stands in the source; null where there is nothing, or all of it is meant. */
  source: string | null;
  /** What stands in the translation; for `glossary`, what should. */
  text: string | null;
}

/** A text and its translation, whoever made it. */
export interface CheckRequest {
  /** ISO 639-1 code of the text's language. */
  source: string;
  /** ISO 639-1 code of the translation's language. */
  target: string;
  /** The text; with its translation by default up to 8,000 characters. */
  text: string;
  /** Its translation; sentences may be split, merged, left out or added. */
  translation: string;
  /**
   * What offsets in the answer are counted in: `codepoint`, as strings of Python are, or `utf16` code units, as
   * those of JavaScript, Java and C# are.
   */
  offsets?: "codepoint" | "utf16";
}

/** A translation's check: that of its worst sentence, and of each. */
export interface CheckResponse {
  status: "ok" | "draft" | "failed";
  /** Those of all sentences, in order. */
  reasons: Array<CheckReason>;
  sentences: Array<AlignedCheck>;
  /** Says where meaning was not checked. */
  degraded: Array<Degraded>;
}

/** A sentence's translation and what the check of it says. */
export interface CheckedSentence {
  /** The translation; null if it failed: it is not to be shown as one. */
  text: string | null;
  /** The sentence in the source text. */
  source: Place;
  /** `ok`; `draft`: numbers, names and a glossary's terms hold, other things may not; or `failed`. */
  status: "ok" | "draft" | "failed";
  /** Empty for `ok`. */
  reasons: Array<CheckReason>;
}

/** A translated text. */
export interface CheckedTranslation {
  /** The whole text; a sentence that failed stands in it as in the source. */
  text: string;
  sentences: Array<CheckedSentence>;
}

/** A collection. */
export interface CollectionBody {
  name: string;
  language: string;
  description: string | null;
  documents: number;
  /** Increases with every change of the documents. */
  generation: number;
  /** Parts that the index is to have; index.shards says how many it has. */
  shards: number;
  index: IndexInfo;
  /** Null if the collection has none and gets none by itself. */
  embeddings: EmbeddingsInfo | null;
  /** Null if names are not found in its documents. */
  entities: EntitiesInfo | null;
  created_at: string;
}

/** What is to be changed in a collection; what is left out stays. */
export interface CollectionChange {
  /** 1 to 64 characters of a-z, 0-9, '_', '.' and '-', the first of them a letter or digit. */
  name?: string;
  description?: string | null;
  /** Whether names are found in the documents. */
  entities?: boolean;
  /**
   * Parts of the index, which are searched at once; scores are those of one part. More parts than the machine has
   * cores gain nothing.
   */
  shards?: number;
}

/** All collections by name. */
export interface CollectionList {
  collections: Array<CollectionBody>;
}

/** Parameters of `compare_table_versions`. */
export interface CompareTableVersionsParameters {
  /** The `next` of the page before. */
  cursor?: string | null;
  /** Most entries of a page. */
  limit?: number;
}

/** What could be meant: the title of a document, or the query with a term of a table. */
export interface Completion {
  text: string;
  kind: "title" | "term";
  /**
   * The most probable translation of the term into a language of the documents. Titles have none, and terms that
   * are
   * in a language of the documents themselves may have none.
   */
  translation?: string;
}

/** The readers of this service. */
export interface ConfiguredReader {
  /** The name of the folder of that of answers; null if the service has none. */
  model: string | null;
  /** How to get one; only where there is none. */
  advice?: string | null;
  /** The name of the folder of that of statements; null if there is none. */
  statements: string | null;
}

/** The model of this service that reasons. */
export interface ConfiguredReasoner {
  /** The name of its folder; null if the service has none. */
  model: string | null;
  /** How to get one; only where there is none. */
  advice?: string | null;
}

/** The taggers of this service. */
export interface ConfiguredTaggers {
  /** The tagger of names; null if there is none. */
  ner: string | null;
  /** The tagger of parts of speech; null if there is none. */
  pos: string | null;
  /** How to get the one that is missing. */
  advice?: string | null;
}

/** The translator of this service. */
export interface ConfiguredTranslator {
  /** Its folder or name; null if the service has none and does not translate. */
  model: string | null;
  /** The only language that it translates into, if there is one. */
  target?: string | null;
  /** The languages that it translates into `target`, with its quality where that was measured. */
  sources?: Record<string, Quality | null> | null;
  /** How to get a translator, if there is none. */
  advice?: string | null;
}

/**
 * The contribution of one query term to a first-stage score.
 *
 * psq: `score = weight * idf * tf / (tf + norm)`. smt: the weighted sum of that over the translations; tf, df
 * and
 * idf are weighted sums too.
 */
export interface Contribution {
  query_term: string;
  /** Expected occurrences in the document, sum of P(e|f) tf_f. */
  tf: number;
  /** Expected number of documents with it, sum of P(e|f) df_f. */
  df: number;
  idf: number;
  /** How often the term occurs in the query. */
  weight: number;
  score: number;
}

/** Another spelling of a word that no table has. */
export interface Correction {
  /** The whole query with it. */
  text: string;
  /** The word as it was typed. */
  word: string;
  /** The term of a table, as it is written there. */
  correction: string;
}

/** Lines of a job; once it has finished, total is the sum of completed and failed. */
export interface Counts {
  total: number;
  /** Lines with a result. */
  completed: number;
  /** Lines with an error. */
  failed: number;
}

/** Parameters of `create_job`. */
export interface CreateJobParameters {
  /** The type of its lines. */
  type: "rerank" | "search" | "qa";
  /** Name of its TREC run; default: dragoman-rerank, -search or -qa. */
  tag?: string | null;
}

/** A stage that did less than requested, and why. */
export interface Degraded {
  stage: string;
  reason: string;
  /** The collection that it is about, where it is about one. */
  collection?: string;
  /** The share of the collection's documents that the stage did without, about. */
  missing_share?: number;
}

/** What was not looked up, and why. */
export interface DegradedLookup {
  stage: string;
  reason: string;
}

/** Which documents are to be deleted. */
export interface Deletion {
  /** Those whose fields match, as in searches; {} is all of them. */
  filter: Record<string, unknown>;
  /** Whether to count them alone. */
  dry_run?: boolean;
}

/** What was deleted. */
export interface DeletionBody {
  /** Documents that were deleted, or would be. */
  deleted: number;
}

/** How an uploaded file was read: what it shows itself, and what the request says of it. */
export interface DetectedLayout {
  format: string;
  /** null for spreadsheets and for XML, which names its own. */
  encoding: string | null;
  /** What separates the columns; null for a format without columns of text. */
  separator: string | null;
  /** The decimal mark; null where no number shows one. */
  decimal: string | null;
  /** What each column is: source, target, probability, inverse_probability; null: ignored. */
  columns: Array<string | null> | null;
  /** The language of each column; without columns, of terms and translations in the file's order. */
  languages: Array<string | null>;
}

/** A document as stored. */
export interface DocumentBody {
  id: string;
  collection: string;
  language: string;
  title: string | null;
  text: string;
  metadata: Record<string, unknown> | null;
  /** The collection's, in which the document was changed last; also in ETag. */
  generation: number;
}

/** A document given as fields. */
export interface DocumentFields {
  text?: string | null;
  [name: string]: unknown;
}

/** Documents, in the order in which they were first stored. */
export interface DocumentPageBody {
  documents: Array<ListedDocument>;
  /** The cursor of the next page; null: this is the last. */
  next: string | null;
  /** Documents of all pages. */
  total: number;
}

/** What is to be changed in a document; what is left out stays. */
export interface DocumentPatch {
  /** Null, or an empty one: the document has none any more. */
  title?: string | null;
  text?: string;
  /** ISO 639-1. */
  language?: string;
  /**
   * Merged with what is there, on all levels; null in place of a value deletes its name, in place of the whole all
   * of it.
   */
  metadata?: Record<string, unknown> | null;
}

/** A document as sent: its text, or its fields. */
export interface DocumentReturned {
  text?: string | null;
  [name: string]: unknown;
}

export interface EmbeddingItem {
  object?: "embedding";
  index: number;
  /** Numbers, or little-endian 32-bit floats in base64. */
  embedding: Array<number> | string;
}

export interface EmbeddingUsage {
  prompt_tokens: number;
  total_tokens: number;
}

/** The embeddings of a collection's documents, for search by meaning. */
export interface EmbeddingsInfo {
  state: "building" | "complete";
  /** Documents that have embeddings. */
  embedded: number;
  /** Documents that could not be embedded; the log says why. */
  failed: number;
  total: number;
  /** Whether the states of subwords are kept for late interaction. */
  late_interaction: boolean;
}

/** OpenAI's form, with the fields of Voyage. */
export interface EmbeddingsRequest {
  /** A text or a list of texts. Token ids are refused. */
  input: string | Array<string>;
  /** One that `/v1/models` lists; the name for passages when left out. */
  model?: string | null;
  encoding_format?: "float" | "base64" | null;
  /** A size that the encoder was trained to have its vectors cut to; its own if left out. */
  dimensions?: number | null;
  /** Voyage's name of `dimensions`. */
  output_dimension?: number | null;
  /** Whether the texts are queries or passages, whatever the model's name says. */
  input_type?: "query" | "document" | "passage" | null;
  output_dtype?: "float" | null;
  /** Not used. */
  user?: string | null;
}

export interface EmbeddingsResponse {
  object?: "list";
  data: Array<EmbeddingItem>;
  model: string;
  usage: EmbeddingUsage;
}

/** The names in a collection's documents. */
export interface EntitiesInfo {
  state: "building" | "complete";
  /** Documents that were read for names. */
  tagged: number;
  /** Documents that could not be read; the log says why. */
  failed: number;
  total: number;
}

/** A name in a document, `document[field][start:end]` in code points of that field. */
export interface Entity {
  text: string;
  /** PER, LOC, ORG or MISC. */
  label: string;
  /** The probability of the label. */
  score: number;
  field: "title" | "text";
  start: number;
  end: number;
}

/** One entry as it was written. */
export interface EntryBody {
  source: string;
  target: string;
  /** P(target | source) */
  probability: number;
  /** P(source | target) */
  inverse_probability: number;
}

/** A translation of the term that was looked up. */
export interface EntryTranslation {
  /** As it was written in the upload. */
  term: string;
  /** P(this translation | the term looked up) */
  probability: number;
  /** P(the term looked up | this translation) */
  inverse_probability: number;
}

/** The body of every error, at every address. */
export interface ErrorBody {
  /** The request's id, as in request_id. */
  id: string;
  /** What is wrong; it names the field or the line if there is one. */
  message: string;
  /** The same as message. */
  detail: string;
  /** The same as message. */
  error: string;
  /** The kind of error, for programs. */
  error_type: string;
  /** The X-Request-Id of the request, or a generated id. */
  request_id: string;
}

/**
 * What someone did with what a search found, as in OpenSearch's User Behavior Insights.
 *
 * The document may also be in `event_attributes.object.object_id`, where UBI has it.
 */
export interface EventBody {
  /** The `request_id` of a search. */
  query_id: string;
  /** The document, by its id or as `collection/id`; by default `event_attributes.object.object_id`. */
  object_id?: string | null;
  /** What was done. Names that hold `click`, such as `item_click`, are clicks in reports. */
  action_name: string;
  /** Who did it. */
  client_id?: string | null;
  /** When; UTC without a zone, at most a day ahead; by default now. */
  timestamp?: string | null;
  /** Of UBI; taken, and not stored: no report uses it. */
  application?: string | null;
  /** Of UBI; taken, and not stored: no report uses it. */
  session_id?: string | null;
  /** Of UBI; taken, and not stored: no report uses it. */
  user_query?: string | null;
  /** Of UBI; taken, and not stored: no report uses it. */
  message?: string | null;
  /** Of UBI; taken, and not stored: no report uses it. */
  message_type?: string | null;
  /** Of UBI; `object.object_id` alone is read. At most 16,384 characters of JSON. */
  event_attributes?: Record<string, unknown> | null;
}

/** Whether an event is recorded. */
export interface EventTaken {
  /** 1; or 0 where searches are not recorded, or too much waits to be written: then it was dropped. */
  accepted: number;
}

/** The sentence that decides a statement: `[start:end]` of the context, or of the document's text. */
export interface Evidence {
  text: string;
  start: number;
  end: number;
  /** Only where documents were searched for. */
  document?: AnswerDocument | null;
  /**
   * The content words of the sentence that the tables have, in their order: in another language than the question,
   * or if requested.
   */
  gloss?: Array<Gloss> | null;
}

/** What is looked for in documents of one language, as index terms. */
export interface ExactReading {
  /**
   * For each word of the text what may stand for it. A translated phrase is without its function words, in place
   * of
   * which as many others may stand.
   */
  words: Array<Array<string>>;
  /** What may stand for the whole text: entries of tables of several words on either side. */
  phrases: Array<string>;
  /** Words of the text that no table translates into the language: they are looked for as they are, and by sound. */
  literal: Array<string>;
}

/** A required or excluded text. */
export interface ExactText {
  text: string;
  /** By document language; a document has the text if its words follow one another, or one of the phrases. */
  languages: Record<string, ExactReading>;
}

/** What an explanation has beside the contributions. */
export interface ExplainOptions {
  /**
   * Add to each hit how the tables link the words of the query with its words: the translation attention of the
   * reranker, which hits have whether they are reranked or not.
   */
  attention?: boolean;
}

/** Parameters of `export_documents`. */
export interface ExportDocumentsParameters {
  /** Only documents whose fields match: JSON, as in searches. */
  filter?: string | null;
}

/** Parameters of `export_table`. */
export interface ExportTableParameters {
  /** The file's format; default: that of the upload. */
  format?: "tsv" | "csv" | "jsonl" | "giza" | "moses" | "muse" | "tbx" | "tmx" | "deepl" | "google" | "freedict" | null;
}

/** How many of the documents to be found have a value. */
export interface FacetCount {
  value: string | number | boolean;
  count: number;
}

/** A field whose values are counted. */
export interface FacetField {
  field: string;
  /** The most frequent values that are shown. */
  size?: number;
}

/** A document that could not be scored. */
export interface Failed {
  index: number;
  reason: string;
}

/** A field of documents' metadata. */
export interface FieldBody {
  /** A dotted path; it goes through lists. */
  field: string;
  /** Documents that have it. */
  documents: number;
  /** How many of them have values of each type: string, date, number, boolean, null. */
  types: Record<string, number>;
  /** At most 3 of its values, none longer than 100 characters. */
  examples: Array<unknown>;
}

/** The document in each ranking; null if it has no score there. */
export interface Fusion {
  bm25: RankedBy | null;
  dense: RankedBy | null;
  /** Late interaction; null below the first 50. */
  late?: RankedBy | null;
}

/** Parameters of `get_job_results`. */
export interface GetJobResultsParameters {
  /** jsonl, or a TREC run. */
  format?: "jsonl" | "trec";
}

/** A content word, `document[field][start:end]` in code points of that field as in a highlight. */
export interface Gloss {
  field: "title" | "text";
  start: number;
  end: number;
  /** The three best at most, by P(query term | document term); the best one first. */
  translations: Array<string>;
}

/** A translation of a word, and the version of a table that has it. */
export interface GlossTranslation {
  term: string;
  /** P(translation | word), of the tables in use together, as highlights have it. */
  probability: number;
  table: string;
  version: number;
  /** Only where two tables in a row have it: those from the document's language to a third one. */
  by_way_of?: Array<TableUsed>;
}

/**
 * A part of a document that matched: `document[field][start:end]`, in code points of that field.
 *
 * All offsets of an answer are in code points unless the request's `offsets` says UTF-16 code units.
 */
export interface Highlight {
  field: "title" | "text";
  start: number;
  end: number;
  /**
   * How it matched. table: a table has the two words as translations; identical: the same word on both sides, up
   * to its form; sound: words that no table has and that sound alike; spelling: a table has a word as a
   * translation that
   * is spelt nearly as the query's, which neither a table nor a document has; meaning: the sentence whose
   * embedding is
   * nearest to the query's.
   */
  match: "table" | "identical" | "sound" | "spelling" | "meaning";
  document_term: string;
  /** For meaning, the whole query. */
  query_term: string;
  /**
   * P(query term | document term); 1 for the same word on both sides; for words that sound alike, the similarity
   * of their romanisations; for spelling, half of it for each edit; null for meaning.
   */
  probability: number | null;
  /** The table with this translation, for table and spelling; null for every other kind of match. */
  table: string | null;
  version: number | null;
}

/** A document found. */
export interface Hit {
  rank: number;
  id: string;
  collection: string;
  language: string;
  /**
   * The score that orders hits: its share of the highest score that any document of this collection and language
   * could reach for the query; for dense, the inner product; for hybrid, the fused score. For reranked hits: the
   * sigmoid of the weighted sum of the model's logit and the logarithm of that share; for hybrid, of its fused
   * score, calibrated to a probability; for dense, the reranker's probability. Hits below the reranked ones have
   * scaled scores in their original order.
   */
  score: number;
  scores: Scores;
  /** Only its beginning where the answer would be larger than DRAGOMAN_ANSWER_BYTES; see `truncated`. */
  title: string | null;
  /**
   * The part of the text that matches best, verbatim; of a text of more than 20,000 characters the best of those
   * that were looked at, see `truncated`.
   */
  snippet: string;
  /** Where the snippet begins in the text, in code points. */
  snippet_start: number;
  /**
   * Only where more than one is requested: the snippet, and then others of the same document that have matches and
   * do not overlap, the best one first; what has no room in the answer is left out and named in `truncated`.
   */
  snippets?: Array<Snippet>;
  /**
   * The document's metadata, or what the request's `fields` choose of it; what has no room, or more than 100,000
   * characters, is left out and named in `truncated`.
   */
  metadata: Record<string, unknown>;
  /**
   * All matches in the title and inside the snippet, or all `snippets`, in this order; of a word that more than 32
   * words of the query match, the most probable 32. A hit of dense search has one of its meaning, which holds
   * those of
   * its words; of a sentence longer than the snippet, it marks what the snippet has.
   */
  highlights: Array<Highlight>;
  /**
   * Only if requested, or where a sentence of `snippet_translation` failed: the content words of the title and the
   * snippet, or all `snippets`, that the tables have. Empty if the hit is in the query's language.
   */
  gloss?: Array<Gloss> | null;
  /**
   * Only in collections with `entities`: the distinct names in the document, each where it stands first; null if
   * the document has not been read for names yet.
   */
  entities?: Array<Entity> | null;
  /** Only with `collapse`: how many other documents with the same value were ranked. */
  collapsed?: number;
  /**
   * Only if requested: `snippet`, not the further ones, in the query's language, each sentence checked; null if it
   * already is in that language, or if it could not be translated, which `degraded` reports.
   */
  snippet_translation?: CheckedTranslation | null;
  /**
   * Only if explained: what each query term adds. Their scores add up to the BM25 score, which is
   * scores.first_stage, or fusion.bm25.score for hybrid; empty for dense.
   */
  contributions?: Array<Contribution>;
  /** Only if explained, for hybrid. */
  fusion?: Fusion | null;
  /** Only if requested; null where there was no time or no room for it, see `degraded` and `truncated`. */
  attention?: Attention | null;
  /**
   * The probability that the document answers the query, which means the same for every method and language. It
   * depends on the query, the document and its collection: on no filter, page or other hit.
   */
  relevance: number;
  /** Whether that is so low that the hit is more likely to be there for want of a better one. */
  weak: boolean;
}

/** The result of an upload. */
export interface ImportBody {
  /** Documents stored, including replacements. */
  accepted: number;
  /** Accepted documents whose id existed before. */
  replaced: number;
  rejected: Array<RejectedDocument>;
  generation: number;
}

/** The Lucene index of a collection. */
export interface IndexInfo {
  /** ready, building, stale (a change could not be indexed) or failed */
  state: string;
  /** Generation up to which it includes all changes; -1 before it is open. */
  generation: number;
  /** Documents that could not be indexed; GET .../unindexed lists them. */
  failed: number;
  /** Parts that it has now; 0 before it is open. */
  shards: number;
}

/** A job. */
export interface JobBody {
  id: string;
  /** train: a table, see POST /v1/tables/{name}/train. */
  type: "rerank" | "search" | "qa" | "train";
  /** The last column of its TREC run. */
  tag: string;
  /** validating until it is first scheduled */
  status: "validating" | "in_progress" | "finalizing" | "completed" | "failed" | "cancelling" | "cancelled" | "expired";
  /** Why it is waiting or has failed. */
  message: string | null;
  counts: Counts;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  /** Its deadline; the results up to then are kept. */
  expires_at: string;
  /** The table versions used for all its lines, and those that some of them name. */
  table_versions: Array<TableUsed>;
}

/** Jobs, newest first. */
export interface JobList {
  jobs: Array<JobBody>;
  /** Whether there are older ones; set `after` to the id of the last one. */
  has_more: boolean;
}

/** A key without its secret. */
export interface KeyBody {
  id: string;
  name: string;
  scopes: Array<"search" | "jobs" | "admin">;
  state: "active" | "expired" | "revoked";
  created_at: string;
  expires_at: string | null;
  /** Up to a minute old. */
  last_used_at: string | null;
  revoked_at: string | null;
  /** Its own limit; null: that of the settings; 0: no limit. */
  requests_per_second: number | null;
  burst: number | null;
  concurrent_requests: number | null;
  /** The only collections that it sees, as they are named now; null: all. */
  collections: Array<string> | null;
  /** The only translation tables that it sees; null: all. */
  tables: Array<string> | null;
}

/** All keys, oldest first. */
export interface KeyList {
  keys: Array<KeyBody>;
}

/** A new key with its secret, which is never shown again. */
export interface KeyMade {
  id: string;
  name: string;
  scopes: Array<"search" | "jobs" | "admin">;
  state: "active" | "expired" | "revoked";
  created_at: string;
  expires_at: string | null;
  /** Up to a minute old. */
  last_used_at: string | null;
  revoked_at: string | null;
  /** Its own limit; null: that of the settings; 0: no limit. */
  requests_per_second: number | null;
  burst: number | null;
  concurrent_requests: number | null;
  /** The only collections that it sees, as they are named now; null: all. */
  collections: Array<string> | null;
  /** The only translation tables that it sees; null: all. */
  tables: Array<string> | null;
  key: string;
}

/** Something in an uploaded file that was passed over, or read as what it may not be. */
export interface LineWarning {
  line: number;
  reason: string;
}

/** Parameters of `list_audit`. */
export interface ListAuditParameters {
  /** How many entries. */
  limit?: number;
  /** Only entries older than this one. */
  before?: number | null;
}

/** Parameters of `list_documents`. */
export interface ListDocumentsParameters {
  /** Only documents whose fields match: JSON, as in searches. */
  filter?: string | null;
  /** Most documents of a page. */
  limit?: number;
  /** The page before has it in next. */
  cursor?: string | null;
  /**
   * What to show of documents, separated by commas: id, collection, language, title, text, metadata, generation,
   * or paths in metadata such as author.name; id is always shown. Default: all.
   */
  fields?: string | null;
}

/** Parameters of `list_jobs`. */
export interface ListJobsParameters {
  /** Most jobs to return. */
  limit?: number;
  /** Id of the job after which to continue. */
  after?: string | null;
}

/** Parameters of `list_table_terms`. */
export interface ListTableTermsParameters {
  /** How the terms begin, in any case. */
  prefix?: string;
  /** Number of the version; default: the active one. */
  version?: number | null;
  /** The side to list. */
  side?: "source" | "target";
  /** The `next` of the page before. */
  cursor?: string | null;
  /** Most entries of a page. */
  limit?: number;
}

/** A document of a list; fields that are not chosen are left out. */
export interface ListedDocument {
  id: string;
  collection?: string;
  language?: string;
  title?: string | null;
  text?: string;
  metadata?: Record<string, unknown> | null;
  generation?: number;
}

/** A term of a table version. */
export interface ListedTermBody {
  /** As it was written first. */
  term: string;
  folded: string;
  translations: number;
}

/** Parameters of `look_up_in_all_tables`. */
export interface LookUpInAllTablesParameters {
  /** A term of the source language. */
  term: string;
  /** ISO 639-1 code of the term's language. */
  source: string;
  /** ISO 639-1 code of the translations' language. */
  target: string;
}

/** Parameters of `look_up_term`. */
export interface LookUpTermParameters {
  /** Number of the version; default: the active one. */
  version?: number | null;
  /** The side to look up; default: the source side, then the target side. */
  side?: "source" | "target" | null;
}

/** The fields that Cohere's clients read. */
export interface Meta {
  api_version: ApiVersion;
  billed_units?: BilledUnits;
  /** What differs from the request. */
  warnings?: Array<string> | null;
  query: QueryTaken;
  translation: TablesConsulted;
}

/** A word of queries in `source` that no table translated into `target`. */
export interface MissingWord {
  /** Folded; or a keyed hash of that. */
  word: string;
  hashed: boolean;
  source: string;
  target: string;
  /** How many searches had it, of any kind. */
  searches: number;
  last_at: string;
  /** How many of them were a `search`, a question (`qa`), or a line of a `job`, without kinds of none. */
  kinds: Record<string, number>;
}

export interface ModelEntry {
  id: string;
  object?: "model";
  /** When the service started, in seconds since 1970. */
  created: number;
  owned_by?: "dragoman";
}

/** The names that `/v1/embeddings` takes. */
export interface ModelList {
  object?: "list";
  data: Array<ModelEntry>;
}

/** A collection to create. */
export interface NewCollection {
  /** 1 to 64 characters of a-z, 0-9, '_', '.' and '-', the first of them a letter or digit. */
  name: string;
  /** ISO 639-1 code of the documents' language. */
  language: string;
  description?: string | null;
  /**
   * Whether states of all subwords are kept with the embeddings (48 bytes each), which improves the order of
   * hybrid; when left out, while they take at most DRAGOMAN_LATE_MEGABYTES.
   */
  late_interaction?: boolean | null;
  /**
   * Whether names are found in the documents, in the background after an import: hits show them, and searches can
   * be limited to documents that hold some. 503 if there is no tagger of names.
   */
  entities?: boolean;
  /**
   * Parts of the index, which are searched at once; scores are those of one part. More parts than the machine has
   * cores gain nothing.
   */
  shards?: number;
}

/** An entry to add; one whose terms fold to the same is replaced. */
export interface NewEntry {
  source: string;
  target: string;
  /** P(target | source); its share if left out. */
  probability?: number | null;
}

/** A key to create. Limits that are left out come from the settings; 0 means no limit. */
export interface NewKeyBody {
  /** What the key allows. */
  scopes: Array<"search" | "jobs" | "admin">;
  /** A name for people to read. */
  name?: string;
  /** When it expires; left out: never. */
  expires_at?: string | null;
  requests_per_second?: number | null;
  burst?: number | null;
  concurrent_requests?: number | null;
  /** The only collections that the key sees, by name or alias; some may be created later. Left out: all. */
  collections?: Array<string> | null;
  /** The only translation tables that the key sees and its searches use. Left out: all. */
  tables?: Array<string> | null;
}

/** An entry to remove; without a target, all entries of the source term. */
export interface OldEntry {
  source: string;
  target?: string | null;
}

/** What all tables between two languages have for a term, whichever direction they were made in. */
export interface PairTranslations {
  /** The active ones, then the others, each by name. */
  tables: Array<TableTranslations>;
  /** What there was no time for. */
  degraded: Array<DegradedLookup>;
}

/** A part of a text, in code points, or as the request's `offsets` says. */
export interface Place {
  start: number;
  end: number;
}

/**
 * An answer: `text` is `[start:end]` of the context, or of the document's text.
 *
 * Offsets are code points unless the request's `offsets` says UTF-16 code units.
 */
export interface QaAnswer {
  text: string;
  start: number;
  end: number;
  /**
   * The probability that this is the answer; those of all answers and no_answer add up to 1 at most, and the rest
   * is that of another part of the text.
   */
  score: number;
  /** The sentence that holds it; several if it does not lie within one. */
  sentence: string;
  /** Where the sentence begins in the same text. */
  sentence_start: number;
  /** Only where documents were searched for. */
  document?: AnswerDocument | null;
  /**
   * The content words of the sentence that the tables have, in their order: in another language than the question,
   * if
   * requested, or where the translation lacks a sentence.
   */
  gloss?: Array<Gloss> | null;
  /**
   * Only if requested: `sentence` in the question's language, each of its sentences checked; null if it already is
   * in that language, or if it could not be translated, which `degraded` reports.
   */
  translation?: CheckedTranslation | null;
}

/** A question or a statement, and where to look: a context, or collections; all of them where neither is given. */
export interface QaRequest {
  /** A question, by default up to 10,000 characters. */
  question?: string | null;
  /**
   * A statement to judge instead, by default up to 10,000 characters: true or false by the text, or unknown where
   * it neither says nor denies it, or the reader is not sure.
   */
  statement?: string | null;
  /** The text that may hold the answer, by default up to 100,000 characters. */
  context?: string | null;
  /** Collections whose best documents for the question are read; all of them when it and context are left out. */
  collections?: Array<string> | null;
  /** Only documents whose fields match, as in search; not for a context. */
  filter?: Record<string, unknown> | null;
  /** ISO 639-1 code of the question or statement; detected when left out. */
  question_language?: string | null;
  /** ISO 639-1 code of the context; detected when left out. Not for collections. */
  context_language?: string | null;
  /**
   * Languages of those who ask: a short text that may be in one of them or in another language is taken for
   * theirs. When left out, DRAGOMAN_READER_LANGUAGES or else the header Accept-Language.
   */
  reader_languages?: Array<string> | null;
  /**
   * Whether to add to answers and passages the translations of their words into the question's language, as in
   * search. When left out, answers and evidence in another language have them, passages have not.
   */
  gloss?: boolean | null;
  /**
   * Whether to add to answers their sentences in the question's language, each of them checked; not for
   * statements.
   */
  translate?: boolean;
  /**
   * What offsets in the answer are counted in: `codepoint`, as strings of Python are, or `utf16` code units, as
   * those of JavaScript, Java and C# are.
   */
  offsets?: "codepoint" | "utf16";
}

/** The answers of a question, best first, which do not overlap. */
export interface QaResponse {
  request_id: string;
  /** The question as it was understood. */
  query: QueryRead;
  answers: Array<QaAnswer>;
  /**
   * The probability that nothing that was read answers the question, 1 where nothing was found; null where the
   * reader failed, which `degraded` reports.
   */
  no_answer: number | null;
  /**
   * Whether there is an answer: `good`, one that is more probable than that there is none; `weak`, only less
   * probable
   * ones; or `none`: no answers, or no passages that are about it. Null where the reader failed.
   */
  found: "good" | "weak" | "none" | null;
  /** The reader that answered. */
  model: string;
  /** The hits that were found for the question, as in search; not with a context. */
  passages?: Array<Hit> | null;
  degraded: Array<Degraded>;
  /** What was read only in part, and what search cut. */
  truncated: Array<string>;
}

/** How well a translator translates from a language. */
export interface Quality {
  /** chrF, 0 to 100, of its translations against those of people. */
  chrf: number;
  /** The texts that were translated. */
  measured_on: string;
}

/** The query as it was understood. */
export interface QueryRead {
  text: string;
  language: string;
  detected: boolean;
  /** How sure the language is among those that were considered; 1 where the request names it. */
  language_probability: number;
}

/** The query's language, given or detected; `warnings` says if it is only assumed. */
export interface QueryTaken {
  language: string;
  detected: boolean;
  /** How sure the language is among those that were considered; 1 where the request names it. */
  language_probability: number;
}

/** A word of the query with its most probable translations, at most ten per language. */
export interface QueryTerm {
  term: string;
  translations: Array<TermTranslation>;
}

/** How the query was translated. */
export interface QueryTranslation {
  tables: Array<TableUsed>;
  terms: Array<QueryTerm>;
  /**
   * By document language, the query words that no table has for it and that are in no phrase of a glossary;
   * searched untranslated. Languages without such words are left out.
   */
  oov: Record<string, Array<string>>;
  /** Names in the query that stayed whole, in some language at least. */
  names: Array<string>;
  /** Query words that are not searched in any language: stop words, and other words of the question's form. */
  ignored: Array<string>;
  /** Only if something is required: what each text became. */
  must?: Array<ExactText>;
  /** Only if something is excluded. Where a text is literal, documents with a translation of it are not excluded. */
  must_not?: Array<ExactText>;
}

/** A word `query[start:end]` of the query, in code points. */
export interface QueryWord {
  text: string;
  start: number;
  end: number;
}

/** TEI's result. */
export interface Rank {
  index: number;
  score: number;
  text?: string | null;
}

/**
 * A document's rank and score in one of the rankings; it adds `weight * value` to the hit's score.
 *
 * Of hits below the first 50, without late interaction, the parts add up to `scores.first_stage`.
 */
export interface RankedBy {
  /** Null for a document below the fused ranks, of which only the score counts. */
  rank: number | null;
  /** BM25, or the inner product of the vectors. */
  score: number;
  /**
   * The share of the highest attainable BM25 score, or the share of the cosine above that of unrelated sentences,
   * without what is common to its language; with DRAGOMAN_HYBRID_FUSION=rrf 1 / (60 + rank).
   */
  value: number;
  weight: number;
}

/** The document as stored, with its whole text. */
export interface ReadDocument {
  id: string;
  collection: string;
  language: string;
  title: string | null;
  text: string;
  metadata: Record<string, unknown> | null;
  generation: number;
}

/** A document, and the language of who reads it. */
export interface ReadRequest {
  /** The collection, by its name or an alias. */
  collection: string;
  /** The document's id. */
  id: string;
  /** What all matches of are wanted, by default up to 10,000 characters. */
  query?: string | null;
  /** ISO 639-1 code; detected when left out: rather the reader's than another. */
  query_language?: string | null;
  /** ISO 639-1 code of the glosses. */
  reader_language: string;
  /**
   * Translation tables to use: `name` for the active version, `name@3` for any that is there. All active ones when
   * left out.
   */
  tables?: Array<string> | null;
  /**
   * What offsets in the answer are counted in: `codepoint`, as strings of Python are, or `utf16` code units, as
   * those of JavaScript, Java and C# are.
   */
  offsets?: "codepoint" | "utf16";
}

/** A document for a reader. Offsets are code points of the title or the text, or as the request says. */
export interface ReadResponse {
  request_id: string;
  document: ReadDocument;
  /** All matches of the query, those of the title first, each as in a hit of a search; empty without a query. */
  highlights: Array<Highlight>;
  /**
   * The content words that the tables have, those of the title first, with translations into the reader's
   * language;
   * empty if the document is in that language.
   */
  gloss: Array<WordGloss>;
  /** The title as one, or several where it is long, then the sentences of the text; together all but white space. */
  sentences: Array<Sentence>;
  degraded: Array<Degraded>;
  /** Which list ends before the document does, because the answer would be too large, and where. */
  truncated: Array<string>;
  /** Only with a query. */
  query?: QueryRead | null;
  /** Only with a query. */
  translation?: QueryTranslation | null;
}

/** A question for the LLM, which the bridge reads to it. */
export interface ReasonRequest {
  /** A question or problem, in a language of the model. */
  question: string;
  /** ISO 639-1 code; detected when left out. */
  language?: string | null;
  /** Collections whose best documents for the question are quoted to the LLM. */
  collections?: Array<string> | null;
  /** Only documents whose fields match, as in search; needs `collections`. */
  filter?: Record<string, unknown> | null;
  /** Most tokens of the answer; default: 256, or the service's limit. */
  max_tokens?: number | null;
  /** 0 takes the likeliest token; else tokens are drawn. */
  temperature?: number;
  /**
   * What offsets in the answer are counted in: `codepoint`, as strings of Python are, or `utf16` code units, as
   * those of JavaScript, Java and C# are.
   */
  offsets?: "codepoint" | "utf16";
  /** Whether to answer by server-sent events. */
  stream?: boolean;
}

/** What the LLM answered. */
export interface ReasonResponse {
  request_id: string;
  /** The question as it was understood. */
  query: QueryRead;
  /** The last part of what was generated: what `The answer is` names, or a sentence. */
  answer: string;
  /** What was generated before it. */
  reasoning: string;
  /** The documents that were quoted, in their order, used or not; only with collections. */
  documents?: Array<AnswerDocument> | null;
  /** The hits that were found for the question, as in search; only with collections. */
  passages?: Array<Hit> | null;
  /** The bridge that answered, and what it can do. */
  model: string;
  usage: ReasonUsage;
  degraded: Array<Degraded>;
  /** What was quoted only in part, what search cut, and a cut-off answer. */
  truncated: Array<string>;
}

/** What the request cost. */
export interface ReasonUsage {
  /** Tokens that the LLM read, with those that the bridge made. */
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** A line that is not a valid document. */
export interface RejectedDocument {
  /** Counted from 1, blank lines included. */
  line: number;
  id: string | null;
  reason: string;
}

/** A line of an uploaded file that gave no entry, and why. */
export interface RejectedEntry {
  line: number;
  reason: string;
}

/** Parameters of `report_searches`. */
export interface ReportSearchesParameters {
  /** How many are listed. */
  limit?: number;
}

/** Parameters of `report_vocabulary`. */
export interface ReportVocabularyParameters {
  /** How many are listed. */
  limit?: number;
}

export interface RerankAnswerV1 {
  /** The request's id. */
  id: string;
  /** Best first; ties in the order of the request. */
  results: Array<Result>;
  meta: Meta;
  /** Documents that could not be scored; left out if none. */
  failed?: Array<Failed> | null;
  /** Documents of which only the beginning was read, at most 800 subwords; left out if none. */
  truncated?: Array<number> | null;
  model: string;
  usage: RerankUsage;
  /** Voyage's name of `results`, where it is asked for. */
  data?: Array<Result> | null;
}

/** How to rerank the best hits of the first stage. */
export interface RerankOptions {
  /** How many hits to rerank, by default up to 1,000. */
  depth?: number;
  model?: string | null;
}

/** TEI. */
export interface RerankTei {
  /** The query's text. */
  query: string;
  /** ISO 639-1 code; detected when left out. */
  query_language?: string | null;
  /** ISO 639-1 code of all documents; detected for each when left out. */
  document_language?: string | null;
  /**
   * Languages of those who ask: a short text that may be in one of them or in another language is taken for
   * theirs. When left out, DRAGOMAN_READER_LANGUAGES or else the header Accept-Language.
   */
  reader_languages?: Array<string> | null;
  /**
   * Translation tables to use: `name` for the active version, `name@3` for any that is there. All active ones when
   * left out.
   */
  tables?: Array<string> | null;
  /** Return logits instead of probabilities, which are their sigmoids. */
  raw_scores?: boolean | null;
  /** How many of the best to return; null or 0: all. */
  top_n?: number | null;
  /** Another name of `top_n`. */
  top_k?: number | null;
  texts: Array<string>;
  return_text?: boolean | null;
}

/** The fields that Jina's clients read. */
export interface RerankUsage {
  /** Subwords read; the query counts once per passage. */
  total_tokens: number;
}

/** How hits were reranked. */
export interface RerankUsed {
  /** The hits that were, from the first on: as the request says, or as many as the service has time for. */
  depth: number;
  model: string;
}

/** Cohere v1 and Jina. */
export interface RerankV1 {
  /** The query's text. */
  query: string;
  /** ISO 639-1 code; detected when left out. */
  query_language?: string | null;
  /** ISO 639-1 code of all documents; detected for each when left out. */
  document_language?: string | null;
  /**
   * Languages of those who ask: a short text that may be in one of them or in another language is taken for
   * theirs. When left out, DRAGOMAN_READER_LANGUAGES or else the header Accept-Language.
   */
  reader_languages?: Array<string> | null;
  /**
   * Translation tables to use: `name` for the active version, `name@3` for any that is there. All active ones when
   * left out.
   */
  tables?: Array<string> | null;
  /** Return logits instead of probabilities, which are their sigmoids. */
  raw_scores?: boolean | null;
  /** How many of the best to return; null or 0: all. */
  top_n?: number | null;
  /** Another name of `top_n`. */
  top_k?: number | null;
  /** Any name is accepted; `model` in the response is the one that scored. */
  model?: string | null;
  documents: Array<string | DocumentFields>;
  /** Voyage's field. An answer to it has the results under `data` as well. */
  truncation?: boolean | null;
  return_documents?: boolean | null;
  /** Fields to score of documents that are objects, joined by newlines; default: text. */
  rank_fields?: Array<string> | null;
}

/** What was restored. */
export interface RestoredBody {
  /** Rows by table of the database, without those of what is deleted. */
  rows: Record<string, number>;
}

/** A document in the ranking; `index` is its position in the request. */
export interface Result {
  index: number;
  relevance_score: number;
  document?: DocumentReturned | null;
  /** The document's detected language; left out if it is given or only assumed. */
  language?: string | null;
}

/** What came of trying again. */
export interface RetryBody {
  /** Documents that are indexed now. */
  indexed: number;
  /** Documents that still are not. */
  failed: number;
}

/** The score of each stage; null if the stage did not run. */
export interface Scores {
  /**
   * BM25 in the hit's collection and language; for dense, the inner product of the vectors of the query and the
   * best passage; for hybrid, the fused score.
   */
  first_stage: number;
  /** The inner product of the vectors of the query and the best passage, for hybrid. */
  dense?: number | null;
  /**
   * How well the document's subwords match the query's, for the first 50 of hybrid: the mean of their largest
   * cosines, weighted by rarity; a word that a table links counts 0.1 more, one of a glossary in full.
   */
  late?: number | null;
  /** The reranker's probability that the document answers the query, as in the rerank endpoints. */
  rerank: number | null;
}

/** A query over one or more collections, in any language that the service has tables or documents in. */
export interface SearchRequest {
  /** The query's text, by default up to 10,000 characters. Lucene syntax has no effect. */
  query: string;
  /** ISO 639-1 code; detected when left out. */
  query_language?: string | null;
  /**
   * Languages of those who ask: a short text that may be in one of them or in another language is taken for
   * theirs. When left out, DRAGOMAN_READER_LANGUAGES or else the header Accept-Language.
   */
  reader_languages?: Array<string> | null;
  /** Collections to search, by default up to 100; all of them when left out. */
  collections?: Array<string> | null;
  /** How many hits, by default up to 1,000. */
  top_k?: number;
  /**
   * psq: probabilistic structured queries; smt: the ten best translations of each term, weighted; none: the
   * untranslated query; dense: passages whose sentence embeddings are nearest to the query's; hybrid: psq and
   * dense, by a convex combination of their scores. When left out, hybrid where the embeddings of all searched
   * collections are complete, else psq.
   */
  method?: "psq" | "smt" | "none" | "dense" | "hybrid" | null;
  /**
   * Translation tables to use: `name` for the active version, `name@3` for any that is there. All active ones when
   * left out.
   */
  tables?: Array<string> | null;
  /**
   * How to rerank; false turns it off. When left out, hits of psq, smt and none are reranked, at most 50 and as
   * many as DRAGOMAN_RERANK_BUDGET_MS allows, unless all of them are in the query's language or in language pairs
   * for which the reranker was measured not to help. Hits of dense and hybrid are not reranked then, and none are
   * if DRAGOMAN_RERANK=never is set or there is no reranker.
   */
  rerank?: RerankOptions | false | null;
  /**
   * Whether names in the query stay whole: where a table has all of one, and those of persons where their words
   * match by form and sound. For psq and hybrid. Finding names takes longer than the rest of a search does, and
   * was not measured to find more, so they do not when left out.
   */
  names?: boolean | null;
  /**
   * Only documents that hold all of these names: as written, as a table translates the whole name from the query's
   * language, or alike in sound in another script. Of collections made with `entities`; without `collections`, of
   * those alone.
   */
  entities?: Array<string> | null;
  /** Words and phrases that documents must hold: as they are, or in translation. See docs/search.md. */
  must?: Array<string>;
  /** Words and phrases that documents must not hold, neither as they are nor in translation. */
  must_not?: Array<string>;
  /**
   * simple: in the query `"…"` is a phrase that must occur, `+word` a word that must, and `-word` one that must
   * not; text: all of it is text.
   */
  syntax?: "text" | "simple";
  /**
   * What happens with a required or excluded word without a translation into a language of the documents: it is
   * looked for as it is, which the answer says, or the search is refused.
   */
  untranslated?: "literal" | "error";
  /**
   * Only documents whose fields match, in MongoDB's form: a path in the metadata, or `id`, `language`, `title`,
   * `entities`. See docs/search.md.
   */
  filter?: Record<string, unknown> | null;
  /**
   * Fields whose values are counted in the documents that `total` counts, by default the 10 most frequent ones of
   * each.
   */
  facets?: Array<FacetField | string> | null;
  /**
   * Fields that order the hits, descending after '-', and `_score`, best first; without a value last, ties by
   * document. psq, smt and none order all matching documents, dense and hybrid those that are ranked.
   */
  sort?: Array<string> | null;
  /** Hits before the first one; offset and top_k together reach 1,000 hits. */
  offset?: number;
  /** `next` of the page before, with the same request; 410 where documents or tables have changed. */
  cursor?: string | null;
  /**
   * A field of which each value has one hit, the best, with the number of the others; documents without a value
   * stay. Of those that are ranked, at most 1,000.
   */
  collapse?: string | null;
  /**
   * What hits have of documents' metadata: dotted paths, through lists of objects too; `metadata.id` reaches a key
   * of such a name. When left out, all of it.
   */
  fields?: Array<string> | null;
  /** Add to each hit the translations of its words into the query's language, from the active tables. */
  gloss?: boolean;
  /** Add to each hit the contribution of each query term to its score; an object says what else. */
  explain?: ExplainOptions | boolean;
  /**
   * Add to each hit its snippet in the query's language, of several the first one; 503 unless
   * `DRAGOMAN_TRANSLATOR` names a translator.
   */
  translate_snippets?: boolean;
  /** How many snippets hits have, and how long they are; one of at most 400 characters when left out. */
  snippets?: SnippetOptions | null;
  /**
   * What offsets in the answer are counted in: `codepoint`, as strings of Python are, or `utf16` code units, as
   * those of JavaScript, Java and C# are.
   */
  offsets?: "codepoint" | "utf16";
  /**
   * The generation of collections that the search is to see at least, as imports and changes are answered with it.
   * 409 where a collection has not reached it, 503 where its index has not yet.
   */
  min_generation?: Record<string, number> | null;
  /** The topic's id in a TREC run; default: the request's id. */
  query_id?: string | null;
}

/** The documents found, with the evidence for each. */
export interface SearchResponse {
  request_id: string;
  query: QueryRead;
  /** The method that was used. */
  method: "psq" | "smt" | "none" | "dense" | "hybrid";
  /** Null if no hit was reranked. */
  rerank: RerankUsed | null;
  hits: Array<Hit>;
  translation: QueryTranslation;
  /**
   * The documents to be found: for psq, smt and none all that match, for dense and hybrid those that are ranked,
   * at
   * most 1,000.
   */
  total: Total;
  /** Only if requested: of the documents that `total` counts, the most frequent values of each field. */
  facets?: Record<string, Array<FacetCount>>;
  /** The cursor to the next page; null if there is none. */
  next: string | null;
  /**
   * Whether there is anything for the query, by the relevance of the ten best: `good`; `weak`, where it is
   * doubtful;
   * or `none`: no hits, or hits that are there for want of better ones.
   */
  found: "good" | "weak" | "none";
  /** Where no word of a short query was found: languages in which it finds documents. */
  suggestions: Array<Suggestion>;
  degraded: Array<Degraded>;
  /**
   * What was read, looked at or listed in part only: of the query, of long documents by their ids, and of an
   * answer that would be too large.
   */
  truncated: Array<string>;
  timings_ms: Timings;
}

/** The queries without a click, those first that were made most often so. */
export interface SearchesReport {
  /** What is recorded now: off, hashed or plain. */
  recording: string;
  /** When the oldest search that is recorded was made; null: there is none. */
  since: string | null;
  /** How many searches and questions are recorded; lines of jobs have no reader who could click. */
  searches: number;
  /** How many of them nobody clicked after. */
  without_click: number;
  /** How many queries there are, of which the first are listed. */
  total: number;
  queries: Array<UnclickedQuery>;
}

/**
 * A sentence, `document[field][start:end]` in code points of that field, without white space around it.
 *
 * One of more than 400 code points is cut into several.
 */
export interface Sentence {
  field: "title" | "text";
  start: number;
  end: number;
}

/** A part of a document's text, verbatim. */
export interface Snippet {
  text: string;
  /** Where it begins in the document's text, in code points. */
  start: number;
}

/** Which parts of their texts hits show. */
export interface SnippetOptions {
  /**
   * How many snippets a hit has at most: with more than one, each hit has the field `snippets`, and `highlights`
   * are those of all of them.
   */
  count?: number;
  /** How long a snippet is at most, in code points. */
  length?: number;
}

/** Whether a text says or denies a statement. */
export interface StatementResponse {
  request_id: string;
  /** The statement as it was understood. */
  query: QueryRead;
  /** `unknown` where the text neither says nor denies it, the reader is not sure, or nothing was read. */
  label: "true" | "false" | "unknown";
  /**
   * The probability that the label is right; of `unknown` the probability that the text says neither, which may be
   * small where the reader is not sure. Null where nothing was found, or the reader failed, which `degraded`
   * reports.
   */
  probability: number | null;
  /** Left out where no sentence of the text decides, as of what is unknown. */
  evidence?: Evidence | null;
  /** The reader that judged. */
  model: string;
  /** The hits that were found for the statement, as in search; not with a context. */
  passages?: Array<Hit> | null;
  degraded: Array<Degraded>;
  /** What was read only in part, and what search cut. */
  truncated: Array<string>;
}

/** What a collection holds. */
export interface StatisticsBody {
  documents: number;
  generation: number;
  /** Documents by language. */
  languages: Record<string, number>;
  fields: Array<FieldBody>;
  /** Documents whose metadata was looked at: all, or of more than 10000 those that were first stored last. */
  fields_from: number;
  /** Paths that fields lacks: it has at most 1000, those that the most documents have. */
  fields_left_out: number;
  bytes: BytesBody;
}

/** Parameters of `suggest`. */
export interface SuggestParameters {
  /** What is typed so far. */
  q: string;
  /** ISO 639-1 code of what is typed; by default the readers' languages, as in a search. */
  language?: string | null;
  /** Collections or aliases, repeated or by commas; by default all of them. */
  collections?: Array<string> | null;
}

/** Completions, at most ten, and other spellings. */
export interface SuggestResponse {
  request_id: string;
  completions: Array<Completion>;
  /** For words that no table has, the last one apart where a term begins with it; the nearest first. */
  spelling: Array<Correction>;
}

/** Another reading of the query, which finds documents. */
export interface Suggestion {
  /** The query's language to search with instead. */
  query_language: string;
  reason: string;
}

/** Entries that differ between two versions of a table, in the order of their folded terms. */
export interface TableDiff {
  /** Entries that only the second version has. */
  added: Array<EntryBody>;
  /** Entries that only the first version has. */
  removed: Array<EntryBody>;
  changed: Array<ChangedEntry>;
  /** The cursor of the next page; null on the last one. */
  next: string | null;
}

/** A table with all its versions, oldest first. */
export interface TableInfo {
  name: string;
  source: string;
  target: string;
  active_version: number | null;
  versions: Array<VersionInfo>;
}

/** All tables, by name. */
export interface TableList {
  tables: Array<TableInfo>;
}

/** What to remove from a table, and what to add afterwards. */
export interface TablePatch {
  add?: Array<NewEntry>;
  remove?: Array<OldEntry>;
}

/** The version that a patch made. */
export interface TablePatched {
  name: string;
  source: string;
  target: string;
  version: number;
  /** The version that was patched: the active one, or the newest if none was. */
  base_version: number;
  checksum: string;
  source_terms: number;
  entries: number;
  /** Entries of the request, of which some may have replaced others. */
  added: number;
  /** Entries that were there and were to be removed. */
  removed: number;
  pruned: number;
  active: boolean;
  kind: "statistical" | "glossary";
  weight: number;
}

/** What one table of a pair of languages has for a term. */
export interface TableTranslations {
  name: string;
  /** The active version, or else the newest. */
  version: number;
  active: boolean;
  kind: "statistical" | "glossary";
  /** The table's terms found, as written: the term itself, or those that a search takes for the same. */
  matched: Array<string>;
  /** Most probable first; empty if the table lacks the term. */
  translations: Array<EntryTranslation>;
  /** How many there are: at most 1,000 are shown, of all tables 10,000. */
  translations_total: number;
}

/** A table version as it was stored; with `dry_run`, as it would be. */
export interface TableUploaded {
  name: string;
  source: string;
  target: string;
  version: number;
  /** SHA-256 of the normalised entries: same content, same checksum. */
  checksum: string;
  source_terms: number;
  entries: number;
  /** The first 1,000 rejected lines. */
  rejected: Array<RejectedEntry>;
  rejected_total: number;
  /** The first 1,000 warnings. */
  warnings: Array<LineWarning>;
  warnings_total: number;
  detected: DetectedLayout;
  /** Entries dropped because both probabilities were below the threshold. */
  pruned: number;
  active: boolean;
  /** The columns that the file's header names; null if it has none. */
  header: Array<string> | null;
  kind: "statistical" | "glossary";
  weight: number;
  dry_run: boolean;
}

/** A table version used for the response. */
export interface TableUsed {
  name: string;
  version: number;
}

/** The table versions between the query's language and the documents' languages. */
export interface TablesConsulted {
  tables: Array<TableUsed>;
}

/** Texts, and what is to be found in them. */
export interface TagRequest {
  /** Texts in any languages, by default up to 1,000. */
  texts: Array<string>;
  /**
   * ISO 639-1 code of the texts' language. Tagging needs none; one that the tagger did not learn from is named in
   * `degraded`.
   */
  language?: string | null;
  /** ner: names of persons, places and organisations, and others; pos: the part of speech of each word. */
  task: "ner" | "pos";
  /**
   * What offsets in the answer are counted in: `codepoint`, as strings of Python are, or `utf16` code units, as
   * those of JavaScript, Java and C# are.
   */
  offsets?: "codepoint" | "utf16";
}

/** The tags of each text, in the order of the texts. */
export interface TagResponse {
  results: Array<Array<Tagged>>;
  /** The tagger that found them. */
  model: string;
  /** Why the tags may be worse than usual; left out if there is no reason. */
  degraded?: Array<Degraded> | null;
}

/** A part of a text with its label. */
export interface Tagged {
  text: string;
  /** Of its first character, in code points, or as `offsets` says. */
  start: number;
  /** After its last character, in the same. */
  end: number;
  /** ner: PER, LOC, ORG or MISC; pos: a tag of Universal Dependencies. */
  label: string;
  /** The probability of the label, 0 to 1; of several words the least. */
  score: number;
}

/** What one table version knows about a term. */
export interface TermBody {
  term: string;
  /** The term as the table is keyed: lower case, without diacritics and so on. */
  folded: string;
  /** The language whose side of the table the term was found on. */
  language: string;
  version: number;
  /** The table's terms found, as written: the term itself, or those that a search takes for the same. */
  matched: Array<string>;
  /** Most probable first, at most 1,000; empty for an unknown term. */
  translations: Array<EntryTranslation>;
  /** How many there are, shown or not. */
  translations_total: number;
}

/** Some terms of one side of a table version, in the order of their folded forms. */
export interface TermList {
  version: number;
  language: string;
  terms: Array<ListedTermBody>;
  /** The cursor of the next page; null on the last one. */
  next: string | null;
}

/** A translation of a query word. */
export interface TermTranslation {
  term: string;
  /** P(translation | query word) */
  probability: number;
  language: string;
  /**
   * The word of the tables that the query word was taken for, whose translation it is; left out for the word
   * itself.
   * Neither a table nor a document has the word as it was spelt.
   */
  spelling?: string;
}

/** Milliseconds spent per stage. */
export interface Timings {
  translate: number;
  first_stage: number;
  rerank: number;
  total: number;
  /** Dense search, if it ran: encoding, embedding and searching; part of first_stage. */
  dense?: number | null;
  /** Late interaction, if it ran; after first_stage. */
  late?: number | null;
  /** Only if requested. */
  gloss?: number | null;
  /** Only if requested. */
  attention?: number | null;
  /** Only if requested. */
  translate_snippets?: number | null;
}

/** How many documents there are to be found; with `gte` there are more, or parts could not be asked. */
export interface Total {
  value: number;
  relation: "eq" | "gte";
}

/** Parameters of `train_table`. */
export interface TrainTableParameters {
  /** ISO 639-1 code of the source terms' language. */
  source: string;
  /** ISO 639-1 code of the target terms' language. */
  target: string;
  /** The format of the text; auto: what it shows. */
  format?: "auto" | "tsv" | "tmx";
  /** The columns of tsv; _ is a column to skip. */
  columns?: string;
  /** A glossary outranks statistical tables. */
  kind?: "statistical" | "glossary";
  /** Weight among active tables of one kind. */
  weight?: number;
  /** Use the version in searches as soon as it is there. */
  activate?: boolean;
}

/** One or more texts, and the languages to translate from and into. */
export interface TranslateRequest {
  /** One text; use texts for several. */
  text?: string | null;
  /** Several texts, by default up to 100. */
  texts?: Array<string> | null;
  /** ISO 639-1 code of the texts' language. */
  source: string;
  /** ISO 639-1 code of the language to translate into. */
  target: string;
  /**
   * What offsets in the answer are counted in: `codepoint`, as strings of Python are, or `utf16` code units, as
   * those of JavaScript, Java and C# are.
   */
  offsets?: "codepoint" | "utf16";
}

/** The translations, in the order of the texts. */
export interface TranslateResponse {
  /** The translations; a sentence that failed its check stands as in the source. */
  texts: Array<string>;
  /** The sentences of each text, with what their check says. */
  sentences: Array<Array<CheckedSentence>>;
  /** The translator that made them. */
  model: string;
  /** How well it translates from this language; left out where that was not measured. */
  quality?: Quality | null;
  /**
   * Positions, from 0, of texts with a sentence that was cut off because its translation did not end; left out if
   * there is none.
   */
  truncated?: Array<number> | null;
  /** Why the meaning of translations was not checked; left out where it was. */
  degraded?: Array<Degraded> | null;
}

/** A query with searches after which nobody clicked on a hit. */
export interface UnclickedQuery {
  /** As it was sent; or a keyed hash of that. */
  query: string;
  hashed: boolean;
  language: string;
  searches: number;
  /** How many of its searches have no event whose action is a click. */
  without_click: number;
  /** How many of its searches had no hit. */
  without_hits: number;
  last_at: string;
  /** `search`, or `qa` for a question whose passages were searched for. */
  kind: string;
}

/** A document that could not be indexed. */
export interface UnindexedBody {
  id: string;
  reason: string;
  at: string;
}

/** Documents that could not be indexed, in the order in which they were first stored. */
export interface UnindexedList {
  /** At most 1000. */
  documents: Array<UnindexedBody>;
  total: number;
}

/** Parameters of `upload_table`. */
export interface UploadTableParameters {
  /** ISO 639-1 code of the source terms' language. */
  source: string;
  /** ISO 639-1 code of the target terms' language. */
  target: string;
  /** The format of the file; auto: what it shows. */
  format?:
    | "auto"
    | "tsv"
    | "csv"
    | "giza"
    | "muse"
    | "jsonl"
    | "freedict"
    | "xlsx"
    | "ods"
    | "tbx"
    | "deepl"
    | "google"
    | "dictcc"
    | "moses"
    | "tmx";
  /** The file's encoding, such as utf-8; default: what it shows. */
  encoding?: string | null;
  /** What separates the columns: tab, comma, semicolon, pipe, space or a character; default: what the file shows. */
  separator?: string | null;
  /** The decimal mark, . or ,; default: what the numbers show. */
  decimal?: string | null;
  /**
   * What each column is, separated by commas: source, target, probability, inverse_probability, or - where it is
   * ignored; default: what the header or the cells show.
   */
  columns?: string | null;
  /** Whether the first line names the columns; default: what it shows. */
  header?: boolean | null;
  /** A glossary outranks statistical tables. */
  kind?: "statistical" | "glossary";
  /** Weight among active tables of one kind. */
  weight?: number;
  /** Use this version in searches from now on. */
  activate?: boolean;
  /** Check the file and store nothing. */
  dry_run?: boolean;
}

/** One uploaded version of a table. */
export interface VersionInfo {
  version: number;
  active: boolean;
  checksum: string;
  /** A glossary outranks statistical tables where both are active. */
  kind: "statistical" | "glossary";
  /** Weight among active tables of the same kind. */
  weight: number;
  format: string;
  source_terms: number;
  entries: number;
  rejected: number;
  pruned: number;
  /** Whether its entries are kept as they were written; older versions have them as folded. */
  written_forms: boolean;
  created_at: string;
  created_by: string | null;
}

/** The words without translation, the most frequent first. */
export interface VocabularyReport {
  /** What is recorded now: off, hashed or plain. */
  recording: string;
  /** When the oldest search that is recorded was made; null: there is none. */
  since: string | null;
  /** How many words there are, of which the first are listed. */
  total: number;
  words: Array<MissingWord>;
}

/** A content word, `document[field][start:end]` in code points of that field, with its best translations. */
export interface WordGloss {
  field: "title" | "text";
  start: number;
  end: number;
  /** The three best at most, the best one first. */
  translations: Array<GlossTranslation>;
}
