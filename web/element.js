// Makes elements. Words from outside become text, never markup.

import { label } from "./language.js";

export function element(tag, className = "", words = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = words;
  return node;
}

/** An element whose words follow the language of the page. */
export function worded(tag, className, key, values = {}) {
  return label(element(tag, className), key, values);
}

export function button(className, key, onClick) {
  const node = worded("button", className, key);
  node.type = "button";
  if (onClick !== undefined) node.addEventListener("click", onClick);
  return node;
}

/** For what holds other elements; nothing is made of the missing ones. */
export function box(tag, className, ...children) {
  const node = element(tag, className);
  node.append(...children.filter((child) => child !== null));
  return node;
}
