/**
 * The client of Dragoman, a search across languages, for browsers, Node, Deno and Bun.
 *
 * @module
 */

export { Dragoman, type ReasonEvent } from "./client.ts";
export { type Aliases, type Collections } from "./collections.ts";
export { type Documents, type Filter, type ListOptions, type NewDocument } from "./documents.ts";
export { DragomanError } from "./errors.ts";
export { type MarkedPart, markedSnippet, markedTitle } from "./highlights.ts";
export { type JobLine, type JobOptions, type JobResult, type Jobs, type JobTypes } from "./jobs.ts";
export { type Several } from "./streams.ts";
export { type Tables } from "./tables.ts";
export { type CallOptions, type ChangeOptions, type ClientOptions, type Content } from "./transport.ts";
export type * from "./types.ts";
