// A gateway of the test's own, for what needs settings of its own.
// KAKEHASHI_PROGRAM names the program; the default is the one that cargo has built last.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const BUILT = fileURLToPath(new URL("../../target/debug/kakehashi", import.meta.url));
const PROGRAM = process.env.KAKEHASHI_PROGRAM ?? BUILT;
// Packages for analyses that the tests share; `scripts/test` makes them. Without them the first analysis does.
const PACKAGES = fileURLToPath(new URL("../../target/tmp/python-data/python", import.meta.url));

/** `settings` is its configuration file, `environment` what it has besides the test's own, `files` lie beside the file. */
export async function startGateway(settings, environment = {}, files = {}) {
  const folder = mkdtempSync(join(tmpdir(), "kakehashi-own-"));
  const [project, data, config] = ["project", "data", "kakehashi.toml"].map((name) => join(folder, name));
  mkdirSync(project);
  mkdirSync(data);
  if (existsSync(PACKAGES)) symlinkSync(PACKAGES, join(data, "python"));
  writeFileSync(config, settings);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const options = ["serve", "--no-open", "--listen", "127.0.0.1:0", "--project", project, "--data", data, "--config", config];
  // Keys of whoever runs the tests would offer their models.
  const own = Object.entries(process.env).filter(([name]) => !name.endsWith("_API_KEY"));
  const env = { ...Object.fromEntries(own), ...environment };
  const gateway = spawn(PROGRAM, options, { stdio: ["ignore", "pipe", "pipe"], env, cwd: folder });
  const ended = new Promise((resolve) => gateway.once("exit", resolve));
  let log = "";
  gateway.stderr.on("data", (bytes) => (log += bytes));
  const url = await new Promise((resolve, reject) => {
    let said = "";
    gateway.stdout.on("data", (bytes) => {
      said += bytes;
      const found = /^open (.+)$/m.exec(said);
      if (found !== null) resolve(found[1]);
    });
    gateway.once("error", reject);
    ended.then((code) => reject(new Error(`the gateway ended with ${code}: ${log}`)));
  });
  return {
    url,
    project,
    token: new URL(url).searchParams.get("token"),
    async stop() {
      gateway.kill("SIGTERM");
      assert.equal(await ended, 0, log);
      rmSync(folder, { recursive: true });
    },
  };
}
