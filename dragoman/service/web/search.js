/* The search view: its form, with the collections and languages to choose from, and what a search found. */

import { fetchJson, showError } from "./api.js";
import {
  byId,
  createBadge,
  createButton,
  createElement,
  createLanguageBadge,
  createMuted,
  createNotice,
  createTable,
  formatCount,
  formatNumber,
  languageName,
} from "./elements.js";
import { createLegend, createText, hideEvidence } from "./evidence.js";

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
    const { collections } = await fetchJson("/v1/collections");
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
  const { model } = await fetchJson("/v1/translate").catch(() => ({ model: null }));
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

/* ---- searches ---- */

/** Searches are numbered: the answer to one that is no longer the latest is dropped. */
let latestSearch = 0;

function collectionChoice() {
  const boxes = [...byId("collections").querySelectorAll("input")];
  return { all: boxes.length, chosen: boxes.filter((box) => box.checked).map((box) => box.value) };
}

function searchRequest({ all, chosen }) {
  const request = {
    query: byId("query").value,
    top_k: Number(byId("top-k").value),
    method: byId("method").value || undefined,
    query_language: byId("query-language").value || undefined,
    gloss: byId("gloss").checked || undefined,
    translate_snippets: byId("translate-snippets").checked || undefined,
    collections: chosen.length > 0 && chosen.length < all ? chosen : undefined,
  };
  return JSON.stringify(request); // which leaves out what is undefined
}

export async function search() {
  const choice = collectionChoice();
  hideEvidence();
  byId("search-error").replaceChildren();
  if (choice.all > 0 && choice.chosen.length === 0) {
    showError(byId("search-error"), new Error("Choose at least one collection."));
    return;
  }
  const number = ++latestSearch;
  byId("search-status").textContent = "Searching…";
  byId("search-button").disabled = true;
  try {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetchJson("/v1/search", { method: "POST", headers, body: searchRequest(choice) });
    if (number === latestSearch) showAnswer(answer);
  } catch (error) {
    if (number === latestSearch) showSearchError(error);
  } finally {
    if (number === latestSearch) byId("search-button").disabled = false;
  }
}

function showSearchError(error) {
  byId("search-status").textContent = "";
  byId("search-notes").replaceChildren();
  byId("hits").replaceChildren();
  showError(byId("search-error"), error);
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
function createNotes({ suggestions, degraded, truncated, translation, hits }) {
  const notes = suggestions.map(createSuggestion);
  notes.push(...degraded.map(({ stage, reason }) => createNotice(`Warning, ${stage}: `, reason)));
  if (truncated.length > 0) notes.push(createNotice("Truncated: ", truncated.join(", ")));
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

function createHit(hit, queryLanguage) {
  const text = createElement(
    "p",
    { className: "text", dir: "auto", lang: hit.language },
    ...createText(hit, "text", hit.snippet, hit.snippet_start, queryLanguage),
  );
  return createElement(
    "article",
    { className: "card hit" },
    createTitle(hit, queryLanguage),
    createHitBadges(hit),
    text,
    createSnippetTranslation(hit, queryLanguage),
    createButton(
      "Whole document",
      { className: "link" },
      (button) => showWholeDocument(hit, queryLanguage, text, button),
    ),
  );
}

function createTitle(hit, queryLanguage) {
  if (!hit.title) return createElement("h3", {}, hit.id);
  const words = createText(hit, "title", hit.title, 0, queryLanguage);
  return createElement("h3", { dir: "auto", lang: hit.language }, ...words);
}

function createHitBadges({ language, collection, id, score, scores }) {
  return createElement(
    "div",
    { className: "badges" },
    createLanguageBadge(languageName(language)),
    createBadge(collection),
    createBadge(id),
    createMuted(`score ${formatNumber(score, 3)}`),
    scores.rerank === null ? null : createBadge(`rerank ${formatNumber(scores.rerank, 3)}`),
  );
}

function createSnippetTranslation(hit, queryLanguage) {
  if (!hit.snippet_translation) return null;
  const properties = { className: "text translation", dir: "auto", lang: queryLanguage };
  return createElement("p", properties, hit.snippet_translation);
}

async function showWholeDocument(hit, queryLanguage, text, button) {
  const path = `/v1/collections/${encodeURIComponent(hit.collection)}/documents/${encodeURIComponent(hit.id)}`;
  button.disabled = true;
  try {
    const found = await fetchJson(path);
    hideEvidence(); // its word is about to go
    text.replaceChildren(...createText(hit, "text", found.text, 0, queryLanguage));
    text.tabIndex = -1; // takes the focus from the button, which goes too
    text.focus();
    button.remove();
  } catch (error) {
    showError(byId("search-error"), error);
    button.disabled = false;
  }
}
