/** The client against a service with stand-ins for its models, at the address in DRAGOMAN_URL. */

import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";

import { Dragoman, DragomanError, type Hit, markedSnippet, markedTitle, type NewDocument } from "../src/index.ts";
import { collected } from "./collected.ts";

const client = new Dragoman({ url: `${process.env.DRAGOMAN_URL}/`, timeout: 30_000 });
const ENTRIES = [
  { source: "volcano", target: "Vulkan", probability: 0.9 },
  { source: "ash", target: "Asche", probability: 0.7 },
];
const TEXTS = [
  { id: "vulkan", title: "🌋🌋 Asche über Island", text: "🐝𠮷 Der 🌋 Vulkan spuckte Asche. 👩‍🚒 Die Asche stieg. 🌋" },
  { id: "haus", text: "Das Haus am Hafen 🏠.", metadata: { year: 2020 } },
];

function* documents(count: number): Generator<NewDocument> {
  yield* TEXTS;
  for (let number = 0; number < count; number++) {
    yield { id: `${number}`, text: `Satz ${number} 🐝`, metadata: { year: number } };
  }
}

/** A collection with documents and a table of its own, which is gone after the test. */
async function withCollection(name: string, use: (name: string) => Promise<void>): Promise<void> {
  await client.collections.create({ name, language: "de" });
  try {
    await client.documents.add(name, documents(8));
    await client.tables.upload(name, ENTRIES, { source: "en", target: "de", activate: true });
    await use(name);
  } finally {
    await client.tables.deactivate(name);
    await client.collections.delete(name);
  }
}

const refused = (status: number, code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof DragomanError);
  assert.deepEqual([error.status, error.code], [status, code]);
  assert.match(error.message, message);
  assert.ok(error.requestId);
  return true;
};

test("highlights slice what they name", async () => {
  await withCollection("ts_search", async (name) => {
    const request = { query: "volcano ash 🌋", query_language: "en", collections: [name], gloss: true };
    const answer = await client.search({ ...request, explain: { attention: true } });
    assert.equal(answer.hits[0]?.id, "vulkan");
    for (const hit of answer.hits) check(hit);
    const [hit] = (await client.search({ ...request, offsets: "codepoint" })).hits;
    const moved = answer.hits[0]!.highlights.filter((one, place) => one.start > hit!.highlights[place]!.start);
    assert.ok(moved.length >= 3);
    const document = await client.documents.get(name, "vulkan");
    const read = await client.read({ collection: name, id: "vulkan", reader_language: "en", query: "volcano" });
    assert.deepEqual(read.document, document);
    for (const word of read.highlights) assert.equal(document.text.slice(word.start, word.end), word.document_term);
    const pages = await collected(client.searchAll({ ...request, query: "Satz", query_language: "de", top_k: 3 }));
    assert.deepEqual(pages.map((page) => page.hits.length), [3, 3, 2]);
    const event = { query_id: answer.request_id, object_id: "vulkan", action_name: "click" };
    assert.ok(await client.event(event));
  });
});

function check(hit: Hit): void {
  const { text } = TEXTS.find((document) => document.id === hit.id)!;
  assert.equal(text.slice(hit.snippet_start, hit.snippet_start + hit.snippet.length), hit.snippet);
  for (const highlight of hit.highlights) {
    const field = highlight.field === "title" ? hit.title! : text;
    assert.equal(field.slice(highlight.start, highlight.end), highlight.document_term);
  }
  for (const word of hit.attention!.document_words) {
    assert.equal((word.field === "title" ? hit.title! : text).slice(word.start, word.end), word.text);
  }
  const [snippet, title] = [markedSnippet(hit), markedTitle(hit)];
  assert.equal(snippet.map((part) => part.text).join(""), hit.snippet);
  assert.equal(title.map((part) => part.text).join(""), hit.title ?? "");
  const marked = [...title, ...snippet].filter((part) => part.highlights.length);
  assert.deepEqual(
    new Set(marked.map((part) => part.text)),
    new Set(hit.highlights.map((highlight) => highlight.document_term)),
  );
}

test("documents are added, listed, changed, exported and deleted", async () => {
  await withCollection("ts_documents", async (name) => {
    async function* late() {
      yield* documents(300);
      yield { id: "bad" } as NewDocument;
    }
    const added = await client.documents.add(name, late());
    assert.deepEqual([added.accepted, added.replaced], [302, 10]);
    assert.deepEqual(added.rejected.map(({ line, id }) => [line, id]), [[303, "bad"]]);
    const listed = await collected(client.documents.list(name, { filter: { year: { $lt: 250 } }, fields: ["id"] }));
    assert.equal(listed.length, 250);
    assert.equal((await client.documents.page(name, { limit: 2 })).total, 302);
    const patched = await client.documents.patch(name, "haus", { metadata: { year: null, place: "Kiel" } });
    assert.deepEqual(patched.metadata, { place: "Kiel" });
    const stale = client.documents.patch(name, "haus", { text: "x" }, { ifMatch: patched.generation - 1 });
    await assert.rejects(stale, refused(412, "precondition_failed", /generation/));
    const exported = await collected(client.documents.export(name, { filter: { year: { $gte: 290 } } }));
    assert.deepEqual(exported.at(-1), { id: "299", text: "Satz 299 🐝", language: "de", metadata: { year: 299 } });
    assert.equal((await client.documents.add(name, exported)).replaced, 10);
    for await (const first of client.documents.export(name)) {
      assert.equal(first.id, "vulkan");
      break; // which ends the connection
    }
    assert.equal((await client.documents.deleteWhere(name, { year: { $gte: 0 } }, { dryRun: true })).deleted, 300);
    assert.equal((await client.documents.deleteWhere(name, { year: { $gte: 0 } })).deleted, 300);
    await client.documents.delete(name, "haus");
    assert.deepEqual((await collected(client.documents.list(name))).map((document) => document.id), ["vulkan"]);
    await client.documents.upload(name, "id,text\n1,Rauch\n", { format: "csv" });
    assert.equal((await client.collections.stats(name)).documents, 2);
    await client.aliases.set("ts_alias", name);
    assert.equal((await client.documents.get("ts_alias", "1")).text, "Rauch");
    assert.deepEqual(await client.aliases.list(), [await client.aliases.get("ts_alias")]);
    await client.aliases.delete("ts_alias");
    assert.equal((await client.collections.truncate(name)).documents, 0);
    assert.ok((await client.collections.list()).some((collection) => collection.name === name));
    assert.equal((await client.collections.change(name, { description: "x" })).description, "x");
  });
});

