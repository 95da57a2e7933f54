// Chat completions, built and read with the types of the official package.

import assert from "node:assert/strict";
import OpenAI from "openai";
import { NAME, parsed, sse } from "./kinds.mjs";

/** @import { ChatCompletionChunk, ChatCompletionCreateParamsStreaming, ChatCompletionMessageParam } from "openai/resources/chat/completions" */

const MODEL = "stand-in";

/** @type {import("./kinds.mjs").Vendor} */
export const openai = {
  kind: "openai",
  base: "/v1",
  model: MODEL,
  resultOfError: "error: ",
  stream: (answer) => sse(chunks(answer)) + (answer.hangs ? "" : "data: [DONE]\n\n"),
  read,
  refuse: (message) => ({ error: { message, type: "invalid_request_error", param: null, code: null } }),
  converse,
};

/** @param {import("./kinds.mjs").Answer} answer @returns {ChatCompletionChunk[]} */
function chunks({ text = "", calls = [], hangs = false }) {
  /** @param {ChatCompletionChunk.Choice.Delta} delta @param {ChatCompletionChunk.Choice["finish_reason"]} [finish_reason] */
  const chunk = (delta, finish_reason = null) => ({ ...HEAD, choices: [{ index: 0, delta, finish_reason, logprobs: null }] });
  /** @type {ChatCompletionChunk[]} */
  const said = [chunk({ role: "assistant", content: "" })];
  for (const content of text.match(/\S+\s*/g) ?? []) said.push(chunk({ content }));
  calls.forEach(({ id, name, pieces }, index) => {
    said.push(chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }));
    for (const piece of pieces) said.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
  });
  if (hangs) return said;
  const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
  return [...said, chunk({}, calls.length > 0 ? "tool_calls" : "stop"), { ...HEAD, choices: [], usage }];
}

/** @satisfies {Omit<ChatCompletionChunk, "choices">} */
const HEAD = { id: "chatcmpl-1", object: /** @type {const} */ ("chat.completion.chunk"), created: 1_760_000_000, model: MODEL };

/** @type {import("./kinds.mjs").Vendor["read"]} */
function read(path, headers, sent) {
  /** @type {ChatCompletionCreateParamsStreaming} */
  const body = sent;
  assert.equal(path, "/v1/chat/completions");
  assert.equal(headers.authorization, "Bearer secret");
  assert.equal(body.model, MODEL);
  assert.equal(body.stream, true);
  assert.equal(body.stream_options?.include_usage, true);
  const tools = (body.tools ?? []).map((tool) => {
    assert.equal(tool.type, "function");
    const { name, description, parameters } = tool.function;
    assert.match(name, NAME);
    return { name, description: description ?? "", schema: parameters };
  });
  checkPairs(body.messages);
  const texts = (/** @type {string} */ role) => body.messages.filter((message) => message.role === role).map(words);
  const results = body.messages.flatMap((message) => {
    if (message.role !== "tool") return [];
    const text = words(message);
    return [{ id: message.tool_call_id, text, isError: text.startsWith("error: ") }];
  });
  return { system: texts("system").join("\n"), tools, asked: texts("user"), results };
}

/** @param {ChatCompletionMessageParam} message @returns {string} */
function words({ content }) {
  assert.equal(typeof content, "string");
  return String(content);
}

/**
 * Each call is answered right after its message, and nothing else is.
 * @param {ChatCompletionMessageParam[]} messages
 */
function checkPairs(messages) {
  /** @type {string[]} */
  let open = [];
  for (const message of messages) {
    if (message.role === "tool") {
      assert.ok(open.includes(message.tool_call_id), `a result for ${message.tool_call_id}, which is not open`);
      open = open.filter((id) => id !== message.tool_call_id);
      continue;
    }
    assert.deepEqual(open, [], "calls without results");
    if (message.role !== "assistant") continue;
    const { content, tool_calls: calls = [] } = message;
    assert.ok(content || calls.length > 0, "an assistant's message with nothing in it");
    open = calls.map((call) => {
      assert.ok(call.type === "function" && NAME.test(call.function.name), JSON.stringify(call));
      assert.equal(typeof call.function.arguments, "string");
      return call.id;
    });
    assert.equal(new Set(open).size, open.length, "two calls with one id");
  }
  assert.deepEqual(open, [], "calls without results");
}

/** @type {import("./kinds.mjs").Vendor["converse"]} */
async function converse(url, key, body) {
  const client = new OpenAI({ apiKey: key, baseURL: url, maxRetries: 0 });
  const { content, tool_calls: calls = [] } = (await client.chat.completions.stream(body).finalChatCompletion()).choices[0].message;
  const called = calls.map((call) => {
    assert.equal(call.type, "function");
    return { id: call.id, name: call.function.name, args: parsed(call.function.arguments) };
  });
  return { text: content ?? "", calls: called };
}
