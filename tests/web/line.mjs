// A TCP line to the gateway that a test can cut and mend, as a lost network would.
// The browser is told to use it underneath, so that Host and Origin stay those of the gateway.

import net from "node:net";
import { Transform } from "node:stream";

export async function openLine(target) {
  const { hostname, port } = new URL(target);
  const ends = new Set();
  let broken = false;
  let left = Infinity;

  const server = net.createServer((near) => {
    if (broken) return near.destroy();
    const far = net.connect(Number(port), hostname);
    for (const end of [near, far]) keep(ends, end);
    near.pipe(far).pipe(new Transform({ transform })).pipe(near);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  /** Passes on what the gateway says, as long as the line holds. */
  function transform(bytes, _, done) {
    const passed = bytes.subarray(0, left);
    left -= passed.length;
    done(null, passed);
    if (left > 0) return;
    left = Infinity;
    const cut = [...ends];
    setTimeout(() => cut.forEach((end) => end.destroy()), 50);
  }

  return {
    url: `http://127.0.0.1:${server.address().port}`,
    resolverRule: `MAP ${hostname}:${port} 127.0.0.1:${server.address().port}`,
    cut() {
      broken = true;
      for (const end of ends) end.destroy();
    },
    /** Cuts every connection once so many bytes more have come from the gateway, wherever that is; new ones hold. */
    cutAfter(bytes) {
      left = bytes;
    },
    mend() {
      broken = false;
    },
    async close() {
      this.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function keep(ends, end) {
  ends.add(end);
  end.on("close", () => ends.delete(end));
  end.on("error", () => end.destroy());
}
