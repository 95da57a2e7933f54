// The part of the AI Core dialect that is about agents at work: their questions, their steps and their results.

import { KEYS } from "./keys.js";

/** The channels on which they work. */
export const AGENTS = Object.freeze(["1", "2", "3", "4"]);

/** What the gateway tells, by kind; each takes the content of a packet. */
const READERS = Object.freeze({
  confirm_request: question,
  confirm_result: verdict,
  tool,
  plan: (body) => ({ steps: listOf(body[KEYS.steps], planStep) }),
  state: (body) => ({ state: textOf(body[KEYS.state]) }),
  usage,
  result,
  compare: (body) => ({ rows: listOf(body[KEYS.rows], comparison) }),
  diff,
  backups: (body) => ({ rows: listOf(body[KEYS.backups], backup) }),
  accept: chosen,
  discard: chosen,
  restore: chosen,
});

export function reader(kind) {
  return Object.hasOwn(READERS, kind) ? READERS[kind] : null;
}

/** What a person decided about a question of an agent. */
/** `twice`: the user has pressed a second time, which the gateway demands for what is dangerous. */
export function answer(id, { approved, always, twice = false }) {
  const body = { id, [KEYS.approved]: approved, [KEYS.always]: always };
  if (twice) body[KEYS.twice] = true;
  return { [KEYS.kind]: "confirm_answer", [KEYS.body]: body };
}

export function compare(channels, check) {
  return { [KEYS.kind]: "compare", [KEYS.target]: channels.join(","), [KEYS.body]: { [KEYS.check]: check } };
}

/** `path` is null for all files. */
export function showDiff(channel, path = null) {
  const packet = about(channel, "diff");
  return path === null ? packet : { ...packet, [KEYS.body]: { [KEYS.path]: path } };
}

/**
 * `branch` is { name, message } or null for the project's own files. `version` is what the user has seen; the gateway
 * accepts nothing else.
 */
export function accept(channel, branch = null, version = null) {
  const packet = about(channel, "accept");
  const seen = version === null ? {} : { [KEYS.version]: version };
  if (branch !== null) return { ...packet, [KEYS.body]: { [KEYS.branch]: branch.name, [KEYS.comment]: branch.message, ...seen } };
  return version === null ? packet : { ...packet, [KEYS.body]: seen };
}

export function discard(channel) {
  return about(channel, "discard");
}

export function restore(channel, run) {
  return { ...about(channel, "restore"), [KEYS.body]: { [KEYS.run]: run } };
}

/** Of the channel's agent, or of the project. */
export function restoreBackup(channel, name) {
  return { ...about(channel, "restore"), [KEYS.body]: { [KEYS.backup]: name } };
}

/** All of them without a channel. */
export function listBackups(channel = null) {
  return channel === null ? { [KEYS.kind]: "backups" } : about(channel, "backups");
}

function about(channel, kind) {
  return { [KEYS.channel]: channel, [KEYS.kind]: kind };
}

function question(body) {
  const warning = body[KEYS.warning] ?? {};
  return {
    id: textOf(body.id),
    agent: textOf(body[KEYS.channel]),
    tool: textOf(body[KEYS.tool]),
    input: textOf(body[KEYS.input]),
    diff: body[KEYS.diff] ?? null,
    level: textOf(warning.level),
    reason: textOf(warning.message),
    seconds: numberOf(body[KEYS.limit]),
  };
}

function verdict(body) {
  return {
    id: textOf(body.id),
    agent: textOf(body[KEYS.channel]),
    approved: body[KEYS.approved] === true,
    by: textOf(body[KEYS.decider]),
  };
}

function tool(body) {
  return {
    id: textOf(body.id),
    name: textOf(body[KEYS.name]),
    sort: textOf(body[KEYS.sort]),
    state: textOf(body[KEYS.state]),
    input: body[KEYS.input] ?? null,
    output: body[KEYS.output] ?? null,
    error: body[KEYS.error] ?? null,
    paths: listOf(body[KEYS.path], String),
    ungated: body[KEYS.ungated] === true,
  };
}