test("tables are uploaded, changed and looked up", async () => {
  const parameters = { source: "en", target: "de" };
  const uploaded = await client.tables.upload("ts_table", "volcano\tVulkan\nash\tAsche\nash\tEsche\n", parameters);
  assert.deepEqual([uploaded.entries, uploaded.active, uploaded.detected.format], [3, false, "tsv"]);
  assert.equal((await client.tables.activate("ts_table", uploaded.version)).active_version, uploaded.version);
  const patched = await client.tables.patch("ts_table", { add: [{ source: "bee", target: "Biene" }] });
  assert.equal(patched.version, 2);
  assert.deepEqual((await collected(client.tables.terms("ts_table"))).map((term) => term.term), [
    "ash",
    "bee",
    "volcano",
  ]);
  const looked = await client.tables.lookUp("ts_table", "ash", { version: 1 });
  assert.deepEqual(looked.translations.map(({ term }) => term).sort(), ["Asche", "Esche"]);
  const found = await client.tables.lookUpInAll({ term: "bee", source: "en", target: "de" });
  assert.equal(found.tables.find((table) => table.name === "ts_table")?.translations[0]?.term, "Biene");
  assert.equal((await client.tables.compare("ts_table", 1, 2)).added.length, 1);
  const parts = await collected(client.tables.export("ts_table", 2));
  assert.match(await new Blob(parts as BlobPart[]).text(), /bee\tBiene/);
  assert.ok((await client.suggest("vol", { language: "en" })).completions.some(({ text }) => text === "volcano"));
  assert.equal((await client.tables.deactivate("ts_table")).active_version, null);
  await client.tables.delete("ts_table", 2);
  assert.ok((await client.tables.list()).some((table) => table.name === "ts_table"));
  assert.equal((await client.tables.get("ts_table")).versions.length, 1);
});

test("texts are ranked, encoded, translated and checked", async () => {
  const ranked = await client.rerank({ query: "Vulkan", documents: ["Haus", "Vulkan"], query_language: "de" });
  assert.deepEqual(ranked.results.map((result) => result.index), [1, 0]);
  const encoded = await client.embeddings({ input: ["Vulkan", "Haus"] });
  assert.equal(encoded.data.length, 2);
  const text = "🌋 ein Haus";
  const translated = await client.translate({ text, source: "de", target: "en" });
  assert.deepEqual(translated.sentences[0]!.map(({ source }) => text.slice(source.start, source.end)), [text]);
  const checked = await client.checkTranslation({ text, translation: "🌋🌋 a house", source: "de", target: "en" });
  assert.deepEqual(checked.sentences.map(({ translation }) => translation), [{ start: 0, end: 12 }]);
});

test("jobs are begun, waited for and read", async () => {
  await withCollection("ts_jobs", async (name) => {
    const lines = ["volcano", "ash"].map((query) => ({
      custom_id: query,
      query,
      query_language: "en",
      collections: [name],
    }));
    const job = await client.jobs.create("search", lines, { tag: "mine" });
    const ended = await client.jobs.wait(job.id, { interval: 50, within: 30_000 });
    assert.deepEqual([ended.status, ended.counts.completed, ended.tag], ["completed", 2, "mine"]);
    const [first] = await collected(client.jobs.results<"search">(job.id));
    const [hit] = first!.response.hits;
    const highlight = hit!.highlights.find(({ field }) => field === "text")!;
    assert.equal(TEXTS[0]!.text.slice(highlight.start, highlight.end), highlight.document_term);
    assert.deepEqual(await collected(client.jobs.errors(job.id)), []);
    assert.ok((await collected(client.jobs.list())).some(({ id }) => id === job.id));
    await client.jobs.delete(job.id);
  });
});

test("refusals are errors with status, code, message and request id", async () => {
  await assert.rejects(client.collections.get("ts_none"), refused(404, "not_found", /ts_none/));
  await assert.rejects(client.search({ query: " " }), refused(422, "validation", /query/));
  await assert.rejects(
    client.qa({ question: "Wo?", context: "Hier." }),
    (error: unknown) =>
      refused(503, "unavailable", /reader/)(error) && (error as DragomanError).retryAfter === undefined,
  );
  await assert.rejects(collected(client.documents.export("ts_none")), refused(404, "not_found", /ts_none/));
});
