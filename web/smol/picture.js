// Pictures of the agent. What is no picture says so instead of being loaded.

import { wordsOf } from "./words.js";

export const MOST_PICTURES = 40;
/** Of all pictures together; the oldest ones go first. */
const MOST_CHARACTERS = 64_000_000;
const TYPES = { png: "png", jpg: "jpeg", jpeg: "jpeg", gif: "gif", bmp: "bmp", svg: "svg+xml", webp: "webp" };
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function addPicture(state, frame) {
  const number = (state.images.at(-1)?.number ?? 0) + 1;
  const picture = { key: state.next, number, ...readPicture(frame) };
  return { ...state, next: state.next + 1, images: bounded([...state.images, picture]) };
}

/** The address of its bytes; null if they cannot be shown. */
export function addressOf({ type, data }) {
  return type === null ? null : `data:image/${type};base64,${data}`;
}

function readPicture({ content, format, path }) {
  const data = wordsOf(content).replace(/\s+/g, "");
  const ending = wordsOf(format).toLowerCase();
  const type = Object.hasOwn(TYPES, ending) && BASE64.test(data) ? TYPES[ending] : null;
  return { type, format: ending.slice(0, 10), name: fileName(path), data: type === null ? "" : data };
}

function bounded(images) {
  let kept = images.slice(-MOST_PICTURES);
  const size = () => kept.reduce((sum, { data }) => sum + data.length, 0);
  while (kept.length > 1 && size() > MOST_CHARACTERS) kept = kept.slice(1);
  return kept;
}

function fileName(path) {
  return wordsOf(path).split(/[/\\]/).at(-1).slice(0, 200);
}
