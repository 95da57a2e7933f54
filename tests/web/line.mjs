// A TCP line to the gateway that a test can cut and mend, as a lost network would.
// The browser is told to use it underneath, so that Host and Origin stay those of the gateway.

import net from "node:net";

export async function openLine(target) {
  const { hostname, port } = new URL(target);
  const ends = new Set();
  let broken = false;

  const server = net.createServer((near) => {
    if (broken) return near.destroy();
    const far = net.connect(Number(port), hostname);
    for (const end of [near, far]) keep(ends, end);
    near.pipe(far).pipe(near);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    resolverRule: `MAP ${hostname}:${port} 127.0.0.1:${server.address().port}`,
    cut() {
      broken = true;
      for (const end of ends) end.destroy();
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
