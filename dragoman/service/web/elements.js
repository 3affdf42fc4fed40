/* What the page is made of: its elements, and the names and numbers in them. */

const languageNames = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

export function languageName(code) {
  try {
    return languageNames.of(code);
  } catch {
    return code; // not the shape of a language code, which DisplayNames throws at
  }
}

export function formatNumber(value, digits = 0) {
  return Number(value).toLocaleString("en", { maximumFractionDigits: digits });
}

export function formatCount(number, singular, plural = `${singular}s`) {
  return `${formatNumber(number)} ${number === 1 ? singular : plural}`;
}

/** @returns {any} the element; its kind is known where it is used. */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * A new element with properties (or attributes) and children; null children are left out.
 * Strings become text nodes, so that nothing in a document or a table is ever read as markup.
 * @returns {any}
 */
export function createElement(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function createBadge(text, properties = {}) {
  return createElement("span", { className: "badge", ...properties }, text);
}

export function createLanguageBadge(text) {
  return createBadge(text, { className: "badge language" });
}

export function createMuted(text) {
  return createElement("span", { className: "muted" }, text);
}

export function createNotice(title, text) {
  return createElement("div", { className: "notice" }, createElement("strong", {}, title), text);
}

export function createButton(text, properties, onClick) {
  const button = createElement("button", { type: "button", ...properties }, text);
  button.addEventListener("click", () => onClick(button));
  return button;
}

export function createTable(head, rows) {
  const parts = [createElement("tbody", {}, ...rows)];
  if (head !== null) parts.unshift(createElement("thead", {}, createElement("tr", {}, ...head)));
  // A wide table scrolls in a box of its own: the page itself never scrolls sideways.
  return createElement("div", { className: "scroll" }, createElement("table", {}, ...parts));
}

export function onSubmit(form, action) {
  form.addEventListener("submit", (event) => {
    event.preventDefault(); // the page sends what is in the form itself
    action();
  });
}
