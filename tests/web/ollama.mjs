// An Ollama with one small model, that is not there until a test wants it.

import http from "node:http";

const MODEL = "tiny";

export async function openOllama(answer) {
  let isThere = false;
  const server = http.createServer((request, response) => {
    if (!isThere) return response.writeHead(404).end();
    request.resume().on("end", () => reply(request.url, response));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  function reply(path, response) {
    if (path === "/api/tags") return response.end(JSON.stringify({ models: [{ name: MODEL }] }));
    if (path === "/api/show") return response.end(JSON.stringify({ capabilities: ["completion"] }));
    const pieces = [{ delta: { content: answer } }, { delta: {}, finish_reason: "stop" }];
    const events = pieces.map((piece) => `data: ${JSON.stringify({ choices: [{ index: 0, ...piece }] })}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream" }).end(`${events.join("")}data: [DONE]\n\n`);
  }

  return {
    /** For OLLAMA_HOST. */
    host: `127.0.0.1:${server.address().port}`,
    /** What the gateway calls its model. */
    model: `ollama:${MODEL}`,
    start: () => (isThere = true),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
