// The chat's tools with each vendor's wire. Stand-ins of the vendors stream objects of the official packages' types and
// read the gateway's requests as these types; the official clients prove that the stand-ins speak the real wire.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { brief, is, isIdle, openSocket } from "./coreui.mjs";
import { startGateway } from "./gateway.mjs";
import { PATIENCE_MS } from "./browser.mjs";
import { anthropic } from "./vendors/anthropic.mjs";
import { gemini } from "./vendors/gemini.mjs";
import { openai } from "./vendors/openai.mjs";
import { openVendor } from "./vendors/standin.mjs";

const OFFERED = ["agent_request", "file_list", "file_read", "file_replace", "file_search", "file_write", "shell_execute"];

test("what the stand-ins say and read has the types of the official packages", () => {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const compiler = join(here, "node_modules", "typescript", "bin", "tsc");
  execFileSync(process.execPath, [compiler, "--project", here], { stdio: ["ignore", "inherit", "inherit"] });
});

const call = (id, name, ...pieces) => ({ id, name, pieces });

for (const vendor of [openai, anthropic, gemini]) {
  describe(`tools with ${vendor.kind}`, () => {
    let server;
    let gateway;
    let ui;

    before(async () => {
      server = await openVendor(vendor);
      const row = `[[chat]]\nname = "near"\nkind = "${vendor.kind}"\nbase_url = "${server.url}"\nmodel = "${vendor.model}"\nkey = "NEAR_KEY"\n`;
      gateway = await startGateway(`language = "en"\n${row}`, { NEAR_KEY: "secret" });
      writeFileSync(join(gateway.project, "a.txt"), "apples\n");
      writeFileSync(join(gateway.project, "b.txt"), "橋 and bears\n");
    });

    after(async () => {
      await ui?.close();
      await gateway?.stop();
      await server?.close();
    });

    /** A fresh session, and the number of the first request that it will make. */
    async function begin(...answers) {
      await ui?.close();
      ui = await openSocket(gateway, { features: "tools" });
      server.willAnswer(...answers);
      return server.requests.length;
    }

    /** What the gateway has asked since then, as the vendor reads it; the vendor has refused nothing. */
    function asked(since) {
      assert.deepEqual(server.refusals, []);
      return server.requests.slice(since).map(({ read }) => read);
    }

    test("two calls of one answer are carried out, and both results go back", async () => {
      const both = {
        text: "Let me look: 橋. ",
        calls: [
          call("call-a", "file_read", '{"pa', 'th": "a.t', 'xt"}'),
          call("call-b", "file_read", "{", '"path"', ': "b.', 'txt"', "}"),
        ],
      };
      const since = await begin(both, { text: "One has apples, the other bears." });
      ui.say("what is in the files?");
      const frames = await ui.until(isIdle);
      const [first, second, ...more] = asked(since);
      assert.deepEqual(more, []);
      assert.deepEqual(first.tools.map(({ name }) => name).sort(), OFFERED);
      for (const { description, schema } of first.tools) assert.ok(description && schema.type === "object", JSON.stringify(schema));
      assert.deepEqual([first.asked, first.results], [["what is in the files?"], []]);
      assert.deepEqual(second.results.map(({ id, isError }) => [id, isError]), [["call-a", false], ["call-b", false]]);
      assert.match(second.results[0].text, /apples/);
      assert.match(second.results[1].text, /橋 and bears/);
      const { content, metadata } = frames.find(is("onNewMessage")).payload;
      assert.match(content, /One has apples, the other bears\.$/);
      assert.equal(metadata.source_documents.length, 2);
      const calls = frames.filter(is("onToolCall")).map(({ payload }) => [payload.toolName, payload.args.path, payload.state]);
      assert.deepEqual(calls, ["a.txt", "b.txt"].flatMap((path) => [["file:read", path, "started"], ["file:read", path, "completed"]]));
      await proveWire(since, [both, { text: "One has apples, the other bears." }]);
    });

    /** The official client, given the gateway's requests, says the same and understands the same. */
    async function proveWire(since, answers) {
      const proof = await openVendor(vendor);
      try {
        for (const [at, answer] of answers.entries()) {
          proof.willAnswer(answer);
          const { body } = server.requests[since + at];
          const understood = await vendor.converse(proof.url, "secret", structuredClone(body));
          assert.deepEqual(withoutEmpty(proof.requests.at(-1).body), body, "the official client says it differently");
          const expected = (answer.calls ?? []).map(({ id, name, pieces }) => ({ id, name, args: JSON.parse(pieces.join("")) }));
          assert.deepEqual(understood, { text: answer.text, calls: expected });
        }
        assert.deepEqual(proof.refusals, []);
      } finally {
        await proof.close();
      }
    }

    test("a refused call goes back as a result that says so", async () => {
      const write = call("call-w", "file_write", '{"path": "made.txt",', ' "content": "no"}');
      const since = await begin({ calls: [write] }, { text: "Then not." });
      ui.say("write it down");
      const { confirmationId, toolName } = (await ui.until(is("onToolCallRequest"))).at(-1).payload;
      assert.equal(toolName, "file:write");
      ui.answer(confirmationId, false);
      const frames = await ui.until(isIdle);
      assert.equal(frames.find(is("onNewMessage")).payload.content, "Then not.");
      const [, { results }] = asked(since);
      assert.deepEqual(results.map(({ id, isError }) => [id, isError]), [["call-w", true]]);
      assert.match(results[0].text, /not allowed/);
      assert.equal(existsSync(join(gateway.project, "made.txt")), false);
    });

    test("an approved call among others is carried out, and the order of results is that of the calls", async () => {
      const calls = [call("call-1", "file_write", '{"path": "yes.txt", "content": "yes"}'), call("call-2", "file_read", '{"path": "yes.txt"}')];
      const since = await begin({ calls }, { text: "Done." });
      ui.say("write and read");
      const { confirmationId } = (await ui.until(is("onToolCallRequest"))).at(-1).payload;
      ui.answer(confirmationId, true);
      await ui.until(isIdle);
      const [, { results }] = asked(since);
      assert.deepEqual(results.map(({ id, isError }) => [id, isError]), [["call-1", false], ["call-2", false]]);
      assert.match(results[1].text, /yes/);
    });

    test("an unknown tool and arguments that do not fit go back as errors", async () => {
      // Gemini's arguments are always an object.
      const broken = vendor === gemini ? '{"path": 5}' : '{"path": "a.t';
      const calls = [call("call-x", "open_pod_bay", "{}"), call("call-y", "file_read", broken), call("call-z", "file_read", '{"file": "a.txt"}')];
      const since = await begin({ calls }, { text: "I am sorry." });
      ui.say("try something");
      const frames = await ui.until(isIdle);
      assert.equal(frames.find(is("onNewMessage")).payload.content, "I am sorry.");
      const [, { results }] = asked(since);
      assert.deepEqual(results.map(({ id, isError }) => [id, isError]), [["call-x", true], ["call-y", true], ["call-z", true]]);
      assert.match(results[0].text, /open_pod_bay.*file_read/);
      assert.ok(results.every(({ text }) => text.length > vendor.resultOfError.length));
    });

    test("several rounds of calls belong to one answer, and the next question has only its words", async () => {
      const rounds = [1, 2, 3].map((number) => ({ calls: [call(`round-${number}`, "file_list", "{}")] }));
      const since = await begin(...rounds, { text: "Three times." }, { text: "Yes." });
      ui.say("look three times");
      await ui.until(isIdle);
      ui.say("sure?");
      await ui.until(isIdle);
      const all = asked(since);
      assert.deepEqual(all.map(({ results }) => results.length), [0, 1, 2, 3, 0]);
      assert.deepEqual(all.at(-1).asked, ["look three times", "sure?"]);
    });

    test("a cancel closes the connection to the vendor, and the chat goes on", async () => {
      const since = await begin({ text: "This will take ", hangs: true }, { text: "Here again." });
      const before = server.hungUp();
      ui.say("think long");
      await until(() => server.requests.length > since);
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal(server.hungUp(), before);
      ui.send("cancel", {});
      await until(() => server.hungUp() > before);
      assert.deepEqual(brief(await ui.until(isIdle)).slice(-2), ["stopped", "waiting_for_input"]);
      ui.say("still there?");
      assert.equal((await ui.until(isIdle)).find(is("onNewMessage")).payload.content, "Here again.");
      assert.deepEqual(server.refusals, []);
    });

    test("a cancel while a question is open runs nothing, and the next request is one that the vendor takes", async () => {
      const write = call("call-w", "file_write", '{"path": "never.txt", "content": "no"}');
      await begin({ text: "I will write. ", calls: [write] }, { text: "As you like." });
      ui.say("write it down");
      const { confirmationId } = (await ui.until(is("onToolCallRequest"))).at(-1).payload;
      ui.send("cancel", {});
      await ui.until(isIdle);
      ui.answer(confirmationId, true);
      assert.equal((await ui.until(is("error"))).at(-1).payload.code, "UNKNOWN_CONFIRMATION");
      ui.say("leave it");
      assert.equal((await ui.until(isIdle)).find(is("onNewMessage")).payload.content, "As you like.");
      assert.equal(existsSync(join(gateway.project, "never.txt")), false);
      assert.deepEqual(server.refusals, []);
    });
  });
}

/** One of the clients sends settings that have nothing in them. */
function withoutEmpty(body) {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => JSON.stringify(value) !== "{}"));
}

async function until(isSo) {
  for (const end = Date.now() + PATIENCE_MS; !isSo(); ) {
    assert.ok(Date.now() < end, `in vain: ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
