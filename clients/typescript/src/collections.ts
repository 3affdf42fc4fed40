import { etag } from "./documents.ts";
import type { CallOptions, ChangeOptions, Transport } from "./transport.ts";
import type { AliasBody, AliasList, CollectionBody, CollectionChange, CollectionList } from "./types.ts";
import type { NewCollection, StatisticsBody } from "./types.ts";

/** Collections, which may be named by an alias. */
export class Collections {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(collection: NewCollection, options?: CallOptions): Promise<CollectionBody> {
    return this.#transport.json({ method: "POST", path: ["v1", "collections"], json: collection }, options);
  }

  async list(options?: CallOptions): Promise<CollectionBody[]> {
    const path = ["v1", "collections"];
    return (await this.#transport.json<CollectionList>({ method: "GET", path, repeatable: true }, options)).collections;
  }

  get(name: string, options?: CallOptions): Promise<CollectionBody> {
    return this.#transport.json({ method: "GET", path: ["v1", "collections", name], repeatable: true }, options);
  }

  change(name: string, changes: CollectionChange, options: ChangeOptions = {}): Promise<CollectionBody> {
    const headers = { "if-match": etag(options) };
    return this.#transport.json(
      { method: "PATCH", path: ["v1", "collections", name], json: changes, headers },
      options,
    );
  }

  /** What it holds: documents by language, fields of their metadata, and how many bytes it takes. */
  stats(name: string, options?: CallOptions): Promise<StatisticsBody> {
    const path = ["v1", "collections", name, "stats"];
    return this.#transport.json({ method: "GET", path, repeatable: true }, options);
  }

  /** Delete all documents; the collection stays. */
  truncate(name: string, options: ChangeOptions = {}): Promise<CollectionBody> {
    const headers = { "if-match": etag(options) };
    return this.#transport.json({ method: "POST", path: ["v1", "collections", name, "truncate"], headers }, options);
  }

  /** Delete a collection with all its documents. */
  delete(name: string, options: ChangeOptions = {}): Promise<void> {
    const headers = { "if-match": etag(options) };
    return this.#transport.json({ method: "DELETE", path: ["v1", "collections", name], headers }, options);
  }
}

/** Other names of collections, which may be given to another one at any time. */
export class Aliases {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(options?: CallOptions): Promise<AliasBody[]> {
    const path = ["v1", "aliases"];
    return (await this.#transport.json<AliasList>({ method: "GET", path, repeatable: true }, options)).aliases;
  }

  get(alias: string, options?: CallOptions): Promise<AliasBody> {
    return this.#transport.json({ method: "GET", path: ["v1", "aliases", alias], repeatable: true }, options);
  }

  set(alias: string, collection: string, options?: CallOptions): Promise<AliasBody> {
    const path = ["v1", "aliases", alias];
    return this.#transport.json({ method: "PUT", path, json: { collection }, repeatable: true }, options);
  }

  delete(alias: string, options?: CallOptions): Promise<void> {
    return this.#transport.json({ method: "DELETE", path: ["v1", "aliases", alias] }, options);
  }
}
