// `streamGenerateContent`, built and read with the types of the official package.

import assert from "node:assert/strict";
import { FinishReason, GoogleGenAI } from "@google/genai";
import { NAME, sse } from "./kinds.mjs";

/**
 * @import { Content, FunctionCall, FunctionDeclaration, GenerateContentResponse, Part } from "@google/genai"
 *
 * A response as it is on the wire: without what the package's class computes.
 * @typedef {Pick<GenerateContentResponse, "candidates" | "usageMetadata" | "modelVersion" | "responseId">} Chunk
 *
 * The body of a request; the package has only its parts.
 * @typedef {{ contents: Content[], systemInstruction?: Content, tools?: { functionDeclarations: FunctionDeclaration[] }[] }} Body
 */

const MODEL = "gemini-3-stand-in";
const SIGNATURE = "c2lnbmVk";

/** @type {import("./kinds.mjs").Vendor} */
export const gemini = {
  kind: "gemini",
  base: "/v1beta",
  model: MODEL,
  resultOfError: "",
  stream: (answer) => sse(chunks(answer)).replaceAll("\n", "\r\n"),
  read,
  refuse: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  converse,
};

/**
 * This vendor sends the arguments of a call at once. Only the first of several calls is signed.
 * @param {import("./kinds.mjs").Answer} answer @returns {Chunk[]}
 */
function chunks({ text = "", calls = [], hangs = false }) {
  /** @param {Part[]} parts @returns {Chunk} */
  const chunk = (parts) => ({ candidates: [{ index: 0, content: { role: "model", parts } }], modelVersion: MODEL, responseId: "r-1" });
  const said = (text.match(/\S+\s*/g) ?? []).map((piece) => chunk([{ text: piece }]));
  calls.forEach(({ id, name, pieces }, at) => {
    /** @type {FunctionCall} */
    const functionCall = { id, name, args: JSON.parse(pieces.join("")) };
    said.push(chunk([{ functionCall, ...(at === 0 ? { thoughtSignature: SIGNATURE } : {}) }]));
  });
  if (hangs) return said;
  const last = chunk([{ text: "" }]);
  const candidates = [{ ...last.candidates?.[0], finishReason: FinishReason.STOP }];
  return [...said, { ...last, candidates, usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 5, totalTokenCount: 14 } }];
}

/** @type {import("./kinds.mjs").Vendor["read"]} */
function read(path, headers, sent) {
  /** @type {Body} */
  const body = sent;
  assert.equal(path, `/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`);
  assert.equal(headers["x-goog-api-key"], "secret");
  const declared = (body.tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations);
  const tools = declared.map(({ name = "", description = "", parametersJsonSchema }) => {
    assert.match(name, NAME);
    return { name, description, schema: parametersJsonSchema };
  });
  checkTurns(body.contents);
  const parts = body.contents.filter(({ role }) => role === "user").flatMap(({ parts = [] }) => parts);
  const results = parts.flatMap(({ functionResponse }) => {
    if (functionResponse === undefined) return [];
    const { id = "", response = {} } = functionResponse;
    const isError = "error" in response;
    return [{ id, text: String(isError ? response.error : response.output), isError }];
  });
  const asked = parts.flatMap(({ text }) => (text === undefined ? [] : [text]));
  const system = (body.systemInstruction?.parts ?? []).map(({ text }) => text).join("\n");
  return { system, tools, asked, results };
}

/**
 * Roles take turns, calls are signed, and each is answered by its name and id in the next content.
 * @param {Content[]} contents
 */
function checkTurns(contents) {
  /** @type {string[]} */
  let open = [];
  contents.forEach(({ role, parts = [] }, at) => {
    assert.equal(role, at % 2 === 0 ? "user" : "model");
    assert.ok(parts.length > 0);
    const answered = parts.flatMap(({ functionResponse: made }) => (made === undefined ? [] : [`${made.name} ${made.id}`]));
    assert.deepEqual(answered, open, "calls and responses do not match");
    const calls = parts.filter(({ functionCall }) => functionCall !== undefined);
    if (calls.length > 0) assert.equal(calls[0].thoughtSignature, SIGNATURE, "the first call has lost its signature");
    open = calls.map(({ functionCall }) => `${functionCall?.name} ${functionCall?.id}`);
    assert.ok(calls.every(({ functionCall }) => NAME.test(functionCall?.name ?? "") && typeof functionCall?.args === "object"));
  });
  assert.deepEqual(open, [], "calls without responses");
}

/** @type {import("./kinds.mjs").Vendor["converse"]} */
async function converse(url, key, body) {
  const { origin } = new URL(url);
  const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin } });
  const { contents, ...config } = body;
  let text = "";
  const calls = [];
  for await (const { candidates = [] } of await client.models.generateContentStream({ model: MODEL, contents, config })) {
    for (const part of candidates[0]?.content?.parts ?? []) {
      text += part.text ?? "";
      if (part.functionCall) calls.push({ id: part.functionCall.id ?? "", name: part.functionCall.name ?? "", args: part.functionCall.args });
    }
  }
  return { text, calls };
}
