// Clients of the core/UI interface, made of packages that others have written: a WebSocket, a stream of events,
// commands over HTTP and long polling.

import assert from "node:assert/strict";
import { EventSource } from "eventsource";
import WebSocket from "ws";
import { createInbox } from "./inbox.mjs";

export const isIdle = (frame) => frame.payload?.state === "waiting_for_input";
export const is = (type) => (frame) => frame.type === type;

/** Each frame by its type, a state by its name. */
export function brief(frames) {
  return frames.map(({ type, payload }) => (type === "onAgentStateChange" ? payload.state : type));
}

function address(gateway, path, query) {
  const url = new URL(path, gateway.url);
  url.search = new URLSearchParams(query).toString();
  return url;
}

const authorization = ({ token }) => ({ authorization: `Bearer ${token}` });

/** A WebSocket that has been greeted. */
export async function openSocket(gateway, query = {}) {
  const url = address(gateway, "/core-ui/ws", query);
  url.protocol = "ws:";
  const socket = new WebSocket(url, { headers: authorization(gateway) });
  const inbox = createInbox(`the socket ${url.search}`);
  socket.on("message", (bytes) => inbox.put(JSON.parse(bytes.toString())));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const [{ type, sessionId }] = await inbox.until(() => true);
  assert.equal(type, "connected");
  const send = (kind, payload, more = {}) => socket.send(JSON.stringify({ type: kind, payload, ...more }));
  return {
    session: sessionId,
    ...inbox,
    send,
    say: (text) => send("submitUserInput", { text }),
    answer: (confirmationId, approved) => send("provideConfirmation", { confirmationId, approved }),
    async close() {
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.close();
      await closed;
    },
  };
}

/** A stream of events. `origin` is where it connects, if that is not the gateway itself. */
export function openEvents(gateway, query, origin = gateway.url) {
  const url = new URL(address(gateway, "/core-ui/events", query).pathname, origin);
  url.search = new URLSearchParams(query).toString();
  const inbox = createInbox(`the stream ${url.search}`);
  const resumedAfter = [];
  const source = new EventSource(url, {
    fetch(input, init) {
      const headers = { ...init.headers, ...authorization(gateway) };
      resumedAfter.push(headers["Last-Event-ID"] ?? null);
      return fetch(input, { ...init, headers });
    },
  });
  source.addEventListener("message", ({ data, lastEventId }) => inbox.put({ ...JSON.parse(data), lastEventId }));
  return {
    ...inbox,
    /** What each connection of this stream said it has. */
    resumedAfter,
    close: () => source.close(),
  };
}

/** Sends a command; the answer is its status and body. */
export async function command(gateway, session, type, payload, more = {}) {
  const body = JSON.stringify({ type, payload, ...more });
  const headers = { ...authorization(gateway), "content-type": "application/json" };
  const query = session === null ? {} : { session };
  const answer = await fetch(address(gateway, "/core-ui/commands", query), { method: "POST", headers, body });
  return { status: answer.status, body: await answer.json() };
}

export async function poll(gateway, query = {}) {
  const answer = await fetch(address(gateway, "/core-ui/poll", query), { headers: authorization(gateway) });
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()).frames;
}

/** A session that nobody has said anything in. */
export async function newSession(gateway) {
  const [connected] = await poll(gateway);
  assert.equal(connected.type, "connected");
  return connected.sessionId;
}
