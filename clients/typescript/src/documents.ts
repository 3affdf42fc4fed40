import { batches, parsedLines, type Several } from "./streams.ts";
import type { CallOptions, ChangeOptions, Content, Transport } from "./transport.ts";
import type {
  AddDocumentsParameters,
  DeletionBody,
  DocumentBody,
  DocumentPageBody,
  DocumentPatch,
  ImportBody,
  ListedDocument,
} from "./types.ts";

/** Which documents: MongoDB's form, as in `docs/search.md`. */
export type Filter = Record<string, unknown>;

/** A document to add; one whose id is there already is replaced. */
export interface NewDocument {
  id: string | number;
  text: string;
  title?: string | null;
  /** ISO 639-1; that of the collection by default. */
  language?: string;
  metadata?: Record<string, unknown> | null;
}

/** Which documents are listed, and what of them. */
export interface ListOptions extends CallOptions {
  filter?: Filter;
  /** What to show: `id`, `title`, `text`, `metadata`, paths in metadata; all of it by default. */
  fields?: readonly string[];
  /** How many come with one request, 100 by default. */
  limit?: number;
}

const PART = 2_000_000;

/** The documents of collections. A collection may be named by an alias. */
export class Documents {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Add documents, or replace those with the same ids. When it returns, they are searchable and durable.
   *
   * They are sent as NDJSON in parts of two million characters, one after the other, so that any number of them can
   * come from a generator, in browsers too. Where a part fails, those before it are stored.
   */
  async add(collection: string, documents: Several<NewDocument>, options: ChangeOptions = {}): Promise<ImportBody> {
    const whole: ImportBody = { accepted: 0, replaced: 0, rejected: [], generation: 0 };
    let before = 0;
    let ifMatch = options.ifMatch;
    for await (const { body, count } of batches(documents, PART)) {
      const part = await this.upload(collection, body, { format: "ndjson" }, { ...options, ifMatch });
      whole.accepted += part.accepted;
      whole.replaced += part.replaced;
      whole.rejected.push(...part.rejected.map((rejected) => ({ ...rejected, line: rejected.line + before })));
      whole.generation = part.generation;
      before += count;
      if (ifMatch !== undefined) ifMatch = part.generation;
    }
    return whole;
  }

  /** Add the documents of a file: NDJSON, a JSON array, CSV, TSV, Parquet or TREC; `format` says which. */
  upload(
    collection: string,
    content: Content,
    parameters: AddDocumentsParameters & { format: NonNullable<AddDocumentsParameters["format"]> },
    options: ChangeOptions = {},
  ): Promise<ImportBody> {
    return this.#transport.json({
      method: "POST",
      path: ["v1", "collections", collection, "documents"],
      parameters,
      content,
      headers: { "content-type": "application/octet-stream", "if-match": etag(options) },
      repeatable: options.ifMatch === undefined,
      timeout: 0,
    }, options);
  }

  get(collection: string, id: string, options?: CallOptions): Promise<DocumentBody> {
    return this.#transport.json({ method: "GET", path: place(collection, id), repeatable: true }, options);
  }

  /** All documents that a filter leaves, page by page, in the order in which they were first stored. */
  async *list(collection: string, options: ListOptions = {}): AsyncGenerator<ListedDocument, void, undefined> {
    let cursor: string | null = null;
    do {
      const page: DocumentPageBody = await this.page(collection, { ...options, cursor });
      yield* page.documents;
      cursor = page.next;
    } while (cursor !== null);
  }

  /** One page of {@link Documents.list}, with the number of all documents and the cursor of the next page. */
  page(collection: string, options: ListOptions & { cursor?: string | null } = {}): Promise<DocumentPageBody> {
    const { filter, fields, limit, cursor, ...call } = options;
    const path = ["v1", "collections", collection, "documents"];
    return this.#transport.json(
      { method: "GET", path, parameters: { filter, fields, limit, cursor }, repeatable: true },
      call,
    );
  }

  /** Whole documents, as `add` takes them, in one streamed answer. */
  export(collection: string, options: CallOptions & { filter?: Filter } = {}): AsyncGenerator<NewDocument> {
    const { filter, ...call } = options;
    const path = ["v1", "collections", collection, "export"];
    return parsedLines(this.#transport.stream({ method: "GET", path, parameters: { filter }, repeatable: true }, call));
  }

  /** Change some of a document; metadata is merged, and null in place of a value deletes its name. */
  patch(collection: string, id: string, changes: DocumentPatch, options: ChangeOptions = {}): Promise<DocumentBody> {
    return this.#transport.json({
      method: "PATCH",
      path: place(collection, id),
      json: changes,
      headers: { "if-match": etag(options) },
    }, options);
  }

  delete(collection: string, id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.json(
      { method: "DELETE", path: place(collection, id), headers: { "if-match": etag(options) } },
      options,
    );
  }

  /** Delete all documents that a filter leaves, or none; with `dryRun` they are counted alone. */
  deleteWhere(
    collection: string,
    filter: Filter,
    options: ChangeOptions & { dryRun?: boolean } = {},
  ): Promise<DeletionBody> {
    return this.#transport.json({
      method: "POST",
      path: ["v1", "collections", collection, "documents", "delete"],
      json: { filter, dry_run: options.dryRun ?? false },
      headers: { "if-match": etag(options) },
    }, options);
  }
}

function place(collection: string, id: string): string[] {
  return ["v1", "collections", collection, "documents", id];
}

/** The header of the generation that something has to be of. */
export function etag(options: ChangeOptions): string | undefined {
  return options.ifMatch === undefined ? undefined : `"${options.ifMatch}"`;
}
