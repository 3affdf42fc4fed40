/* The page as a whole: its views, its key, and what it begins with. */

import { ask, judge, offerAnswers } from "./ask.js";
import { byId, onSubmit } from "./elements.js";
import { hideEvidence } from "./evidence.js";
import { loadCollections, offerTranslation, search, searchFor, sendLatestAgain } from "./search.js";
import { loadTables, uploadTable } from "./tables.js";

const STORED_KEY = "dragoman-api-key";

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
    offerTranslation();
    offerAnswers();
  });
}

function startForms() {
  onSubmit(byId("search-form"), search);
  onSubmit(byId("upload-form"), uploadTable);
  byId("ask-button").addEventListener("click", ask);
  byId("judge-button").addEventListener("click", judge);
  byId("gloss").addEventListener("change", sendLatestAgain);
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
  await Promise.all([loadCollections(), offerTranslation(), offerAnswers()]);
  searchFromAddress();
}

start();
