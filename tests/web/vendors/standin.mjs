// A server in a vendor's place: it refuses what the vendor would refuse, and answers what a test has told it.

import http from "node:http";

/** Bytes of one write: neither events nor letters end where these do. */
const PIECE = 61;

/** @param {import("./kinds.mjs").Vendor} vendor */
export async function openVendor(vendor) {
  /** @type {import("./kinds.mjs").Answer[]} */
  const answers = [];
  /** @type {{ body: any, read: import("./kinds.mjs").Request }[]} */
  const requests = [];
  /** @type {string[]} */
  const refusals = [];
  let hungUp = 0;

  const server = http.createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    try {
      const body = JSON.parse(Buffer.concat(pieces).toString());
      const read = vendor.read(request.url ?? "", request.headers, body);
      requests.push({ body, read });
    } catch (error) {
      refusals.push(String(error));
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(vendor.refuse(String(error))));
      return;
    }
    const answer = answers.shift() ?? { text: "nothing more to say" };
    response.on("close", () => (hungUp += response.writableFinished ? 0 : 1));
    response.writeHead(200, { "content-type": "text/event-stream" });
    const bytes = Buffer.from(vendor.stream(answer));
    for (let at = 0; at < bytes.length; at += PIECE) {
      response.write(bytes.subarray(at, at + PIECE));
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (!answer.hangs) response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());

  return {
    url: `http://127.0.0.1:${port}${vendor.base}`,
    /** What has been asked, oldest first. */
    requests,
    /** What the vendor would have refused. */
    refusals,
    /** Answers that the other side did not wait for. */
    hungUp: () => hungUp,
    /** @param {import("./kinds.mjs").Answer[]} more */
    willAnswer(...more) {
      answers.push(...more);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
