// The pictures of the agent, the newest one in view; a click shows one as large as the window.

import { box, element, worded } from "../element.js";
import { name as nameElement, text } from "../language.js";
import { createKeyed } from "./keyed.js";
import { addressOf } from "./picture.js";

/** `open(key)` shows one of them larger. */
export function createImages(root, open) {
  const [gallery, nothing, count] = ["#gallery", ".nothing", "#image-count"].map((part) => root.querySelector(part));
  const series = createKeyed(gallery, (image) => createImage(image, open));
  let newest = null;
  let shown = null;

  return {
    update(images) {
      if (images === shown) return;
      shown = images;
      series.update(images);
      nothing.hidden = images.length > 0;
      root.dataset.empty = String(images.length === 0);
      count.textContent = images.length === 0 ? "" : String(images.length);
      // Not by scrollIntoView: on a narrow window it would move the whole page.
      if (images.length > 0 && images.at(-1).key !== newest) gallery.scrollTo(gallery.scrollWidth, gallery.scrollHeight);
      newest = images.at(-1)?.key ?? null;
    },
    /** Neither what is no picture nor what could not be read is one to look at. */
    isSeen: (key) => gallery.querySelector(`[data-key="${key}"] .enlarge`) !== null,
    reset() {
      series.reset();
      shown = null;
    },
  };
}

/** What a picture is called: its file, or its place among all that was shown. */
export function titleOf({ name, number }) {
  return name === "" ? text("imageNumber", { number }) : name;
}

function createImage(image, open) {
  const node = createPicture(image, open);
  node.dataset.key = image.key;
  return node;
}

function createPicture(image, open) {
  const address = addressOf(image);
  const title = titleOf(image);
  if (address === null) return box("li", "", lost(image, title));
  const picture = element("img");
  picture.alt = title;
  picture.decoding = "async";
  picture.src = address;
  const enlarge = nameElement(box("button", "enlarge", picture), "enlargeImage", { name: title });
  enlarge.type = "button";
  enlarge.addEventListener("click", () => open(image.key));
  picture.addEventListener("error", () => enlarge.replaceWith(lost(image, title)));
  return box("li", "", enlarge, element("p", "title", title));
}

function lost({ format }, title) {
  return box("div", "lost", element("p", "", title), worded("p", "", "imageLost", { format: format || "?" }));
}
