/* A document's text: its marked words and sentences, the box with the evidence for one, and the glosses of words. */

import { byId, createElement, formatNumber, languageName } from "./elements.js";

/** The kinds of match, in words. Each also has a colour and a line, which are in style.css. */
const MATCHES = {
  answer: "answer",
  table: "translation in a table",
  identical: "same word",
  sound: "sounds alike",
  spelling: "another spelling, in a table",
  meaning: "nearest in meaning",
};

const GAP = 4;
const MARGIN = 8;

/** The mark whose evidence is shown, if any. */
let explainedMark = null;

/** A sentence is not repeated in the box: it is what is marked. */
function evidenceRows({ highlight, language }) {
  const rows = [["match", MATCHES[highlight.match]]];
  if (highlight.match === "meaning") return rows;
  if (highlight.match === "answer") return [...rows, ["probability", formatNumber(highlight.probability, 3)]];
  rows.push(["query term", highlight.query_term], [`word (${languageName(language)})`, highlight.document_term]);
  if (highlight.match === "sound") rows.push(["likeness", formatNumber(highlight.probability, 3)]);
  if (highlight.match === "table" || highlight.match === "spelling") {
    rows.push(["probability", formatNumber(highlight.probability, 3)]);
    rows.push(["table", `${highlight.table}, version ${highlight.version}`]);
  }
  return rows;
}

/** Put the box under the mark, or over it where there is no room below, and never beyond the window's edges. */
function placeEvidence(box, mark) {
  const { left, top, bottom } = mark.getClientRects()[0];
  const room = box.offsetHeight + MARGIN;
  const rightmost = document.documentElement.clientWidth - box.offsetWidth - MARGIN;
  const fitsBelow = bottom + room < globalThis.innerHeight || top < room;
  const x = Math.max(MARGIN, Math.min(left, rightmost));
  const y = fitsBelow ? bottom + GAP : top - box.offsetHeight - GAP;
  box.style.left = `${x + globalThis.scrollX}px`;
  box.style.top = `${y + globalThis.scrollY}px`;
}

function showEvidence(mark, evidence) {
  const box = byId("evidence");
  const entries = evidenceRows(evidence).flatMap(([name, value]) => [
    createElement("dt", {}, name),
    createElement("dd", {}, createElement("bdi", {}, String(value))),
  ]);
  box.replaceChildren(createElement("dl", {}, ...entries));
  box.classList.remove("hidden"); // before it is placed: what is hidden has no size
  placeEvidence(box, mark);
  explainedMark?.removeAttribute("aria-describedby");
  mark.setAttribute("aria-describedby", "evidence");
  explainedMark = mark;
}

export function hideEvidence() {
  explainedMark?.removeAttribute("aria-describedby");
  explainedMark = null;
  byId("evidence").classList.add("hidden");
}

/**
 * A part of a document that matched: pointing at it, tapping it or moving the focus to it shows why.
 * A word may be marked in a marked sentence, so what happens to the word ends there.
 */
function createMark(children, evidence) {
  const mark = createElement("mark", { tabIndex: 0, className: evidence.highlight.match }, ...children);
  const listen = (names, action) => {
    for (const name of names) {
      mark.addEventListener(name, (event) => {
        event.stopPropagation();
        action();
      });
    }
  };
  listen(["mouseover", "focus", "click"], () => showEvidence(mark, evidence));
  listen(["mouseout", "blur"], hideEvidence);
  return mark;
}

/** What the colours of the marks mean, of the kinds of match that an answer has. */
export function createLegend(hits) {
  const found = new Set(hits.flatMap((hit) => hit.highlights.map(({ match }) => match)));
  const names = Object.entries(MATCHES).filter(([match]) => found.has(match));
  if (names.length === 0) return null;
  const samples = names.map(([match, name]) => createElement("mark", { className: match }, name));
  return createElement("div", { className: "badges", id: "legend" }, "Matches:", ...samples);
}

/** A marked sentence may hold answers and words, an answer words, and a word only its gloss. */
const LEVELS = { meaning: 0, answer: 1 };
const WORDS = 2;

function levelOf({ match }) {
  return LEVELS[match] ?? WORDS;
}

/** What lies in a part of a text, in its order; of what begins together the longest and most probable comes first. */
function inside(items, start, end) {
  return items
    .filter((item) => item.start >= start && item.end <= end)
    .sort((one, other) =>
      one.start - other.start || other.end - one.end || levelOf(one) - levelOf(other) ||
      (other.probability ?? 1) - (one.probability ?? 1)
    );
}

/** Highlights without those that would hide an answer: they hold it, or one end of it, and are no sentence. */
function withoutObstacles(highlights) {
  const answers = highlights.filter(({ match }) => match === "answer");
  const within = (one, other) => one.start >= other.start && one.end <= other.end;
  return highlights.filter((one) =>
    answers.every((answer) =>
      one.end <= answer.start || answer.end <= one.start || within(one, answer) ||
      (one.match === "meaning" && within(answer, one))
    )
  );
}

/** A word with its translations under it. */
function createGloss(word, translations, language) {
  return createElement("ruby", {}, word, createElement("rt", { lang: language }, translations.join(", ")));
}

/**
 * The children of an element that shows a part of a field (`title` or `text`) of a hit, with its matches marked and its
 * words glossed in the query's language. Highlights and glosses count code points of the whole field, not UTF-16 units;
 * `offset` is where the part begins in it.
 */
export function createText(hit, field, text, offset, queryLanguage) {
  const codePoints = Array.from(text);
  const glosses = (hit.gloss || []).filter((gloss) => gloss.field === field);
  const slice = (start, end) => codePoints.slice(start - offset, end - offset).join("");
  // An answer brings its text: where another stands, the answer is elsewhere, or the document was replaced meanwhile.
  const isHere = ({ start, end, text: own }) => own === undefined || slice(start, end) === own;
  const highlights = withoutObstacles(
    hit.highlights.filter((highlight) => highlight.field === field && isHere(highlight)),
  );

  function gloss(from, to) {
    const parts = [];
    let position = from;
    for (const { start, end, translations } of inside(glosses, from, to)) {
      parts.push(slice(position, start), createGloss(slice(start, end), translations, queryLanguage));
      position = end;
    }
    parts.push(slice(position, to));
    return parts;
  }

  function mark(from, to, level) {
    const parts = [];
    let position = from;
    for (const highlight of inside(highlights, from, to)) {
      const { start, end } = highlight;
      const own = levelOf(highlight);
      if (start < position || own < level) continue; // overlaps the one before, or is what it lies in
      const children = own < WORDS ? mark(start, end, own + 1) : gloss(start, end);
      parts.push(...gloss(position, start), createMark(children, { highlight, language: hit.language }));
      position = end;
    }
    parts.push(...gloss(position, to));
    return parts;
  }

  return mark(offset, offset + codePoints.length, LEVELS.meaning);
}
