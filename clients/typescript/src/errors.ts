import type { ErrorBody } from "./types.ts";

/** What the service said instead of an answer, or why there is none. */
export class DragomanError extends Error {
  override name = "DragomanError";
  /** The HTTP status; 0 where there was no response. */
  readonly status: number;
  /** The kind of error, for programs: the service's `error_type`, or `connection` or `timeout` without a response. */
  readonly code: string;
  /** By which the service's log names the request; empty where there was no response. */
  readonly requestId: string;
  /** The seconds after which to ask again, where the service says so. */
  readonly retryAfter: number | undefined;

  constructor(
    message: string,
    about: { status?: number; code?: string; requestId?: string; retryAfter?: number | undefined; cause?: unknown } =
      {},
  ) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause });
    this.status = about.status ?? 0;
    this.code = about.code ?? "connection";
    this.requestId = about.requestId ?? "";
    this.retryAfter = about.retryAfter;
  }
}

/** The error that a response is; of a proxy, which may answer something else than JSON, the beginning of what it says. */
export async function errorOf(response: Response): Promise<DragomanError> {
  const text = await response.text().catch(() => "");
  return errorOfBody(parse(text), response.status, {
    message: text.slice(0, 200) || response.statusText || `status ${response.status}`,
    requestId: response.headers.get("x-request-id") ?? "",
    retryAfter: seconds(response.headers.get("retry-after")),
  });
}

/** The error that a body describes. */
export function errorOfBody(
  body: Partial<ErrorBody>,
  status: number,
  otherwise: { message?: string; requestId?: string; retryAfter?: number | undefined } = {},
): DragomanError {
  return new DragomanError(body.message ?? otherwise.message ?? "the service gave no reason", {
    status,
    code: body.error_type ?? "http",
    requestId: body.request_id ?? otherwise.requestId ?? "",
    retryAfter: otherwise.retryAfter,
  });
}

function parse(text: string): Partial<ErrorBody> {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && !Array.isArray(body) ? body : {};
  } catch {
    return {};
  }
}

/** The seconds that a header Retry-After says, as a number or as a date. */
function seconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000);
}
