// A tap on the page's sockets: what the gateway sends still comes, and a test may add packets of its own or answer
// commands in the gateway's place, for instance those of an agent that no scripted one can play.

import { KEYS, SOCKET_PATH } from "../../web/protocol/aicore.js";

export async function openTap(page) {
  const sockets = new Map();
  const answers = new Map();
  const sent = [];

  function tell(channel, kind, body, more = {}) {
    const packet = { [KEYS.channel]: channel, [KEYS.kind]: kind, [KEYS.body]: body, ...more };
    sockets.get(channel).send(JSON.stringify(packet));
  }

  function fromPage(socket, server, text) {
    const packet = JSON.parse(text);
    if (packet.type === "connect") sockets.set(packet[KEYS.socket], socket);
    sent.push(packet);
    const answer = answers.get(packet[KEYS.kind]);
    if (answer === undefined) return server.send(text);
    tell("input", "ack", "", { [KEYS.request]: packet[KEYS.request] });
    answer(packet);
  }

  await page.routeWebSocket(
    (url) => decodeURIComponent(url.pathname) === SOCKET_PATH,
    (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((text) => fromPage(socket, server, text));
      server.onMessage((text) => socket.send(text));
    },
  );

  return {
    tell,
    /** `answer(packet)` takes the place of the gateway for commands of this kind. */
    answerTo: (kind, answer) => answers.set(kind, answer),
    /** What the page has sent of one kind, oldest first. */
    sent: (kind) => sent.filter((packet) => packet[KEYS.kind] === kind),
  };
}
