// The door: asks for the token, or for name and password where the gateway has users, and goes on to the page.

import { ask } from "./ask.js";
import { chooseLanguage, label, setLanguage, text } from "./language.js";
import { LOCAL_USER, LOGIN_FAILED, LOGIN_PATH, loginBody } from "./protocol/aicore.js";

/** Only pages of this gateway, so the address names the page by a word and not by a path. */
const PAGES = new Map([["analyst", "/analyst"], ["smol", "/smol/"]]);

const find = (selector) => document.querySelector(selector);
const query = new URLSearchParams(window.location.search);
const form = find("#login");

setLanguage(chooseLanguage(query.get("lang") ?? "", navigator.language));
if (query.has("wrong")) showTrouble(text("loginWrongToken"));
form.addEventListener("submit", submit);
await prepare();

/** Who is logged in already has no business here. */
async function prepare() {
  const answer = await fetch("/api/me");
  if (answer.ok) return goOn();
  const { users } = await answer.json();
  find("#name-row").hidden = !users;
  find("#name").required = users;
  label(find("#hint"), users ? "loginHintUser" : "loginHintToken");
  label(find("#secret-label"), users ? "loginPassword" : "loginToken");
  form.hidden = false;
  find(users ? "#name" : "#secret").focus();
}

async function submit(event) {
  event.preventDefault();
  const button = find("button");
  button.disabled = true;
  try {
    const name = find("#name-row").hidden ? LOCAL_USER : find("#name").value;
    const { ok, code, message } = await ask(LOGIN_PATH, loginBody(name, find("#secret").value.trim()));
    if (ok) return goOn();
    showTrouble(code === LOGIN_FAILED && name === LOCAL_USER ? text("loginWrongSecret") : message);
    find("#secret").select();
  } catch (error) {
    showTrouble(text("loginFailed", { reason: error.message }));
  } finally {
    button.disabled = false;
  }
}

function goOn() {
  const path = PAGES.get(query.get("next")) ?? "/";
  ["wrong", "next"].forEach((name) => query.delete(name));
  const rest = query.toString();
  window.location.replace(rest === "" ? path : `${path}?${rest}`);
}

function showTrouble(words) {
  find("#trouble").textContent = words;
  find("#trouble").hidden = false;
}
