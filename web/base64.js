// Bytes to base64 and back, for audio in JSON.

/** Argument lists have a limit, so the characters are made in slices. */
const SLICE = 0x2000;

export function toBase64(bytes) {
  let binary = "";
  for (let start = 0; start < bytes.length; start += SLICE) {
    binary += String.fromCharCode(...bytes.subarray(start, start + SLICE));
  }
  return btoa(binary);
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
