// Figures and tables that the code has made.

import { createDetails } from "../details.js";
import { box, element, worded } from "../element.js";
import { name as nameElement } from "../language.js";
import { readTable } from "./records.js";
import { createTable } from "./tableview.js";

/** `open(artifact)` shows it larger. The box has its size before the picture is there, so nothing moves. */
export function createFigure(artifact, open, caption = artifact.description || artifact.file_name) {
  const image = element("img");
  image.alt = caption;
  image.decoding = "async";
  image.src = artifact.url;
  const enlarge = nameElement(box("button", "enlarge", image), "enlarge", { name: caption });
  enlarge.type = "button";
  enlarge.addEventListener("click", () => open(artifact));
  image.addEventListener("error", () => enlarge.replaceWith(worded("p", "lost", "missingFigure", { name: artifact.file_name })));
  return box("figure", "", enlarge, element("figcaption", "", caption));
}

/** Loaded when somebody looks at it. */
export function createTableFile(artifact) {
  const name = artifact.description || artifact.file_name;
  return createDetails("table-file", "showTable", { name }, () => loadInto(element("div", "loading"), artifact), false);
}

function loadInto(node, artifact) {
  loadTable(artifact).then(
    (table) => node.replaceChildren(createTable(table), downloadLink(artifact.url, "download")),
    () => node.replaceChildren(worded("p", "lost", "missingTable", { name: artifact.file_name })),
  );
  return node;
}

async function loadTable({ url, media_type: mediaType = "text/csv" }) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(answer.statusText);
  const table = readTable(await answer.text(), mediaType);
  if (table === null) throw new Error(mediaType);
  return table;
}

export function downloadLink(url, key) {
  const link = worded("a", "button", key);
  link.href = url;
  link.download = "";
  return link;
}
