/** Lines and events out of what is streamed, and lines into parts that can be sent. */

import { DragomanError } from "./errors.ts";

export type Several<T> = Iterable<T> | AsyncIterable<T>;

/** The lines of a text that comes in parts, also empty ones, but for one at the end. */
export async function* lines(parts: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let pending: string[] = [];
  for await (const part of parts) {
    const [first = "", ...others] = decoder.decode(part, { stream: true }).split("\n");
    pending.push(first);
    for (const other of others) {
      yield pending.join("");
      pending = [other];
    }
  }
  const last = pending.join("") + decoder.decode();
  if (last) yield last;
}

/** The JSON of each line that is not empty; empty ones count in the numbers of lines that errors name. Where a proxy ends the answer early, the last line is a part of one. */
export async function* parsedLines<T>(parts: AsyncIterable<Uint8Array>): AsyncGenerator<T, void, undefined> {
  let number = 0;
  for await (const line of lines(parts)) {
    number += 1;
    if (line.trim()) yield parsed(line, `line ${number}`) as T;
  }
}

function parsed(json: string, what: string): unknown {
  try {
    return JSON.parse(json);
  } catch (fault) {
    throw new DragomanError(`${what} of the answer is no JSON: ${json.slice(0, 100)}`, { code: "http", cause: fault });
  }
}

export interface ServerEvent {
  name: string;
  content: unknown;
}

/** Server-sent events, each with its name and the JSON of its data in one line, as the service writes them. */
export async function* events(parts: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  let name = "message";
  for await (const line of lines(parts)) {
    if (line.startsWith("event:")) name = line.slice("event:".length).trim();
    else if (line.startsWith("data:")) {
      yield { name, content: parsed(line.slice("data:".length), `an event ${JSON.stringify(name)}`) };
      name = "message";
    }
  }
}

export interface Batch {
  body: string;
  /** How many lines it has. */
  count: number;
}

/** Objects as NDJSON in parts of about a size, so that any number of them can be sent from a loop that makes them. */
export async function* batches(objects: Several<object>, characters: number): AsyncGenerator<Batch, void, undefined> {
  let written: string[] = [];
  let length = 0;
  for await (const object of objects) {
    const line = JSON.stringify(object) + "\n";
    if (length && length + line.length > characters) {
      yield { body: written.join(""), count: written.length };
      written = [];
      length = 0;
    }
    written.push(line);
    length += line.length;
  }
  if (length) yield { body: written.join(""), count: written.length };
}

/** Objects as one text of NDJSON. */
export async function ndjson(objects: Several<object>): Promise<string> {
  let body = "";
  for await (const batch of batches(objects, Infinity)) body = batch.body;
  return body;
}
