/* The web page: searches, and the translation tables that they use, through the HTTP API of the service it came from. */

const EXAMPLE_QUERIES = [
  "volcano eruption and ash",
  "bees killed by pesticides",
  "harbour workers on strike",
  "melting glaciers",
];
const STORED_KEY = "dragoman-api-key";
const CHECKSUM_DIGITS = 12;
const EVIDENCE_GAP = 4;
const EVIDENCE_MARGIN = 8;

/* ---- words and numbers ---- */

const languageNames = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

function languageName(code) {
  try {
    return languageNames.of(code);
  } catch {
    return code; // not the shape of a language code, which DisplayNames throws at
  }
}

function formatNumber(value, digits = 0) {
  return Number(value).toLocaleString("en", { maximumFractionDigits: digits });
}

function formatCount(number, singular, plural = `${singular}s`) {
  return `${formatNumber(number)} ${number === 1 ? singular : plural}`;
}

/* ---- elements ---- */

/** @returns {any} the element; its kind is known where it is used. */
function byId(id) {
  return document.getElementById(id);
}

/**
 * A new element with properties (or attributes) and children; null children are left out.
 * Strings become text nodes, so that nothing in a document or a table is ever read as markup.
 * @returns {any}
 */
function createElement(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function createBadge(text, properties = {}) {
  return createElement("span", { className: "badge", ...properties }, text);
}

function createLanguageBadge(text) {
  return createBadge(text, { className: "badge language" });
}

function createMuted(text) {
  return createElement("span", { className: "muted" }, text);
}

function createNotice(title, text) {
  return createElement("div", { className: "notice" }, createElement("strong", {}, title), text);
}

function createButton(text, properties, onClick) {
  const button = createElement("button", { type: "button", ...properties }, text);
  button.addEventListener("click", () => onClick(button));
  return button;
}

function createTable(head, rows) {
  const parts = [createElement("tbody", {}, ...rows)];
  if (head !== null) parts.unshift(createElement("thead", {}, createElement("tr", {}, ...head)));
  // A wide table scrolls in a box of its own: the page itself never scrolls sideways.
  return createElement("div", { className: "scroll" }, createElement("table", {}, ...parts));
}

/* ---- requests ---- */

/** What the service (or the lack of one) said instead of an answer; status 0 where there was no response. */
class ApiError extends Error {
  constructor(status, body) {
    super(body.message || "the service gave no reason");
    this.status = status;
    this.type = body.error_type || "";
    this.requestId = body.request_id || "";
  }
}

async function sendRequest(path, options) {
  const headers = new Headers(options.headers);
  const key = byId("api-key").value;
  if (key) headers.set("Authorization", `Bearer ${key}`);
  try {
    return await fetch(path, { ...options, headers });
  } catch {
    throw new ApiError(0, { message: "the service cannot be reached" });
  }
}

/** A proxy in between may answer with something that is no JSON: its beginning is the message then. */
function parseBody(text) {
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    return { message: text.slice(0, 300) };
  }
}

/** The JSON that the service answers with. Throws an ApiError. */
async function fetchJson(path, options = {}) {
  const response = await sendRequest(path, options);
  const body = parseBody(await response.text());
  if (!response.ok) throw new ApiError(response.status, body);
  return body;
}

function showError(container, error) {
  const title = error instanceof ApiError && error.status ? `${error.status} ${error.type}: ` : "";
  const notice = createNotice(title, error.message);
  notice.classList.add("error");
  if (error instanceof ApiError && error.requestId) {
    notice.append(createElement("div", { className: "muted" }, `request ${error.requestId}`));
  }
  container.replaceChildren(notice);
}

/* ---- why a word matched ---- */

/** The marked word whose evidence is shown, if any. */
let explainedWord = null;

function evidenceRows({ highlight, language }) {
  const origin = highlight.table === null
    ? "the same word on both sides"
    : `${highlight.table}, version ${highlight.version}`;
  return [
    ["query term", highlight.query_term],
    [`word (${languageName(language)})`, highlight.document_term],
    ["probability", formatNumber(highlight.probability, 3)],
    ["table", origin],
  ];
}

/** Put the box under the word, or over it where there is no room below, and never beyond the window's edges. */
function placeEvidence(box, word) {
  const { left, top, bottom } = word.getClientRects()[0];
  const room = box.offsetHeight + EVIDENCE_MARGIN;
  const rightmost = document.documentElement.clientWidth - box.offsetWidth - EVIDENCE_MARGIN;
  const fitsBelow = bottom + room < globalThis.innerHeight || top < room;
  const x = Math.max(EVIDENCE_MARGIN, Math.min(left, rightmost));
  const y = fitsBelow ? bottom + EVIDENCE_GAP : top - box.offsetHeight - EVIDENCE_GAP;
  box.style.left = `${x + globalThis.scrollX}px`;
  box.style.top = `${y + globalThis.scrollY}px`;
}

