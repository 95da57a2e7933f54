// Files on their way in: chosen, dropped or pasted, and read as base64.

/** The gateway takes frames of 32 MiB; base64 adds a third and the packet some more. */
export const FILE_LIMIT_MIB = 23;

export function isTooLarge(file) {
  return file.size > FILE_LIMIT_MIB * 1024 * 1024;
}

export function readBase64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

export function acceptDropsAndPastes(area, onFiles) {
  area.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    area.classList.add("dropping");
  });
  area.addEventListener("dragleave", (event) => {
    if (!area.contains(event.relatedTarget)) area.classList.remove("dropping");
  });
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("dropping");
    onFiles([...event.dataTransfer.files]);
  });
  area.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    onFiles(files);
  });
}

export function acceptChosen(button, input, onFiles) {
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    onFiles([...input.files]);
    input.value = "";
  });
}
