// Files from outside: dropped anywhere on the page, pasted, or chosen with a button.

import { acceptChosen } from "../upload.js";

export function acceptFiles({ overlay, button, input, onFiles }) {
  acceptChosen(button, input, onFiles);
  // Every element under the pointer reports its own entering and leaving.
  let inside = 0;

  function show(dragging) {
    overlay.classList.toggle("shown", dragging);
  }

  window.addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    inside += 1;
    show(true);
  });
  window.addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    inside = Math.max(0, inside - 1);
    show(inside > 0);
  });
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    inside = 0;
    show(false);
    if (event.dataTransfer.files.length > 0) onFiles([...event.dataTransfer.files]);
  });
  document.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    onFiles(files);
  });
}

function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
