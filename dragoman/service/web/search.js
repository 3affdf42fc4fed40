/* The search view: its form, with the collections and languages to choose from, and what a search found. */

import { fetchJson, showError } from "./api.js";
import {
  byId,
  createBadge,
  createButton,
  createElement,
  createMuted,
  createNotice,
  createTable,
  formatCount,
  formatNumber,
  languageName,
} from "./elements.js";
import { createLegend, hideEvidence } from "./evidence.js";
import { createFound, createHit, createWarnings } from "./hits.js";

const EXAMPLE_QUERIES = [
  "volcano eruption and ash",
  "bees killed by pesticides",
  "harbour workers on strike",
  "melting glaciers",
];

/* ---- collections and languages ---- */

export async function loadCollections() {
  const container = byId("collections");
  const legend = container.querySelector("legend");
  try {
    const { collections } = await fetchJson("v1/collections");
    const boxes = collections.map(createCollectionBox);
    container.replaceChildren(legend, ...(boxes.length > 0 ? boxes : [createMuted("There are none yet.")]));
    addLanguages(collections.map(({ language }) => language));
    if (collections.some(({ name }) => name.startsWith("demo_"))) showExamples();
  } catch (error) {
    container.replaceChildren(legend);
    showError(byId("search-error"), error);
  }
}

/** Offer translation only where the service has a translator. A failure is told by the collections already. */
export async function offerTranslation() {
  const { model } = await fetchJson("v1/translate").catch(() => ({ model: null }));
  byId("translation").classList.toggle("hidden", model === null);
}

/** How far a collection's embeddings are, while they are being made. */
function describeEmbeddings(embeddings) {
  if (embeddings === null || embeddings.state === "complete") return "";
  return `, ${formatNumber(embeddings.embedded)} searchable by meaning`;
}

function createCollectionBox({ name, language, documents, embeddings }) {
  return createElement(
    "label",
    {},
    createElement("input", { type: "checkbox", value: name, checked: true }),
    `${name} (${languageName(language)}, ${formatNumber(documents)}${describeEmbeddings(embeddings)})`,
  );
}

/** Let the query be said to be in these languages; English can always be chosen. */
export function addLanguages(codes) {
  const select = byId("query-language");
  const known = new Set([...select.options].map((option) => option.value));
  const added = [...new Set(["en", ...codes])]
    .filter((code) => !known.has(code))
    .sort((one, other) => languageName(one).localeCompare(languageName(other)));
  select.append(...added.map((code) => createElement("option", { value: code }, languageName(code))));
}

export function searchFor(query) {
  byId("query").value = query;
  search();
}

/** Queries that the demo's documents answer. */
function showExamples() {
  const container = byId("examples");
  if (!container.classList.contains("hidden")) return; // the collections were loaded again, with another key
  container.classList.remove("hidden");
  for (const query of EXAMPLE_QUERIES) {
    container.append(createButton(query, { className: "link" }, () => searchFor(query)), " ");
  }
}

/* ---- requests of the form ---- */

/** Requests are numbered: the answer to one that is no longer the latest is dropped. */
let latestRequest = 0;
let sendAgain = () => {};

function collectionChoice() {
  const boxes = [...byId("collections").querySelectorAll("input")];
  return { all: boxes.length, chosen: boxes.filter((box) => box.checked).map((box) => box.value) };
}

/** The names of the chosen collections, undefined for all of them; null where none is chosen, which is shown. */
export function chosenCollections() {
  const { all, chosen } = collectionChoice();
  if (all > 0 && chosen.length === 0) {
    hideEvidence();
    showError(byId("search-error"), new Error("Choose at least one collection."));
    return null;
  }
  return chosen.length > 0 && chosen.length < all ? chosen : undefined;
}

function setBusy(busy) {
  byId("search-button").disabled = busy;
  byId("ask-button").disabled = busy;
  byId("judge-button").disabled = busy;
}

function clearResults() {
  hideEvidence(); // what it is about goes
  byId("search-status").textContent = "";
  for (const id of ["search-error", "search-notes", "answers", "hits"]) byId(id).replaceChildren();
}

/**
 * Send what is in the form; `show` gets the answer if no later request was sent meanwhile.
 * What is undefined in the request is left out.
 */