function planStep(entry) {
  return { text: textOf(entry[KEYS.text]), state: textOf(entry[KEYS.state]) };
}

function usage(body) {
  return { used: numberOf(body[KEYS.tokensUsed]), most: numberOf(body[KEYS.tokensMost]), cost: costOf(body) };
}

function result(body) {
  return {
    place: body[KEYS.workplace] ?? null,
    outcome: textOf(body[KEYS.state]),
    seconds: numberOf(body[KEYS.seconds]),
    tokens: numberOf(body[KEYS.tokens]),
    cost: costOf(body),
    files: listOf(body[KEYS.changes], change),
    more: body[KEYS.more] === true,
    overlaps: listOf(body[KEYS.overlaps], overlap),
    leftOut: listOf(body[KEYS.leftOut], String),
    version: body[KEYS.version] ?? null,
  };
}

function comparison(row) {
  return {
    agent: textOf(row[KEYS.channel]),
    name: textOf(row[KEYS.agent]),
    place: textOf(row[KEYS.workplace]),
    run: row[KEYS.run] ?? null,
    outcome: row[KEYS.state] ?? null,
    fileCount: numberOf(row[KEYS.changeCount]) ?? 0,
    added: numberOf(row[KEYS.added]) ?? 0,
    removed: numberOf(row[KEYS.removed]) ?? 0,
    seconds: numberOf(row[KEYS.seconds]),
    tokens: numberOf(row[KEYS.tokens]),
    cost: costOf(row),
    check: checkOf(row[KEYS.check]),
    overlaps: listOf(row[KEYS.overlaps], overlap),
    leftOut: listOf(row[KEYS.leftOut], String),
    version: row[KEYS.version] ?? null,
    reason: row[KEYS.reason] ?? null,
  };
}

function checkOf(check) {
  if (check === null || check === undefined) return null;
  return { code: numberOf(check[KEYS.exitCode]), output: textOf(check[KEYS.output]) };
}

function diff(body) {
  return {
    path: body[KEYS.path] ?? null,
    files: listOf(body[KEYS.changes], change),
    text: textOf(body[KEYS.diff]),
    truncated: body[KEYS.more] === true,
    version: body[KEYS.version] ?? null,
  };
}

function chosen(body) {
  return {
    outcome: textOf(body[KEYS.outcome]),
    files: listOf(body[KEYS.changes], String),
    branch: body[KEYS.branch] ?? null,
    backup: body[KEYS.backup] ?? null,
    leftOut: listOf(body[KEYS.leftOut], String),
    conflicts: listOf(body[KEYS.conflicts], (entry) => ({
      path: textOf(entry[KEYS.path]),
      sort: textOf(entry[KEYS.sort]),
    })),
    reason: body[KEYS.reason] ?? null,
  };
}

function backup(entry) {
  return {
    name: textOf(entry[KEYS.backup]),
    before: entry[KEYS.before] ?? null,
    run: numberOf(entry[KEYS.run]),
    made: textOf(entry[KEYS.made]),
    agent: entry[KEYS.channel] ?? null,
  };
}

function change(entry) {
  return {
    path: textOf(entry[KEYS.path]),
    oldPath: entry[KEYS.oldPath] ?? null,
    status: textOf(entry[KEYS.state]),
    added: numberOf(entry[KEYS.added]),
    removed: numberOf(entry[KEYS.removed]),
  };
}

function overlap(entry) {
  return { path: textOf(entry[KEYS.path]), agents: listOf(entry[KEYS.channel], String) };
}

function costOf(body) {
  const cost = body[KEYS.cost];
  if (cost === null || cost === undefined) return null;
  return { amount: numberOf(cost[KEYS.amount]) ?? 0, currency: textOf(cost[KEYS.currency]) };
}

function listOf(value, read) {
  return Array.isArray(value) ? value.map((entry) => read(entry ?? {})) : [];
}

function textOf(value) {
  return value === null || value === undefined ? "" : String(value);
}

function numberOf(value) {
  return typeof value === "number" ? value : null;
}
