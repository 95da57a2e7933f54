// A vendor of live models that speaks Realtime's own JSON, so that a test decides what is answered, and when.

import http from "node:http";
import { accept, frame } from "./websocket.mjs";

export async function openVendor() {
  const received = [];
  const waiting = new Set();
  let wire;
  const server = http.createServer();
  server.on("upgrade", (request, socket) => {
    wire = socket;
    accept(request, socket, (text) => hear(JSON.parse(text)));
    say({ type: "session.created", session: {} });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  function say(event) {
    wire.write(frame(JSON.stringify(event)));
  }

  function hear(event) {
    received.push(event);
    if (event.type === "session.update") say({ type: "session.updated", session: {} });
    for (const check of waiting) check();
  }

  const sent = (type) => received.filter((event) => event.type === type);

  return {
    url: `ws://127.0.0.1:${server.address().port}/v1`,
    say,
    /** What the gateway has sent of one type, oldest first. */
    sent,
    /** The first event of this type that fits, now or later. */
    next(type, patience, fits = () => true) {
      return new Promise((resolve, reject) => {
        const check = () => {
          const found = sent(type).find(fits);
          if (found === undefined) return;
          waiting.delete(check);
          clearTimeout(timer);
          resolve(found);
        };
        const timer = setTimeout(() => reject(new Error(`no such ${type}`)), patience);
        waiting.add(check);
        check();
      });
    },
    /** Until a second of the microphone is nothing. */
    silence(patience) {
      const isNothing = (event) => Buffer.from(event.audio, "base64").every((byte) => byte === 0);
      const enough = () => sent("input_audio_buffer.append").slice(-50).every(isNothing);
      return this.next("input_audio_buffer.append", patience, enough);
    },
    /** A whole answer in a burst: each word with so many seconds of a tone. */
    answer(id, words, secondsPerWord) {
      const part = (kind, delta) => ({ type: kind, response_id: id, item_id: `item-${id}`, delta });
      say({ type: "response.created", response: { id } });
      words.forEach((word, index) => {
        say(part("response.output_audio_transcript.delta", `${index === 0 ? "" : " "}${word}`));
        say(part("response.output_audio.delta", tone(secondsPerWord)));
      });
      say({ type: "response.done", response: { id, status: "completed", output: [] } });
    },
    async close() {
      wire?.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function tone(seconds) {
  const samples = Int16Array.from({ length: 24_000 * seconds }, (_, at) => 16_000 * Math.sin((2 * Math.PI * 300 * at) / 24_000));
  return Buffer.from(samples.buffer).toString("base64");
}
