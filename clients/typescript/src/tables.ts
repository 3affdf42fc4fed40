import { ndjson, type Several } from "./streams.ts";
import type { CallOptions, Content, Transport } from "./transport.ts";
import type {
  CompareTableVersionsParameters,
  ExportTableParameters,
  ListedTermBody,
  ListTableTermsParameters,
  LookUpInAllTablesParameters,
  LookUpTermParameters,
  NewEntry,
  PairTranslations,
  TableDiff,
  TableInfo,
  TableList,
  TablePatch,
  TablePatched,
  TableUploaded,
  TermBody,
  TermList,
  UploadTableParameters,
} from "./types.ts";

/** Translation tables: what searches translate by. */
export class Tables {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Upload a file, whose format is detected, or entries, as a new version; searches use it once it is active. */
  async upload(
    name: string,
    content: Content | Several<NewEntry>,
    parameters: UploadTableParameters,
    options?: CallOptions,
  ): Promise<TableUploaded> {
    const asked = isContent(content)
      ? { content, parameters }
      : { content: await ndjson(content), parameters: { ...parameters, format: "jsonl" } };
    const headers = { "content-type": "application/octet-stream" };
    return this.#transport.json(
      { method: "PUT", path: ["v1", "tables", name], headers, ...asked, timeout: 0 },
      options,
    );
  }

  async list(options?: CallOptions): Promise<TableInfo[]> {
    const path = ["v1", "tables"];
    return (await this.#transport.json<TableList>({ method: "GET", path, repeatable: true }, options)).tables;
  }

  /** A table with all its versions. */
  get(name: string, options?: CallOptions): Promise<TableInfo> {
    return this.#transport.json({ method: "GET", path: ["v1", "tables", name], repeatable: true }, options);
  }

  /** Add and remove entries, as a new version, which is active if the one before was. */
  patch(name: string, changes: TablePatch, options?: CallOptions): Promise<TablePatched> {
    return this.#transport.json({ method: "PATCH", path: ["v1", "tables", name], json: changes }, options);
  }

  /** Make a version the one that searches use, be it newer or older. */
  activate(name: string, version: number, options?: CallOptions): Promise<TableInfo> {
    const path = ["v1", "tables", name, "versions", version, "activate"];
    return this.#transport.json({ method: "POST", path, repeatable: true }, options);
  }

  /** Take a table out of use. */
  deactivate(name: string, options?: CallOptions): Promise<TableInfo> {
    const path = ["v1", "tables", name, "deactivate"];
    return this.#transport.json({ method: "POST", path, repeatable: true }, options);
  }

  /** Delete a version that is not active. */
  delete(name: string, version: number, options?: CallOptions): Promise<void> {
    return this.#transport.json({ method: "DELETE", path: ["v1", "tables", name, "versions", version] }, options);
  }

  /** All terms of a version, the active one by default, page by page. */
  async *terms(
    name: string,
    parameters: Omit<ListTableTermsParameters, "cursor"> = {},
    options?: CallOptions,
  ): AsyncGenerator<ListedTermBody, void, undefined> {
    let cursor: string | null = null;
    do {
      const asked = { path: ["v1", "tables", name, "terms"], parameters: { ...parameters, cursor }, repeatable: true };
      const page: TermList = await this.#transport.json({ method: "GET", ...asked }, options);
      yield* page.terms;
      cursor = page.next;
    } while (cursor !== null);
  }

  /** The translations of a term in a version, by default in the active one. */
  lookUp(name: string, term: string, parameters?: LookUpTermParameters, options?: CallOptions): Promise<TermBody> {
    const path = ["v1", "tables", name, "terms", term];
    return this.#transport.json({ method: "GET", path, ...(parameters && { parameters }), repeatable: true }, options);
  }

  /** What every table between two languages has for a term, active or not. */
  lookUpInAll(parameters: LookUpInAllTablesParameters, options?: CallOptions): Promise<PairTranslations> {
    return this.#transport.json({ method: "GET", path: ["v1", "lookup"], parameters, repeatable: true }, options);
  }

  /** What differs between two versions, a page of it. */
  compare(
    name: string,
    version: number,
    other: number,
    parameters: CompareTableVersionsParameters = {},
    options?: CallOptions,
  ): Promise<TableDiff> {
    const path = ["v1", "tables", name, "versions", version, "diff", other];
    return this.#transport.json({ method: "GET", path, parameters, repeatable: true }, options);
  }

  /** The entries of a version as a file, in parts as they come. */
  export(
    name: string,
    version: number,
    parameters: ExportTableParameters = {},
    options?: CallOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const path = ["v1", "tables", name, "versions", version, "export"];
    return this.#transport.stream({ method: "GET", path, parameters, repeatable: true }, options);
  }
}

function isContent(content: Content | Several<NewEntry>): content is Content {
  return typeof content === "string" || content instanceof Blob || content instanceof ArrayBuffer ||
    content instanceof Uint8Array || content instanceof ReadableStream;
}
