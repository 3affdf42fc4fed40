/* The tables view: the translation tables that searches use, and uploads of new ones. */

import { fetchJson, showError } from "./api.js";
import {
  byId,
  createBadge,
  createButton,
  createElement,
  createLanguageBadge,
  createMuted,
  createTable,
  formatCount,
  formatNumber,
  languageName,
  onSubmit,
} from "./elements.js";
import { addLanguages } from "./search.js";

const CHECKSUM_DIGITS = 12;

/* ---- tables ---- */

function tablePath(name) {
  return `v1/tables/${encodeURIComponent(name)}`;
}

export async function loadTables() {
  byId("tables-error").replaceChildren();
  try {
    const { tables } = await fetchJson("v1/tables");
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

export async function uploadTable() {
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
    result.header ? createElement("p", {}, `Header line, not an entry: ${result.header.join(", ")}`) : null,
    reasons.length > 0 ? createElement("ul", {}, ...reasons) : null,
  );
  byId("upload-result").replaceChildren(card);
}
