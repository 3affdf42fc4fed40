import type { Highlight, Hit } from "./types.ts";

/** A part of a text, with the highlights that it is of; none for what lies between. */
export interface MarkedPart {
  text: string;
  highlights: Highlight[];
}

/** A hit's snippet in parts, to be shown with its highlights marked; together they are the snippet. */
export function markedSnippet(hit: Pick<Hit, "snippet" | "snippet_start" | "highlights">): MarkedPart[] {
  return mark(hit.snippet, hit.snippet_start, hit.highlights.filter((highlight) => highlight.field === "text"));
}

/** A hit's title in parts, to be shown with its highlights marked; together they are the title. */
export function markedTitle(hit: Pick<Hit, "title" | "highlights">): MarkedPart[] {
  return mark(hit.title ?? "", 0, hit.highlights.filter((highlight) => highlight.field === "title"));
}

function mark(text: string, first: number, highlights: Highlight[]): MarkedPart[] {
  const inside = highlights.map((highlight) => ({
    highlight,
    start: Math.max(0, highlight.start - first),
    end: Math.min(text.length, highlight.end - first),
  })).filter(({ start, end }) => start < end);
  const bounds = [0, text.length, ...inside.flatMap(({ start, end }) => [start, end])].sort((a, b) => a - b);
  return bounds.slice(1).flatMap((end, place) => {
    const start = bounds[place]!;
    if (start === end) return [];
    const over = inside.filter((span) => span.start <= start && end <= span.end);
    return [{ text: text.slice(start, end), highlights: over.map((span) => span.highlight) }];
  });
}
