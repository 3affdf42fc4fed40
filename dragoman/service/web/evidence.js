/* Why a word matched: the marked words of a document, and the box that shows the evidence for one. */

import { byId, createElement, formatNumber, languageName } from "./elements.js";

const GAP = 4;
const MARGIN = 8;

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
  const room = box.offsetHeight + MARGIN;
  const rightmost = document.documentElement.clientWidth - box.offsetWidth - MARGIN;
  const fitsBelow = bottom + room < globalThis.innerHeight || top < room;
  const x = Math.max(MARGIN, Math.min(left, rightmost));
  const y = fitsBelow ? bottom + GAP : top - box.offsetHeight - GAP;
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

export function hideEvidence() {
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
export function markWords(text, highlights, offset, language) {
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