function showEvidence(word, evidence) {
  const box = byId("evidence");
  const entries = evidenceRows(evidence).flatMap(([name, value]) => [
    createElement("dt", {}, name),
    createElement("dd", {}, createElement("bdi", {}, String(value))),
  ]);
  box.replaceChildren(createElement("dl", {}, ...entries));
  box.classList.remove("hidden"); // before it is placed: what is hidden has no size
  placeEvidence(box, word);
  word.setAttribute("aria-describedby", "evidence");
  explainedWord = word;
}

function hideEvidence() {
  explainedWord?.removeAttribute("aria-describedby");
  explainedWord = null;
  byId("evidence").classList.add("hidden");
}

/** A word of a document that matched: pointing at it, tapping it or moving the focus to it shows why. */
function createMark(text, evidence) {
  const word = createElement("mark", { tabIndex: 0 }, text);
  for (const event of ["mouseenter", "focus", "click"]) {
    word.addEventListener(event, () => showEvidence(word, evidence));
  }
  for (const event of ["mouseleave", "blur"]) word.addEventListener(event, hideEvidence);
  return word;
}

/** The highlights that lie in a text, in its order; of those that begin together the most probable comes first. */
function highlightsInside(highlights, start, end) {
  return highlights
    .filter((highlight) => highlight.start >= start && highlight.end <= end)
    .sort((one, other) => one.start - other.start || other.probability - one.probability);
}

/**
 * The children of an element that shows a text with its matching words marked.
 * Highlights count code points of the whole document, not UTF-16 units; `offset` is where this text begins in it.
 */
function markWords(text, highlights, offset, language) {
  const codePoints = Array.from(text);
  const slice = (start, end) => codePoints.slice(start, end).join("");
  const parts = [];
  let position = 0;
  for (const highlight of highlightsInside(highlights, offset, offset + codePoints.length)) {
    const start = highlight.start - offset;
    const end = highlight.end - offset;
    if (start < position) continue; // overlaps the one before
    parts.push(slice(position, start), createMark(slice(start, end), { highlight, language }));
    position = end;
  }
  parts.push(slice(position));
  return parts;
}

/* ---- search ---- */

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
    method: byId("method").value,
    query_language: byId("query-language").value || undefined,
    translate_snippets: byId("translate-snippets").checked || undefined,
    collections: chosen.length > 0 && chosen.length < all ? chosen : undefined,
  };
  return JSON.stringify(request); // which leaves out what is undefined
}

