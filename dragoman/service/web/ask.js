/* Questions: asked over the chosen collections or over a text of one's own, and the answers marked where they stand. */

import { fetchJson } from "./api.js";
import {
  byId,
  createBadge,
  createElement,
  createLanguageBadge,
  createMuted,
  createNotice,
  formatCount,
  formatNumber,
  languageName,
} from "./elements.js";
import { createLegend, createText } from "./evidence.js";
import { createHit, createWarnings } from "./hits.js";
import { chosenCollections, send } from "./search.js";
import { createTranslation } from "./translations.js";

/** What a user may rely on. */
const RELIABILITY = "Sure only where a sentence says the same, or differs in a number, date or name alone." +
  " Else one label in five may be wrong: read the sentence.";

/** Offer answers and judgements only where the service has a reader, and say elsewhere how to get one. */
export async function offerAnswers() {
  const { model, statements, advice } = await fetchJson("v1/qa").catch(() => ({ model: null, statements: null }));
  byId("ask-button").classList.toggle("hidden", model === null);
  byId("judge-button").classList.toggle("hidden", statements === null);
  byId("own-text").classList.toggle("hidden", model === null && statements === null);
  byId("ask-advice").classList.toggle("hidden", !advice);
  byId("ask-advice").textContent = advice ? `Questions are not answered here: ${advice}.` : "";
}

/** A text of one's own counts only while it can be seen. */
function ownText() {
  const text = byId("context").value;
  return byId("own-text").open && text.trim() ? text : undefined;
}

export function ask() {
  read("question", showAnswers);
}

/** Whether the query, read as a statement, is true by the texts. */
export function judge() {
  read("statement", showJudgement);
}

function read(kind, show) {
  if (!byId("search-form").reportValidity()) return;
  const context = ownText();
  const collections = context === undefined ? chosenCollections() : undefined;
  if (collections === null) return;
  const request = {
    [kind]: byId("query").value,
    question_language: byId("query-language").value || undefined,
    gloss: byId("gloss").checked || undefined,
    translate: (kind === "question" && byId("translate-snippets").checked) || undefined,
    context,
    collections,
  };
  send({
    path: "v1/qa",
    request,
    status: "Reading…",
    show: (found) => show(found, context),
    again: () => read(kind, show),
  });
}

function showJudgement(found, context) {
  const { query, label, probability, evidence, passages = [], degraded, truncated, model } = found;
  const decides = evidence ? [{ ...evidence, score: probability }] : [];
  const hits = passages.map((hit) => withAnswers(hit, decides));
  const language = `${query.detected ? "detected as" : "in"} ${languageName(query.language)}`;
  byId("search-status").textContent = `Judged by ${model} · statement ${language}`;
  byId("search-notes").replaceChildren(...createWarnings(degraded, truncated));
  const judged = createElement("p", { id: "judgement" }, describeLabel(label, probability));
  byId("answers").replaceChildren(
    createElement("h2", {}, "True or false"),
    judged,
    createElement("p", { className: "muted" }, RELIABILITY),
    ...decides.map((one) => createEvidence(one, query.language)),
  );
  if (context !== undefined) byId("hits").replaceChildren(...createOwnText(context, decides, query.language));
  else if (hits.length > 0) byId("hits").replaceChildren(...createPassages(hits, query.language));
}

function describeLabel(label, probability) {
  if (probability === null) return "Nothing was read.";
  if (label === "unknown") return "Unknown: the text neither says nor denies it, or the reader is not sure.";
  return `${label === "true" ? "True" : "False"}, probability ${formatNumber(probability, 3)}.`;
}

/** The sentence that decides. */
function createEvidence({ text, start, document, gloss }, queryLanguage) {
  const language = document ? document.language : "";
  const shown = { language, highlights: [], gloss: byId("gloss").checked ? gloss : undefined };
  const badges = document
    ? [createLanguageBadge(languageName(language)), createBadge(document.collection), createBadge(document.id)]
    : [];
  return createElement(
    "article",
    { className: "card evidence-sentence" },
    createElement("div", { className: "badges" }, ...badges, createMuted("the sentence that decides")),
    createElement(
      "p",
      { className: "text", dir: "auto", lang: language },
      ...createText(shown, "text", text, start, queryLanguage),
    ),
  );
}