export async function send({ path, request, status, show, again }) {
  const number = ++latestRequest;
  sendAgain = again;
  hideEvidence();
  byId("search-error").replaceChildren();
  byId("search-status").textContent = status;
  setBusy(true);
  try {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetchJson(path, { method: "POST", headers, body: JSON.stringify(request) });
    if (number !== latestRequest) return;
    clearResults();
    show(answer);
  } catch (error) {
    if (number !== latestRequest) return;
    clearResults();
    showError(byId("search-error"), error);
  } finally {
    if (number === latestRequest) setBusy(false);
  }
}

/** Send the latest request again, with what the form says now, if there is something shown of it. */
export function sendLatestAgain() {
  if (byId("hits").childElementCount + byId("answers").childElementCount > 0) sendAgain();
}

/* ---- searches ---- */

export function search() {
  const collections = chosenCollections();
  if (collections === null) return;
  const request = {
    query: byId("query").value,
    top_k: Number(byId("top-k").value),
    method: byId("method").value || undefined,
    query_language: byId("query-language").value || undefined,
    gloss: byId("gloss").checked || undefined,
    translate_snippets: byId("translate-snippets").checked || undefined,
    collections,
  };
  send({ path: "v1/search", request, status: "Searching…", show: showAnswer, again: search });
}

function showAnswer(answer) {
  byId("search-status").textContent = describeAnswer(answer);
  byId("search-notes").replaceChildren(...createNotes(answer));
  byId("hits").replaceChildren(...answer.hits.map((hit) => createHit(hit, answer.query.language)));
}

function describeAnswer({ query, method, hits, timings_ms: timings }) {
  const time = (name) => formatNumber(timings[name], 1);
  const stages = `translate ${time("translate")}, first stage ${time("first_stage")}, rerank ${time("rerank")}`;
  const language = `${query.detected ? "detected as" : "in"} ${languageName(query.language)}`;
  return `${formatCount(hits.length, "document")} in ${time("total")} ms (${stages}) · ${method} · query ${language}`;
}

/** What there is to know about an answer before its hits. */
function createNotes({ suggestions, degraded, truncated, translation, hits, found }) {
  const notes = [
    ...createFound(found, hits),
    ...suggestions.map(createSuggestion),
    ...createWarnings(degraded, truncated),
  ];
  notes.push(...Object.entries(translation.oov).map(createUntranslated));
  if (translation.terms.length > 0) notes.push(createTranslations(translation));
  const legend = createLegend(hits);
  if (legend !== null) notes.push(legend);
  return notes;
}

function createSuggestion({ query_language: language, reason }) {
  const button = createButton(`Search as ${languageName(language)}`, {}, () => {
    byId("query-language").value = language;
    search();
  });
  const notice = createNotice("Other reading: ", `${reason} `);
  notice.append(button);
  return notice;
}

function createUntranslated([language, words]) {
  return createElement(
    "div",
    { className: "badges oov" },
    createElement("strong", {}, `No translation into ${languageName(language)}, searched as written:`),
    ...words.map((word) => createBadge(word, { dir: "auto" })),
  );
}

function createTranslations({ terms, tables }) {
  const used = tables.map(({ name, version }) => `${name} (version ${version})`).join(", ") || "none";
  return createElement(
    "details",
    {},
    createElement("summary", {}, "How the query was translated"),
    createElement("p", { className: "muted" }, `Tables: ${used}`),
    createTable(null, terms.map(createTermRow)),
  );
}

function groupByLanguage(translations) {
  const groups = new Map();
  for (const translation of translations) {
    if (!groups.has(translation.language)) groups.set(translation.language, []);
    groups.get(translation.language).push(translation);
  }
  return groups;
}

function createTermRow({ term, translations }) {
  const lines = [...groupByLanguage(translations)].map(([language, group]) => {
    const words = group.map((translation) => `${translation.term} ${formatNumber(translation.probability, 2)}`);
    return createElement(
      "div",
      {},
      createMuted(`${languageName(language)}: `),
      createElement("bdi", { lang: language }, words.join(", ")),
    );
  });
  return createElement(
    "tr",
    {},
    createElement("th", { scope: "row", dir: "auto" }, term),
    createElement("td", {}, ...lines),
  );
}