async function search() {
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

function describeAnswer({ query, hits, timings_ms: timings }) {
  const time = (name) => formatNumber(timings[name], 1);
  const stages = `translate ${time("translate")}, first stage ${time("first_stage")}, rerank ${time("rerank")}`;
  const language = `${query.detected ? "detected as" : "in"} ${languageName(query.language)}`;
  return `${formatCount(hits.length, "document")} in ${time("total")} ms (${stages}) · query ${language}`;
}

/** What there is to know about an answer before its hits. */
function createNotes({ degraded, truncated, translation }) {
  const notes = degraded.map(({ stage, reason }) => createNotice(`Warning, ${stage}: `, reason));
  if (truncated.length > 0) notes.push(createNotice("Truncated: ", truncated.join(", ")));
  if (translation.oov.length > 0) notes.push(createUntranslated(translation.oov));
  if (translation.terms.length > 0) notes.push(createTranslations(translation));
  return notes;
}

function createUntranslated(words) {
  return createElement(
    "div",
    { className: "badges", id: "oov" },
    createElement("strong", {}, "No translation, searched as written:"),
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
    ...markWords(hit.snippet, hit.highlights, hit.snippet_start, hit.language),
  );
  return createElement(
    "article",
    { className: "card hit" },
    createElement("h3", { dir: "auto", lang: hit.language }, hit.title || hit.id),
    createHitBadges(hit),
    text,
    createSnippetTranslation(hit, queryLanguage),
    createButton("Whole document", { className: "link" }, (button) => showWholeDocument(hit, text, button)),
  );
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

async function showWholeDocument(hit, text, button) {
  const path = `/v1/collections/${encodeURIComponent(hit.collection)}/documents/${encodeURIComponent(hit.id)}`;
  button.disabled = true;
  try {
    const found = await fetchJson(path);
    hideEvidence(); // its word is about to go
    text.replaceChildren(...markWords(found.text, hit.highlights, 0, hit.language));
    text.tabIndex = -1; // takes the focus from the button, which goes too
    text.focus();
    button.remove();
  } catch (error) {
    showError(byId("search-error"), error);
    button.disabled = false;
  }
}

/* ---- collections and languages ---- */

async function loadCollections() {
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

function createCollectionBox({ name, language, documents }) {
  return createElement(
    "label",
    {},
    createElement("input", { type: "checkbox", value: name, checked: true }),
    `${name} (${languageName(language)}, ${formatNumber(documents)})`,
  );
}

/** Let the query be said to be in these languages; English can always be chosen. */
function addLanguages(codes) {
  const select = byId("query-language");
  const known = new Set([...select.options].map((option) => option.value));
  const added = [...new Set(["en", ...codes])]
    .filter((code) => !known.has(code))
    .sort((one, other) => languageName(one).localeCompare(languageName(other)));
  select.append(...added.map((code) => createElement("option", { value: code }, languageName(code))));
}

function searchFor(query) {
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

/* ---- translation tables ---- */

function tablePath(name) {
  return `/v1/tables/${encodeURIComponent(name)}`;
}

async function loadTables() {
  byId("tables-error").replaceChildren();
  try {
    const { tables } = await fetchJson("/v1/tables");
    showTables(tables);
    addLanguages(tables.flatMap(({ source, target }) => [source, target]));
  } catch (error) {
    showError(byId("tables-error"), error);
  }
}

function showTables(tables) {
  const container = byId("tables");
  const opened = new Set([...container.querySelectorAll("details[open]")].map((details) => details.dataset.name));
  const cards = tables.map((table) => createTableCard(table, opened.has(table.name)));
  const none = createElement("p", { className: "muted" }, "There are none yet.");
  container.replaceChildren(...(cards.length > 0 ? cards : [none]));
}

function createTableCard(table, open) {
  const details = createElement(
    "details",
    { open },
    createElement("summary", {}, formatCount(table.versions.length, "version")),
    createVersionTable(table),
  );
  details.dataset.name = table.name;
  return createElement(
    "article",
    { className: "card" },
    createElement("h3", {}, table.name),
    createTableBadges(table),
    createLookup(table),
    details,
  );
}

function createTableBadges({ source, target, versions }) {
  const active = versions.find((version) => version.active);
  const inUse = active ? `version ${active.version} in use` : "not in use";
  return createElement(
    "div",
    { className: "badges" },
    createLanguageBadge(`${languageName(source)} ↔ ${languageName(target)}`),
    createBadge(inUse),
    active ? createBadge(active.kind) : null,
    active ? createMuted(formatCount(active.entries, "entry", "entries")) : null,
  );
}

function createLookup({ name }) {
  const id = `term-${name}`;
  const input = createElement("input", { type: "text", id, dir: "auto", autocomplete: "off" });
  const result = createElement("p", { role: "status", "aria-live": "polite" });
  const label = createElement("label", { htmlFor: id }, "Look up a word");
  const form = createElement(
    "form",
    { className: "row" },
    createElement("div", { className: "grow" }, label, input),
    createElement("button", { type: "submit" }, "Look up"),
  );
  onSubmit(form, () => lookUp(name, input.value.trim(), result));
  return createElement("div", {}, form, result);
}

async function lookUp(name, term, result) {
  if (!term) return;
  try {
    const found = await fetchJson(`${tablePath(name)}/terms/${encodeURIComponent(term)}`);
    const words = found.translations.map((entry) => `${entry.term} ${formatNumber(entry.probability, 3)}`);
    result.replaceChildren(createElement("bdi", {}, `${found.term} → ${words.join(", ") || "no entry"}`));
  } catch (error) {
    showError(result, error);
  }
}

function createVersionTable({ name, versions }) {
  const titles = ["Version", "State", "Uploaded", "Entries", "Rejected", "Checksum"];
  const head = titles.map((title) => createElement("th", { scope: "col" }, title));
  const newestFirst = versions.map((version) => createVersionRow(name, version)).reverse();
  return createTable(head, newestFirst);
}

function createVersionRow(name, version) {
  const checksum = version.checksum.slice(0, CHECKSUM_DIGITS);
  const cells = [
    createElement("td", {}, String(version.version)),
    createElement(
      "td",
      {},
      version.active ? createElement("strong", {}, "in use ") : null,
      createSwitch(name, version),
    ),
    createElement("td", {}, new Date(version.created_at).toLocaleString()),
    createElement("td", { className: "number" }, formatNumber(version.entries)),
    createElement("td", { className: "number" }, formatNumber(version.rejected)),
    createElement("td", {}, createElement("code", { title: version.checksum }, checksum)),
  ];
  return createElement("tr", {}, ...cells);
}

/** The button that puts a version into use, or out of use where it is in use. */
function createSwitch(name, { version, active }) {
  if (active) {
    return createButton(
      "Stop using",
      { "aria-label": `Stop using ${name}` },
      () => changeTable(`${tablePath(name)}/deactivate`, `Searches no longer use ${name}.`),
    );
  }
  return createButton(
    "Activate",
    { "aria-label": `Activate version ${version} of ${name}` },
    () =>
      changeTable(`${tablePath(name)}/versions/${version}/activate`, `Searches now use version ${version} of ${name}.`),
  );
}

async function changeTable(path, outcome) {
  try {
    await fetchJson(path, { method: "POST" });
    await loadTables();
    byId("tables-status").textContent = outcome;
  } catch (error) {
    showError(byId("tables-error"), error);
  }
}

/* ---- uploads ---- */

function uploadField(name) {
  return byId(`upload-${name}`);
}

function uploadAddress() {
  const parameters = new URLSearchParams({
    source: uploadField("source").value.trim(),
    target: uploadField("target").value.trim(),
    format: uploadField("format").value,
    kind: uploadField("kind").value,
    activate: uploadField("activate").checked,
    dry_run: uploadField("dry").checked,
  });
  return `${tablePath(uploadField("name").value.trim())}?${parameters}`;
}

async function uploadTable() {
  const button = byId("upload-button");
  byId("upload-error").replaceChildren();
  byId("upload-result").textContent = "Uploading…";
  button.disabled = true;
  try {
    const headers = { "Content-Type": "application/octet-stream" };
    const [body] = uploadField("file").files;
    showUpload(await fetchJson(uploadAddress(), { method: "PUT", headers, body }));
    await loadTables();
  } catch (error) {
    byId("upload-result").replaceChildren();
    showError(byId("upload-error"), error);
  } finally {
    button.disabled = false;
  }
}

function uploadState({ dry_run: dryRun, active }) {
  if (dryRun) return "checked, nothing stored";
  return active ? "stored and in use" : "stored, not in use";
}

function showUpload(result) {
  const terms = formatCount(result.source_terms, "source term");
  const stored = `${formatCount(result.entries, "entry", "entries")} for ${terms}`;
  const rejected = `${formatCount(result.rejected_total, "line")} rejected`;
  const pruned = `${formatCount(result.pruned, "improbable entry", "improbable entries")} left out`;
  const reasons = result.rejected.map(({ line, reason }) => createElement("li", {}, `line ${line}: ${reason}`));
  const outcome = `${result.name}, version ${result.version}: ${uploadState(result)}.`;
  const card = createElement(
    "div",
    { className: "card" },
    createElement("p", {}, createElement("strong", {}, outcome)),
    createElement("p", {}, `${stored}; ${rejected}, ${pruned}.`),
    reasons.length > 0 ? createElement("ul", {}, ...reasons) : null,
  );
  byId("upload-result").replaceChildren(card);
}

/* ---- the page as a whole ---- */

function onSubmit(form, action) {
  form.addEventListener("submit", (event) => {
    event.preventDefault(); // the page sends what is in the form itself
    action();
  });
}

function selectTab(tabs, selected) {
  for (const tab of tabs) {
    const isSelected = tab === selected;
    tab.setAttribute("aria-selected", String(isSelected));
    tab.tabIndex = isSelected ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).classList.toggle("hidden", !isSelected);
  }
  hideEvidence();
  if (selected.id === "tab-tables") loadTables();
}

/** With two tabs both arrows lead to the other one. */
function onTabKey(event, tabs) {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const next = tabs[(tabs.indexOf(event.currentTarget) + 1) % tabs.length];
  next.focus();
  selectTab(tabs, next);
}

function startTabs() {
  const tabs = [byId("tab-search"), byId("tab-tables")];
  for (const tab of tabs) {
    tab.addEventListener("click", () => selectTab(tabs, tab));
    tab.addEventListener("keydown", (event) => onTabKey(event, tabs));
  }
}

/** The key outlives a reload of the page, but not its tab. */
function startApiKey() {
  const input = byId("api-key");
  input.value = sessionStorage.getItem(STORED_KEY) || "";
  input.addEventListener("change", () => {
    sessionStorage.setItem(STORED_KEY, input.value);
    loadCollections();
  });
}

function startForms() {
  onSubmit(byId("search-form"), search);
  onSubmit(byId("upload-form"), uploadTable);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideEvidence();
  });
}

/** An address with ?q=… is a search that can be sent to others. */
function searchFromAddress() {
  const query = new URLSearchParams(location.search).get("q");
  if (query) searchFor(query);
}

async function start() {
  startTabs();
  startForms();
  startApiKey();
  await loadCollections();
  searchFromAddress();
}

start();
