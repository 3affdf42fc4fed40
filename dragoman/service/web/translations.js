/* Translations whose sentences were checked: a draft is shown with its reason, for what failed stands a gloss. */

import { createElement, createMuted } from "./elements.js";
import { createText } from "./evidence.js";

const REASONS = {
  number: "another number",
  date: "another date",
  unit: "another unit",
  name: "another name",
  length: "too long, too short or cut off",
  coverage: "words without a counterpart",
  meaning: "may say something else",
  glossary: "not as the glossary has it",
};

function describeReason({ code, source, text }) {
  const compared = [source, text].filter((part) => part !== null).join(" / ");
  return compared ? `${REASONS[code] ?? code}: ${compared}` : REASONS[code] ?? code;
}

function describeReasons(reasons) {
  return reasons.map(describeReason).join("; ");
}

/**
 * The translation of a part of a text; `source` has that part as `text`, its `offset` in the field, its `language` and
 * the `gloss` of the field's words.
 */
export function createTranslation(translation, source, queryLanguage) {
  const codePoints = Array.from(source.text);
  const sentences = translation.sentences.flatMap((sentence) => [createSentence(sentence, source, codePoints), " "]);
  const properties = { className: "text translation", dir: "auto", lang: queryLanguage };
  return createElement("p", properties, ...sentences);

  function createSentence({ text, source: { start, end }, status, reasons }, { offset, language, gloss }, signs) {
    if (status === "failed") {
      const glossed = { language, highlights: [], gloss };
      const words = createText(glossed, "text", signs.slice(start, end).join(""), offset + start, queryLanguage);
      const said = createMuted(` (not translated: ${describeReasons(reasons)})`);
      return createElement("span", { className: "withheld", lang: language }, ...words, said);
    }
    if (status === "ok") return createElement("span", {}, text);
    return createElement("span", { className: "draft" }, text, createMuted(` (draft: ${describeReasons(reasons)})`));
  }
}
