// One picture as large as the window. Escape closes it, arrows go on, and the focus goes back to where it was.

import { text } from "../language.js";
import { titleOf } from "./images.js";
import { addressOf } from "./picture.js";

/** `images()` are all that can be shown now. */
export function createLightbox(dialog, images) {
  const find = (selector) => dialog.querySelector(selector);
  const [image, title, count, link] = ["img", "#lightbox-name", "figcaption .aside", "a"].map(find);
  let shown = null;

  function draw(picture) {
    const pictures = images();
    shown = picture.key;
    image.src = addressOf(picture);
    image.alt = title.textContent = titleOf(picture);
    count.textContent = text("imagePlace", { place: pictures.indexOf(picture) + 1, count: pictures.length });
    link.href = image.src;
    link.download = picture.name || `${shown}.${picture.format}`;
    [find(".previous"), find(".next")].forEach((button) => (button.hidden = pictures.length < 2));
  }

  function go(by) {
    const pictures = images();
    const place = pictures.findIndex(({ key }) => key === shown);
    if (pictures.length > 0) draw(pictures[(place + by + pictures.length) % pictures.length]);
  }

  find(".close").addEventListener("click", () => dialog.close());
  find(".previous").addEventListener("click", () => go(-1));
  find(".next").addEventListener("click", () => go(1));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target === image) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") go(-1);
    if (event.key === "ArrowRight") go(1);
  });
  dialog.addEventListener("close", () => image.removeAttribute("src"));

  return {
    open(key) {
      const picture = images().find((candidate) => candidate.key === key);
      if (picture === undefined) return;
      draw(picture);
      dialog.showModal();
      find(".close").focus();
    },
  };
}
