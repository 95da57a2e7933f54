// The words of the page: picks a language and writes its texts into marked elements.

import en from "./locales/en.js";
import ja from "./locales/ja.js";

const LOCALES = { en, ja };
let current = "en";

export function chooseLanguage(wanted, preferred) {
  if (wanted in LOCALES) return wanted;
  return preferred.toLowerCase().startsWith("ja") ? "ja" : "en";
}

/** For a page with texts of its own: `{ en, ja }`. */
export function addTexts(more) {
  for (const language of Object.keys(LOCALES)) LOCALES[language] = { ...LOCALES[language], ...more[language] };
}

export function setLanguage(language) {
  current = language;
  document.documentElement.lang = language;
  translate(document.documentElement);
}

export function otherLanguage() {
  return current === "ja" ? "en" : "ja";
}

/** `{name}` in a text is replaced by `values.name`. */
export function text(key, values = {}) {
  const template = LOCALES[current][key] ?? key;
  return template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** Marks an element, so that it follows a later change of language. */
export function label(element, key, values = {}) {
  element.dataset.text = key;
  element.dataset.values = JSON.stringify(values);
  element.textContent = text(key, values);
  return element;
}

/** The same for the name of an element that shows no words, or too few of them. */
export function name(element, key, values = {}) {
  element.dataset.label = key;
  element.dataset.values = JSON.stringify(values);
  nameAgain(element);
  return element;
}

function nameAgain(element) {
  const words = text(element.dataset.label, valuesOf(element));
  element.setAttribute("aria-label", words);
  // A tooltip helps on what can be clicked, and only gets in the way of what is read.
  if (element.matches("button, label, li.dot, span")) element.title = words;
}

function translate(root) {
  for (const element of root.querySelectorAll("[data-text]")) {
    element.textContent = text(element.dataset.text, valuesOf(element));
  }
  root.querySelectorAll("[data-label]").forEach(nameAgain);
  for (const element of root.querySelectorAll("[data-hint]")) {
    element.placeholder = text(element.dataset.hint, valuesOf(element));
  }
}

function valuesOf(element) {
  return JSON.parse(element.dataset.values ?? "{}");
}
