/** A streamed answer, against a service with a language model at the address in DRAGOMAN_URL. */

import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";

import { Dragoman } from "../src/index.ts";
import { collected } from "./collected.ts";

test("a streamed answer comes in pieces and then whole", async () => {
  const client = new Dragoman({ url: process.env.DRAGOMAN_URL! });
  const request = { question: "Eine Biene fliegt über die Wiese.", max_tokens: 40 };
  const said = await collected(client.reasonStream(request));
  const last = said.pop();
  assert.ok(last?.type === "answer" && said.length > 1);
  const whole = await client.reason(request);
  assert.deepEqual([last.answer.answer, last.answer.reasoning], [whole.answer, whole.reasoning]);
  const text = said.map((piece) => piece.type === "text" ? piece.text : "").join("");
  assert.ok(text.includes(whole.answer));
  for await (const piece of client.reasonStream(request)) {
    assert.equal(piece.type, "text");
    break; // which ends the answer
  }
});
