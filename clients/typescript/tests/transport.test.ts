/** Repeated, ended and late requests, and what is made of streams; without a service. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Dragoman, DragomanError } from "../src/index.ts";
import { batches, events, lines } from "../src/streams.ts";
import { collected } from "./collected.ts";

type Answer = Response | Error | "never";

/** A client whose requests are answered in turn, and the requests. */
function answering(...answers: Answer[]): { client: Dragoman; sent: Request[] } {
  const sent: Request[] = [];
  const send = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    sent.push(new Request(input, init));
    const answer = answers.shift() ?? new Error("no more answers");
    if (answer instanceof Response) return Promise.resolve(answer);
    if (answer !== "never") return Promise.reject(new TypeError(answer.message));
    return new Promise((_, reject) => init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason)));
  };
  return { client: new Dragoman({ url: "http://dragoman.test/prefix/", key: "secret", fetch: send }), sent };
}

function refusal(status: number, retryAfter?: string): Response {
  const body = { message: `status ${status}`, error_type: "overloaded", request_id: "r1" };
  return Response.json(body, { status, headers: retryAfter === undefined ? {} : { "retry-after": retryAfter } });
}

const FOUND = () => Response.json({ hits: [] });

test("a request that changes nothing is sent again", async () => {
  const { client, sent } = answering(new Error("reset"), refusal(503, "0"), FOUND());
  assert.deepEqual(await client.search({ query: "a" }), { hits: [] });
  assert.equal(sent.length, 3);
  assert.equal(sent[2]!.url, "http://dragoman.test/prefix/v1/search");
  assert.equal(sent[2]!.headers.get("authorization"), "Bearer secret");
  assert.deepEqual(await sent[2]!.json(), { offsets: "utf16", query: "a" });
});

test("not for ever, nor where the service says to wait long", async () => {
  const busy = answering(refusal(429, "0"), refusal(429, "0"), refusal(429, "0"), FOUND());
  await assert.rejects(busy.client.search({ query: "a" }), { status: 429, requestId: "r1", retryAfter: 0 });
  assert.equal(busy.sent.length, 3);
  const long = answering(refusal(503, new Date(Date.now() + 3_600_000).toUTCString()), FOUND());
  await assert.rejects(long.client.search({ query: "a" }), { status: 503 });
  assert.equal(long.sent.length, 1);
  const once = answering(refusal(429, "0"), FOUND());
  await assert.rejects(once.client.search({ query: "a" }, { retries: 0 }), { status: 429 });
});

test("not where the service says that nothing changes, but where a proxy does not say", async () => {
  const missing = answering(refusal(503), FOUND());
  await assert.rejects(missing.client.search({ query: "a" }), { status: 503, code: "overloaded" });
  assert.equal(missing.sent.length, 1);
  const proxy = answering(new Response("<html>", { status: 503 }), FOUND());
  assert.deepEqual(await proxy.client.search({ query: "a" }), { hits: [] });
});

test("what may have been done is not sent again", async () => {
  for (const answer of [new Error("reset"), refusal(502), refusal(503), refusal(500)]) {
    const { client, sent } = answering(answer, FOUND());
    await assert.rejects(client.tables.upload("t", "a\tb\n", { source: "en", target: "de" }), DragomanError);
    assert.equal(sent.length, 1);
  }
  const { client, sent } = answering(refusal(429, "0"), FOUND());
  await client.tables.upload("t", "a\tb\n", { source: "en", target: "de" });
  assert.equal(sent.length, 2);
  assert.equal(new URL(sent[1]!.url).search, "?source=en&target=de");
});

test("a late answer, an ended request and a lost connection are told apart", async () => {
  await assert.rejects(answering("never").client.search({ query: "a" }, { timeout: 10 }), {
    code: "timeout",
    status: 0,
  });
  const controller = new AbortController();
  const ended = answering("never").client.search({ query: "a" }, { signal: controller.signal });
  controller.abort(new RangeError("enough"));
  await assert.rejects(ended, { name: "RangeError", message: "enough" });
  await assert.rejects(answering(new Error("refused")).client.search({ query: "a" }, { retries: 0 }), {
    code: "connection",
    message: /refused/,
  });
  const proxy = new Response("<html>Bad gateway", { status: 502 });
  await assert.rejects(answering(proxy).client.search({ query: "a" }, { retries: 0 }), {
    status: 502,
    code: "http",
    message: /Bad gateway/,
  });
});

test("an address leads where it says", async () => {
  const { client, sent } = answering(FOUND());
  await client.documents.delete("c", "a/b ?🌋");
  assert.equal(new URL(sent[0]!.url).pathname, "/prefix/v1/collections/c/documents/a%2Fb%20%3F%F0%9F%8C%8B");
  for (const id of ["", ".", ".."]) {
    await assert.rejects(async () => await client.documents.delete("c", id), RangeError);
  }
  assert.equal(sent.length, 1);
});

test("documents are sent in parts, with the generation of the part before", async () => {
  const imported = (generation: number, line: number) =>
    Response.json({ accepted: 1, replaced: 0, rejected: [{ line, id: null, reason: "x" }], generation });
  const { client, sent } = answering(imported(8, 1), imported(9, 1));
  const texts = ["🌋".repeat(600_000), "Asche 🌋".repeat(200_000)];
  const added = await client.documents.add("c", texts.map((text, id) => ({ id, text })), { ifMatch: 7 });
  assert.deepEqual([added.accepted, added.generation, added.rejected.map(({ line }) => line)], [2, 9, [1, 2]]);
  assert.deepEqual(sent.map((request) => request.headers.get("if-match")), ['"7"', '"8"']);
  assert.deepEqual(await sent[1]!.json(), { id: 1, text: texts[1] });
});

test("an answer that ends early is an error, as is one that says so", async () => {
  const streamed = (text: string) => answering(new Response(text)).client.reasonStream({ question: "a" });
  await assert.rejects(collected(streamed('event: text\ndata: {"text": "a"}\n\n')), { code: "connection" });
  const failed = 'event: error\ndata: {"message": "no", "error_type": "unavailable", "request_id": "r"}\n\n';
  await assert.rejects(collected(streamed(failed)), { code: "unavailable", message: "no", requestId: "r" });
});

test("a broken line of an answer is an error that names it", async () => {
  const whole = '{"id": "a", "text": "x"}\n';
  const exported = answering(new Response(`${whole}\n${whole}{"id": "b", "te`)).client.documents.export("c");
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const document of exported) seen.push(document);
  })();
  await assert.rejects(reading, { name: "DragomanError", code: "http", message: /^line 4 .*: \{"id": "b", "te$/ });
  assert.equal(seen.length, 2);
  const event = answering(new Response("event: text\ndata: {\n\n")).client.reasonStream({ question: "a" });
  await assert.rejects(collected(event), { name: "DragomanError", code: "http", message: /event "text"/ });
});

test("lines and events come out of any parts", async () => {
  const text = 'event: a\r\ndata: 1\n\n\ndata: "🌋𠮷"';
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size <= bytes.length; size++) {
    const parts = async function* () {
      for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
    };
    assert.deepEqual(await collected(lines(parts())), ["event: a\r", "data: 1", "", "", 'data: "🌋𠮷"']);
    assert.deepEqual(await collected(events(parts())), [
      { name: "a", content: 1 },
      { name: "message", content: "🌋𠮷" },
    ]);
  }
  const three = await collected(batches([{ a: 1 }, { a: 2 }, { a: 3 }], 16));
  assert.deepEqual(three, [{ body: '{"a":1}\n{"a":2}\n', count: 2 }, { body: '{"a":3}\n', count: 1 }]);
});
