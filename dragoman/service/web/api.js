/* Requests to the service that the page came from, and what is shown where one fails. */

import { byId, createElement, createNotice } from "./elements.js";

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
export async function fetchJson(path, options = {}) {
  const response = await sendRequest(path, options);
  const body = parseBody(await response.text());
  if (!response.ok) throw new ApiError(response.status, body);
  return body;
}

export function showError(container, error) {
  const title = error instanceof ApiError && error.status ? `${error.status} ${error.type}: ` : "";
  const notice = createNotice(title, error.message);
  notice.classList.add("error");
  if (error instanceof ApiError && error.requestId) {
    notice.append(createElement("div", { className: "muted" }, `request ${error.requestId}`));
  }
  container.replaceChildren(notice);
}
