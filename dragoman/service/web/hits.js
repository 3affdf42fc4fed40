/* Documents that were found, each in a card, and what there is to warn of. */

import { fetchJson, showError } from "./api.js";
import {
  byId,
  createBadge,
  createButton,
  createElement,
  createLanguageBadge,
  createMuted,
  createNotice,
  formatNumber,
  languageName,
} from "./elements.js";
import { createText, hideEvidence } from "./evidence.js";
import { createTranslation } from "./translations.js";

/** What was done in a lesser way, or only in part. */
export function createWarnings(degraded, truncated) {
  const warnings = degraded.map(({ stage, reason }) => createNotice(`Warning, ${stage}: `, reason));
  if (truncated.length > 0) warnings.push(createNotice("Truncated: ", truncated.join(", ")));
  return warnings;
}

const NOT_FOUND = {
  none: ["Nothing was found. ", "These are only the nearest documents that there are."],
  weak: ["Nothing certain was found. ", "These documents may have something on it."],
};

/** What to say before hits of which none is good; nothing where one is. */
export function createFound(found, hits) {
  return hits.length > 0 && found in NOT_FOUND ? [createNotice(...NOT_FOUND[found])] : [];
}

export function createHit(hit, queryLanguage) {
  const text = createElement(
    "p",
    { className: "text", dir: "auto", lang: hit.language },
    ...createText(withChosenGloss(hit), "text", hit.snippet, hit.snippet_start, queryLanguage),
  );
  return createElement(
    "article",
    { className: hit.weak ? "card hit weak" : "card hit" },
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
  const words = createText(withChosenGloss(hit), "title", hit.title, 0, queryLanguage);
  return createElement("h3", { dir: "auto", lang: hit.language }, ...words);
}

function createHitBadges({ language, collection, id, score, scores, relevance, weak }) {
  return createElement(
    "div",
    { className: "badges" },
    createLanguageBadge(languageName(language)),
    createBadge(collection),
    createBadge(id),
    weak ? createBadge("weak match") : null,
    createMuted(`relevance ${formatNumber(relevance, 2)} · score ${formatNumber(score, 3)}`),
    scores.rerank === null ? null : createBadge(`rerank ${formatNumber(scores.rerank, 3)}`),
  );
}

function createSnippetTranslation(hit, queryLanguage) {
  if (!hit.snippet_translation) return null;
  const source = { text: hit.snippet, offset: hit.snippet_start, language: hit.language, gloss: hit.gloss };
  return createTranslation(hit.snippet_translation, source, queryLanguage);
}

/** A hit whose own text is glossed only where that was asked for, not where a translation lacks a sentence. */
function withChosenGloss(hit) {
  return byId("gloss").checked ? hit : { ...hit, gloss: undefined };
}

async function showWholeDocument(hit, queryLanguage, text, button) {
  const path = `v1/collections/${encodeURIComponent(hit.collection)}/documents/${encodeURIComponent(hit.id)}`;
  button.disabled = true;
  try {
    const found = await fetchJson(path);
    hideEvidence(); // its word is about to go
    text.replaceChildren(...createText(withChosenGloss(hit), "text", found.text, 0, queryLanguage));
    text.tabIndex = -1; // takes the focus from the button, which goes too
    text.focus();
    button.remove();
  } catch (error) {
    showError(byId("search-error"), error);
    button.disabled = false;
  }
}
