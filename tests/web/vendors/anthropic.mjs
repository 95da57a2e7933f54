// Messages, built and read with the types of the official package.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { NAME, sse } from "./kinds.mjs";

/** @import { ContentBlockParam, Message, MessageCreateParamsStreaming, MessageParam, RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages" */

const MODEL = "claude-stand-in";

/** @type {import("./kinds.mjs").Vendor} */
export const anthropic = {
  kind: "anthropic",
  base: "",
  model: MODEL,
  resultOfError: "",
  stream: (answer) => sse(events(answer), ({ type }) => type),
  read,
  refuse: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  converse,
};

/** @satisfies {Message} */
const BEGINNING = {
  id: "msg_1",
  type: /** @type {const} */ ("message"),
  role: /** @type {const} */ ("assistant"),
  model: MODEL,
  content: [],
  container: null,
  diagnostics: null,
  stop_details: null,
  stop_reason: null,
  stop_sequence: null,
  usage: {
    input_tokens: 9,
    output_tokens: 1,
    cache_creation: null,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    inference_geo: null,
    output_tokens_details: null,
    server_tool_use: null,
    service_tier: "standard",
    speed: null,
  },
};

/** @param {import("./kinds.mjs").Answer} answer @returns {RawMessageStreamEvent[]} */
function events({ text = "", calls = [], hangs = false }) {
  /** @type {RawMessageStreamEvent[]} */
  const said = [{ type: "message_start", message: BEGINNING }];
  let index = 0;
  if (text !== "") {
    said.push({ type: "content_block_start", index, content_block: { type: "text", text: "", citations: null } });
    for (const piece of text.match(/\S+\s*/g) ?? []) said.push({ type: "content_block_delta", index, delta: { type: "text_delta", text: piece } });
    if (hangs) return said;
    said.push({ type: "content_block_stop", index });
    index += 1;
  }
  for (const { id, name, pieces } of calls) {
    said.push({ type: "content_block_start", index, content_block: { type: "tool_use", id, name, input: {}, caller: { type: "direct" } } });
    for (const partial_json of ["", ...pieces]) said.push({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } });
    said.push({ type: "content_block_stop", index });
    index += 1;
  }
  if (hangs) return said;
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = BEGINNING.usage;
  const usage = { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens: 5, output_tokens_details: null, server_tool_use: null };
  const stop_reason = calls.length > 0 ? /** @type {const} */ ("tool_use") : /** @type {const} */ ("end_turn");
  const delta = { stop_reason, stop_sequence: null, stop_details: null, container: null };
  return [...said, { type: "message_delta", delta, usage }, { type: "message_stop" }];
}

/** @type {import("./kinds.mjs").Vendor["read"]} */
function read(path, headers, sent) {
  /** @type {MessageCreateParamsStreaming} */
  const body = sent;
  assert.equal(path, "/v1/messages");
  // The vendor takes the key in both headers. Its client uses the second, and the newer version of the API.
  assert.equal(headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer /, ""), "secret");
  assert.match(String(headers["anthropic-version"]), /^(2023-06-01|2026-10-21)$/);
  // The newer version refuses them.
  for (const removed of ["temperature", "top_p", "top_k"]) assert.ok(!(removed in body), removed);
  assert.equal(body.model, MODEL);
  assert.equal(body.stream, true);
  assert.ok(body.max_tokens > 0);
  const tools = (body.tools ?? []).map((tool) => {
    assert.ok("input_schema" in tool, JSON.stringify(tool));
    assert.match(tool.name, NAME);
    assert.equal(tool.input_schema.type, "object");
    return { name: tool.name, description: tool.description ?? "", schema: tool.input_schema };
  });
  checkTurns(body.messages);
  const blocks = body.messages.filter(({ role }) => role === "user").flatMap(({ content }) => (typeof content === "string" ? [] : content));
  const asked = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const results = blocks.flatMap((block) => {
    if (block.type !== "tool_result") return [];
    assert.equal(typeof block.content, "string");
    return [{ id: block.tool_use_id, text: String(block.content), isError: block.is_error === true }];
  });
  return { system: String(body.system), tools, asked, results };
}

/**
 * Roles take turns, and the results of all calls of a message begin the next one.
 * @param {MessageParam[]} messages
 */
function checkTurns(messages) {
  /** @type {string[]} */
  let open = [];
  messages.forEach(({ role, content }, at) => {
    assert.equal(role, at % 2 === 0 ? "user" : "assistant");
    assert.ok(Array.isArray(content) && content.length > 0);
    const results = content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
    assert.deepEqual(results, open, "calls and results do not match");
    assert.ok(content.slice(0, results.length).every((block) => block.type === "tool_result"), "results come first");
    open = content.flatMap(called);
    assert.equal(new Set(open).size, open.length, "two calls with one id");
  });
  assert.deepEqual(open, [], "calls without results");
}

/** @param {ContentBlockParam} block @returns {string[]} */
function called(block) {
  if (block.type === "text") assert.match(block.text, /\S/);
  if (block.type !== "tool_use") return [];
  assert.match(block.name, NAME);
  assert.ok(typeof block.input === "object" && block.input !== null && !Array.isArray(block.input), "input is no object");
  return [block.id];
}

/** @type {import("./kinds.mjs").Vendor["converse"]} */
async function converse(url, key, body) {
  const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
  const { content } = await client.messages.stream(body).finalMessage();
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  const calls = content.flatMap((block) => (block.type === "tool_use" ? [{ id: block.id, name: block.name, args: block.input }] : []));
  return { text, calls };
}