function showAnswers(found, context) {
  const { query, answers, passages = [], degraded, truncated } = found;
  const hits = passages.map((hit) => withAnswers(hit, answers));
  const legend = createLegend([{ highlights: answers.map(createHighlight) }, ...hits]);
  byId("search-status").textContent = describeAnswers(found);
  byId("search-notes").replaceChildren(...createWarnings(degraded, truncated), ...(legend === null ? [] : [legend]));
  byId("answers").replaceChildren(
    createElement("h2", {}, "Answers"),
    createNoAnswer(found),
    ...answers.map((answer) => createAnswer(answer, query.language)),
  );
  if (context !== undefined) byId("hits").replaceChildren(...createOwnText(context, answers, query.language));
  else if (hits.length > 0) byId("hits").replaceChildren(...createPassages(hits, query.language));
}

function describeAnswers({ query, answers, model }) {
  const language = `${query.detected ? "detected as" : "in"} ${languageName(query.language)}`;
  return `${formatCount(answers.length, "answer")} by ${model} · question ${language}`;
}

/** How likely it is that there is no answer, which is said first where that is likelier than not. */
function createNoAnswer({ answers, no_answer: probability }) {
  const id = "no-answer";
  if (probability === null) return createElement("p", { id }, "Nothing was read.");
  const told = `The probability that nothing that was read answers the question is ${formatNumber(probability, 3)}.`;
  if (answers.length > 0 && probability < 0.5) return createElement("p", { id, className: "muted" }, told);
  const notice = createNotice(answers.length > 0 ? "Probably no answer. " : "No answer. ", told);
  notice.id = id;
  return notice;
}

/** An answer as a highlight of the text that holds it. */
function createHighlight({ text, start, end, score }) {
  return { field: "text", start, end, match: "answer", probability: score, text };
}

/** A hit with the answers that its document gave, besides its matches. */
function withAnswers(hit, answers) {
  const own = answers.filter(({ document }) => document.id === hit.id && document.collection === hit.collection);
  return { ...hit, highlights: [...hit.highlights, ...own.map(createHighlight)] };
}

function createAnswer(answer, queryLanguage) {
  const { text, score, sentence, sentence_start: start, document, gloss, translation } = answer;
  const language = document ? document.language : ""; // the language of a text of one's own is not in the answer
  const badges = document
    ? [createLanguageBadge(languageName(language)), createBadge(document.collection), createBadge(document.id)]
    : [];
  const shown = { language, highlights: [createHighlight(answer)], gloss: byId("gloss").checked ? gloss : undefined };
  return createElement(
    "article",
    { className: "card answer" },
    createElement("h3", { dir: "auto", lang: language }, text),
    createElement("div", { className: "badges" }, ...badges, createMuted(`probability ${formatNumber(score, 3)}`)),
    createElement(
      "p",
      { className: "text", dir: "auto", lang: language },
      ...createText(shown, "text", sentence, start, queryLanguage),
    ),
    translation
      ? createTranslation(translation, { text: sentence, offset: start, language, gloss }, queryLanguage)
      : null,
  );
}

function createPassages(hits, queryLanguage) {
  const cards = hits.map((hit) => createHit(hit, queryLanguage));
  return [createElement("h2", {}, "Passages found"), ...cards];
}

function createOwnText(context, answers, queryLanguage) {
  const shown = { language: "", highlights: answers.map(createHighlight) };
  const text = createElement(
    "p",
    { className: "text", dir: "auto" },
    ...createText(shown, "text", context, 0, queryLanguage),
  );
  return [createElement("h2", {}, "Your text"), createElement("article", { className: "card" }, text)];
}
