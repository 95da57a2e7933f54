// The files on their way: a row for each, one upload after the other, so that the last one chosen becomes `df`.

import { box, button, element, worded } from "../element.js";
import { label, name as nameElement } from "../language.js";
import { sendFile } from "./upload.js";

const KNOWN = new Set([400, 404, 413, 422, 503]);
/** The same file would be refused again. */
const FINAL = new Set([400, 404, 413, 422]);
const LARGE_BYTES = 100 * 1024 * 1024;
const MEGABYTE = 1024 * 1024;

/** `session()` names the session, if there is one; `onStored(body, file)` and `onLoggedOut()` tell what came of it. */
export function createUploads(list, { session, language, onStored, onLoggedOut }) {
  let last = Promise.resolve();

  function add(file) {
    const row = createRow(file.name);
    list.append(row.node);
    row.wait();
    last = last.then(() => send(file, row));
  }

  async function send(file, row) {
    if (row.isGone) return;
    const sent = sendFile(file, { session: session(), language: language(), onProgress: row.progress });
    row.onCancel = sent.cancel;
    row.progress(0);
    const { status, body } = await sent.answered;
    if (status === 401) return onLoggedOut();
    if (status === 201) onStored(body, file);
    if (status === 201 || status === null) return row.remove();
    row.fail(troubleOf(status, body, file), FINAL.has(status) ? null : () => again(file, row));
  }

  function again(file, row) {
    row.remove();
    add(file);
  }

  return { add: (files) => files.forEach(add) };
}

/** What happened, in the server's words if it has any, and what can be done. */
function troubleOf(status, body, file) {
  const said = body?.message ?? null;
  if (KNOWN.has(status)) return { said, why: `upload${status}`, hint: `upload${status}Do`, values: {} };
  const size = Math.round(file.size / MEGABYTE);
  if (status === 0) return { said, why: file.size > LARGE_BYTES ? "uploadOfflineLarge" : "uploadOffline", hint: null, values: { size } };
  return { said, why: "uploadOther", hint: null, values: { status } };
}

function createRow(name) {
  const bar = element("progress");
  bar.max = 100;
  nameElement(bar, "uploadProgress", { name });
  const state = element("span", "upload-state");
  const stop = nameElement(element("button", "dismiss"), "uploadCancel", { name });
  stop.type = "button";
  const node = box("li", "upload", element("span", "upload-name", name), state, stop, bar);
  const row = {
    node,
    isGone: false,
    onCancel: null,
    wait() {
      bar.value = 0;
      label(state, "uploadWaiting");
    },
    // After the last byte the gateway still reads the table.
    progress(share) {
      const percent = Math.round(share * 100);
      if (percent >= 100) bar.removeAttribute("value");
      else bar.value = percent;
      label(state, percent >= 100 ? "reading" : "uploading", { percent });
    },
    remove() {
      row.isGone = true;
      node.remove();
    },
    /** `again` is null where another attempt would end the same way. */
    fail({ said, why, hint, values }, again) {
      row.onCancel = null;
      nameElement(stop, "uploadDismiss", { name });
      node.classList.add("failed");
      bar.remove();
      state.remove();
      const reason = said === null ? worded("p", "said", why, values) : element("p", "said", said);
      const advice = hint === null ? null : worded("p", "", hint);
      const words = box("div", "upload-trouble", reason, advice, again === null ? null : button("again", "retry", again));
      words.setAttribute("role", "alert");
      node.append(words);
    },
  };
  stop.addEventListener("click", () => (row.onCancel === null ? row.remove() : row.onCancel()));
  return row;
}
