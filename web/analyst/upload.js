// One file on its way to the gateway, with progress, which fetch does not tell.

export const UPLOAD_PATH = "/analyst/upload";

/** `onProgress(share)` from 0 to 1. Settles with `{ status, body }`; status 0 is no answer, null a cancelled upload. */
export function sendFile(file, { session, language, onProgress }) {
  const request = new XMLHttpRequest();
  const answered = new Promise((resolve) => {
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total));
    request.addEventListener("load", () => resolve({ status: request.status, body: readBody(request.responseText) }));
    request.addEventListener("error", () => resolve({ status: 0, body: null }));
    request.addEventListener("abort", () => resolve({ status: null, body: null }));
  });
  const query = new URLSearchParams({ name: file.name, ...(session === null ? {} : { session }) });
  request.open("POST", `${UPLOAD_PATH}?${query}`);
  request.setRequestHeader("Accept-Language", language);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.send(file);
  return { answered, cancel: () => request.abort() };
}

function readBody(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
