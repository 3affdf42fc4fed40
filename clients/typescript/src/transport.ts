import { DragomanError, errorOf } from "./errors.ts";

/** Where the service is, and how it is asked. */
export interface ClientOptions {
  /** The service's address, such as `https://search.example.org`, with a prefix where a proxy adds one. */
  url: string;
  /** A key, where the service has keys. One in a web page is everybody's: let it have the scope `search` alone. */
  key?: string;
  /** Milliseconds for an answer, 60,000 by default; 0 waits for ever. Uploads have no limit unless a call sets one. */
  timeout?: number;
  /** How often a request is sent again, 2 by default; see {@link CallOptions.retries}. */
  retries?: number;
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** What sends requests; the `fetch` of the platform by default. */
  fetch?: typeof fetch;
}

/** How one request is sent. */
export interface CallOptions {
  /** Ends the request; what is thrown then is its reason. */
  signal?: AbortSignal;
  /** Milliseconds for an answer; of what is streamed, for each part of it. 0 waits for ever. */
  timeout?: number;
  /**
   * How often the request is sent again: one that can be repeated after a lost connection, 429, 502, 503 and 504, any
   * other one where the service refused it with 429, or with 503 and Retry-After. The time in Retry-After is waited
   * for; where it is more than half a minute, the error is thrown at once. So it is where the service itself says 503
   * without Retry-After: a model is not installed, and will not be in a moment.
   */
  retries?: number;
}

/** The generation that what is changed has to be of; the service refuses with 412 otherwise. */
export interface ChangeOptions extends CallOptions {
  ifMatch?: number;
}

/** A file, or its content. */
export type Content = string | Blob | ArrayBuffer | Uint8Array | ReadableStream<Uint8Array>;

export interface Asked {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The segments of the address; each is encoded. */
  path: readonly (string | number)[];
  parameters?: object;
  json?: unknown;
  content?: Content;
  headers?: Record<string, string | undefined>;
  /** Whether to send it twice does the same as to send it once. */
  repeatable?: boolean;
  /** The timeout where neither the call nor the client says another. */
  timeout?: number;
}

const LONGEST_WAIT = 30;
const FIRST_WAIT = 0.25;

/** Sends requests, again where that helps. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #base: string;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#base = options.url.replace(/\/+$/, "");
  }

  /** The JSON of the answer; undefined where there is none. */
  async json<T>(asked: Asked, call: CallOptions = {}): Promise<T> {
    const limit = this.#limit(asked, call);
    try {
      const response = await this.#send(asked, call, limit);
      const text = await response.text();
      return (text ? JSON.parse(text) : undefined) as T;
    } catch (fault) {
      throw explain(fault, call, limit);
    } finally {
      limit.end();
    }
  }

  /** The parts of the answer's body as they come; the connection ends where the loop does. */
  async *stream(asked: Asked, call: CallOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const limit = this.#limit(asked, call);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    try {
      reader = (await this.#send(asked, call, limit)).body?.getReader();
      while (reader) {
        limit.begin();
        const { done, value } = await reader.read();
        if (done) return;
        limit.pause();
        yield value;
      }
    } catch (fault) {
      throw explain(fault, call, limit);
    } finally {
      limit.end();
      await reader?.cancel().catch(() => {});
    }
  }

  #limit(asked: Asked, call: CallOptions): Limit {
    return new Limit(call.timeout ?? asked.timeout ?? this.#options.timeout ?? 60_000, call.signal);
  }

  async #send(asked: Asked, call: CallOptions, limit: Limit): Promise<Response> {
    const retries = call.retries ?? this.#options.retries ?? 2;
    for (let attempt = 0;; attempt++) {
      limit.begin();
      const last = attempt >= retries || asked.content instanceof ReadableStream;
      let error: unknown;
      let wait = FIRST_WAIT * 2 ** attempt * (0.5 + Math.random());
      try {
        const response = await this.#fetch(asked, limit.signal);
        if (response.ok) return response;
        const refused = error = await errorOf(response);
        wait = refused.retryAfter ?? wait;
        if (!canRepeat(refused, asked) || wait > LONGEST_WAIT) throw refused;
      } catch (fault) {
        if (fault === error || !asked.repeatable || limit.signal.aborted) throw fault;
        error = fault;
      }
      if (last) throw error;
      limit.pause();
      await sleep(wait * 1000, call.signal);
    }
  }

  #fetch(asked: Asked, signal: AbortSignal): Promise<Response> {
    const headers = new Headers(this.#options.headers);
    for (const [name, content] of Object.entries(asked.headers ?? {})) {
      if (content !== undefined) headers.set(name, content);
    }
    if (this.#options.key !== undefined) headers.set("authorization", `Bearer ${this.#options.key}`);
    if (asked.json !== undefined) headers.set("content-type", "application/json");
    const body = asked.json !== undefined ? JSON.stringify(asked.json) : asked.content;
    const request: RequestInit & { duplex?: "half" } = { method: asked.method, headers, signal };
    if (body !== undefined) request.body = body as BodyInit;
    if (body instanceof ReadableStream) request.duplex = "half";
    const send = this.#options.fetch ?? fetch;
    return send(this.#base + address(asked.path) + query(asked.parameters), request);
  }
}

/** The time that an answer, or a part of it, may take, and the caller's signal. */
class Limit {
  readonly #controller = new AbortController();
  readonly #abort = () => this.#controller.abort(this.caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  passed = false;

  constructor(readonly milliseconds: number, readonly caller: AbortSignal | undefined) {
    if (caller?.aborted) this.#abort();
    caller?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  begin(): void {
    this.pause();
    if (!this.milliseconds) return;
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#controller.abort();
    }, this.milliseconds);
  }

  pause(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.pause();
    this.caller?.removeEventListener("abort", this.#abort);
  }
}

function canRepeat(error: DragomanError, asked: Asked): boolean {
  if (error.status === 429) return true;
  if (error.status === 503 && error.retryAfter !== undefined) return true;
  const ofTheService = error.status === 503 && error.code !== "http";
  return asked.repeatable === true && error.status >= 502 && error.status <= 504 && !ofTheService;
}

/** The caller's own reason, or an error of ours with what the platform said as its cause. */
function explain(fault: unknown, call: CallOptions, limit: Limit): unknown {
  if (call.signal?.aborted) return call.signal.reason;
  if (limit.passed) {
    return new DragomanError(`no answer in ${limit.milliseconds} ms`, { code: "timeout", cause: fault });
  }
  if (fault instanceof SyntaxError) return new DragomanError("the answer is no JSON", { code: "http", cause: fault });
  if (!(fault instanceof TypeError)) return fault;
  return new DragomanError(`the service cannot be reached: ${fault.message}`, { code: "connection", cause: fault });
}

export function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

/** An address names another place where a segment of it is empty or goes up, so none may. */
function address(path: readonly (string | number)[]): string {
  return path.map((part) => {
    if (["", ".", ".."].includes(String(part))) throw new RangeError(`${JSON.stringify(part)} can be in no address`);
    return `/${encodeURIComponent(part)}`;
  }).join("");
}

/** Parameters of an address; objects are JSON, as filters are, and lists have commas. */
function query(parameters: object | undefined): string {
  const written = new URLSearchParams();
  for (const [name, content] of Object.entries(parameters ?? {})) {
    if (content === undefined || content === null) continue;
    if (Array.isArray(content)) written.set(name, content.join(","));
    else written.set(name, typeof content === "object" ? JSON.stringify(content) : String(content));
  }
  const text = written.toString();
  return text && `?${text}`;
}
