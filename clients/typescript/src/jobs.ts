import { DragomanError } from "./errors.ts";
import { ndjson, parsedLines, type Several } from "./streams.ts";
import { type CallOptions, sleep, type Transport } from "./transport.ts";
import type {
  CreateJobParameters,
  JobBody,
  JobList,
  QaRequest,
  QaResponse,
  RerankAnswerV1,
  RerankV1,
} from "./types.ts";
import type { SearchRequest, SearchResponse, StatementResponse } from "./types.ts";

/** What a line of a job of each type asks, and what it is answered. */
export interface JobTypes {
  search: { request: SearchRequest; response: Omit<SearchResponse, "timings_ms"> };
  rerank: { request: RerankV1; response: RerankAnswerV1 };
  qa: { request: QaRequest; response: QaResponse | StatementResponse };
}

/** A request of a job; its result has the same `custom_id`. */
export type JobLine<Type extends keyof JobTypes> = { custom_id: string } & JobTypes[Type]["request"];

/** The answer of a line. */
export interface JobResult<Type extends keyof JobTypes> {
  custom_id: string;
  response: JobTypes[Type]["response"];
}

/** What a new job is told beside its lines. */
export interface JobOptions extends CallOptions, Omit<CreateJobParameters, "type"> {
  /** The same key with the same lines is the same job; a new one by default. */
  idempotencyKey?: string;
}

const FINISHED = ["completed", "failed", "cancelled", "expired"];

/** Many searches, rerankings or questions, which are answered in the background. */
export class Jobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Begin a job; offsets in its answers are those of JavaScript's strings, unless a line says `codepoint`. */
  async create<Type extends keyof JobTypes>(
    type: Type,
    lines: Several<JobLine<Type>>,
    options: JobOptions = {},
  ): Promise<JobBody> {
    const { tag, idempotencyKey, ...call } = options;
    return this.#transport.json({
      method: "POST",
      path: ["v1", "jobs"],
      parameters: { type, tag },
      content: await ndjson(type === "rerank" ? lines : counted(lines)),
      headers: { "content-type": "application/x-ndjson", "idempotency-key": idempotencyKey ?? randomKey() },
      repeatable: true,
      timeout: 0,
    }, call);
  }

  /** All jobs that the key may see, newest first. */
  async *list(options?: CallOptions): AsyncGenerator<JobBody, void, undefined> {
    let after: string | undefined;
    let page: JobList;
    do {
      page = await this.#transport.json(
        { method: "GET", path: ["v1", "jobs"], parameters: { after }, repeatable: true },
        options,
      );
      yield* page.jobs;
      after = page.jobs.at(-1)?.id;
    } while (page.has_more && after !== undefined);
  }

  get(id: string, options?: CallOptions): Promise<JobBody> {
    return this.#transport.json({ method: "GET", path: ["v1", "jobs", id], repeatable: true }, options);
  }

  /**
   * The job, once it has finished, be it completed, failed, cancelled or expired.
   *
   * It is asked for every `interval` milliseconds, 1,000 by default; after `within` milliseconds an error is thrown.
   */
  async wait(id: string, options: CallOptions & { interval?: number; within?: number } = {}): Promise<JobBody> {
    const { interval = 1_000, within, ...call } = options;
    const until = within === undefined ? Infinity : Date.now() + within;
    while (true) {
      const job = await this.get(id, call);
      if (FINISHED.includes(job.status)) return job;
      if (Date.now() >= until) {
        throw new DragomanError(`job ${id} is ${job.status} after ${within} ms`, { code: "timeout" });
      }
      await sleep(Math.min(interval, until - Date.now()), call.signal);
    }
  }

  /** The answers of a job's lines, in one streamed answer. */
  results<Type extends keyof JobTypes>(id: string, options?: CallOptions): AsyncGenerator<JobResult<Type>> {
    return parsedLines(
      this.#transport.stream({ method: "GET", path: ["v1", "jobs", id, "results"], repeatable: true }, options),
    );
  }

  /** The lines that could not be answered, and why. */
  errors(id: string, options?: CallOptions): AsyncGenerator<{ custom_id: string } & Record<string, unknown>> {
    return parsedLines(
      this.#transport.stream({ method: "GET", path: ["v1", "jobs", id, "errors"], repeatable: true }, options),
    );
  }

  cancel(id: string, options?: CallOptions): Promise<JobBody> {
    return this.#transport.json({ method: "POST", path: ["v1", "jobs", id, "cancel"], repeatable: true }, options);
  }

  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#transport.json({ method: "DELETE", path: ["v1", "jobs", id] }, options);
  }
}

async function* counted(lines: Several<object>): AsyncGenerator<object> {
  for await (const line of lines) yield { offsets: "utf16", ...line };
}

/** A key that no other job has; `crypto` is missing in Node 18, and its `randomUUID` in pages without TLS. */
function randomKey(): string {
  return [Date.now(), ...Array.from({ length: 3 }, () => Math.random() * 2 ** 48)].map((part) =>
    Math.floor(part).toString(36)
  ).join("-");
}
