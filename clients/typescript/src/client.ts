import { Aliases, Collections } from "./collections.ts";
import { Documents } from "./documents.ts";
import { DragomanError, errorOfBody } from "./errors.ts";
import { Jobs } from "./jobs.ts";
import { events } from "./streams.ts";
import { Tables } from "./tables.ts";
import { type CallOptions, type ClientOptions, Transport } from "./transport.ts";
import type {
  CheckRequest,
  CheckResponse,
  EmbeddingsRequest,
  EmbeddingsResponse,
  ErrorBody,
  EventBody,
  EventTaken,
  QaRequest,
  QaResponse,
  ReadRequest,
  ReadResponse,
  ReasonRequest,
  ReasonResponse,
  RerankAnswerV1,
  RerankV1,
  SearchRequest,
  SearchResponse,
  StatementResponse,
  SuggestParameters,
  SuggestResponse,
  TagRequest,
  TagResponse,
  TranslateRequest,
  TranslateResponse,
} from "./types.ts";

/** What comes of an answer that is streamed: pieces of it, and at last the whole. */
export type ReasonEvent = { type: "text"; text: string } | { type: "answer"; answer: ReasonResponse };

/**
 * A client of one service.
 *
 * Offsets in answers are those of JavaScript's strings, UTF-16 code units, so that `text.slice(start, end)` is what is
 * meant. A request with `offsets: "codepoint"` gets those of Python's strings instead.
 */
export class Dragoman {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly aliases: Aliases;
  readonly tables: Tables;
  readonly jobs: Jobs;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.#transport = transport;
    this.collections = new Collections(transport);
    this.documents = new Documents(transport);
    this.aliases = new Aliases(transport);
    this.tables = new Tables(transport);
    this.jobs = new Jobs(transport);
  }

  /** The best documents for a query in any language, with the evidence for each. */
  search(request: SearchRequest, options?: CallOptions): Promise<SearchResponse> {
    return this.#ask("v1/search", counted(request), options);
  }

  /** All hits of a search, page by page, up to those that the service ranks. */
  async *searchAll(request: SearchRequest, options?: CallOptions): AsyncGenerator<SearchResponse, void, undefined> {
    let page = await this.search(request, options);
    yield page;
    while (page.next !== null) {
      const { offset: _, ...rest } = request;
      page = await this.search({ ...rest, cursor: page.next }, options);
      yield page;
    }
  }

  /** Completions of what is typed, and other spellings of its words. */
  suggest(
    typed: string,
    parameters: Omit<SuggestParameters, "q"> = {},
    options?: CallOptions,
  ): Promise<SuggestResponse> {
    const asked = { path: ["v1", "suggest"], parameters: { q: typed, ...parameters }, repeatable: true };
    return this.#transport.json({ method: "GET", ...asked }, options);
  }

  /** Texts in any languages in the order in which they answer a query. */
  rerank(request: RerankV1, options?: CallOptions): Promise<RerankAnswerV1> {
    return this.#ask("v1/rerank", request, options);
  }

  /** The vectors of texts. */
  embeddings(request: EmbeddingsRequest, options?: CallOptions): Promise<EmbeddingsResponse> {
    return this.#ask("v1/embeddings", request, options);
  }

  /** Answer a question, or judge a statement, by a context or by the documents that a search finds. */
  qa(request: QaRequest & { question: string }, options?: CallOptions): Promise<QaResponse>;
  qa(request: QaRequest & { statement: string }, options?: CallOptions): Promise<StatementResponse>;
  qa(request: QaRequest, options?: CallOptions): Promise<QaResponse | StatementResponse> {
    return this.#ask("v1/qa", counted(request), options);
  }

  /** What the service's language model answers. */
  reason(request: Omit<ReasonRequest, "stream">, options?: CallOptions): Promise<ReasonResponse> {
    return this.#ask("v1/reason", counted(request), options);
  }

  /** The answer of {@link Dragoman.reason} as it is made. Where the loop ends early, so does the making. */
  async *reasonStream(
    request: Omit<ReasonRequest, "stream">,
    options?: CallOptions,
  ): AsyncGenerator<ReasonEvent, void, undefined> {
    const json = { ...counted(request), stream: true };
    let whole = false;
    const asked = { path: ["v1", "reason"], json, repeatable: true };
    for await (const { name, content } of events(this.#transport.stream({ method: "POST", ...asked }, options))) {
      if (name === "error") throw errorOfBody(content as ErrorBody, 503);
      if (name === "text") yield { type: "text", text: (content as { text: string }).text };
      if (name === "answer") yield { type: "answer", answer: content as ReasonResponse };
      whole ||= name === "answer";
    }
    if (!whole) throw new DragomanError("the connection ended before the answer did");
  }

  /** The names, or the parts of speech, in texts. */
  tag(request: TagRequest, options?: CallOptions): Promise<TagResponse> {
    return this.#ask("v1/tag", counted(request), options);
  }

  /** Texts translated sentence by sentence, each of them checked. */
  translate(request: TranslateRequest, options?: CallOptions): Promise<TranslateResponse> {
    return this.#ask("v1/translate", counted(request), options);
  }

  /** What a check says of a translation, whoever made it. */
  checkTranslation(request: CheckRequest, options?: CallOptions): Promise<CheckResponse> {
    return this.#ask("v1/translate/check", counted(request), options);
  }

  /** A whole document with all matches of a query, its sentences, and its words in the reader's language. */
  read(request: ReadRequest, options?: CallOptions): Promise<ReadResponse> {
    return this.#ask("v1/read", counted(request), options);
  }

  /** Report what a user did with a hit; `query_id` is the `request_id` of the search. */
  event(event: EventBody, options?: CallOptions): Promise<EventTaken> {
    return this.#transport.json({ method: "POST", path: ["v1", "events"], json: event }, options);
  }

  /** A request that changes nothing, so that it may be sent again. */
  #ask<T>(path: string, json: object, options?: CallOptions): Promise<T> {
    return this.#transport.json({ method: "POST", path: path.split("/"), json, repeatable: true }, options);
  }
}

function counted<T extends object>(request: T): T {
  return { offsets: "utf16", ...request };
}
