// The switches of the page: their states, their buttons, and what a session remembers of them.

/** Capture must be a deliberate act every time, so the microphone is told to the session but never restored. */
const NEVER_RESTORED = new Set(["microphone"]);

const DEFAULTS = {
  microphone: false,
  speaker: true,
  files: true,
  chat: true,
  camera: false,
  agent1: true,
  agent2: true,
  agent3: true,
  agent4: true,
  log: false,
  mode: "chat",
};

/** `onChange(name, value)` for every change; `onUser(all)` only for changes made by a person. */
export function createSwitches(root, { onChange, onUser }) {
  const values = { ...DEFAULTS };
  const buttons = [...root.querySelectorAll("[data-switch]")];

  function set(name, value) {
    values[name] = value;
    for (const button of buttons) {
      if (button.dataset.switch === name) button.setAttribute("aria-pressed", String(value));
    }
    onChange(name, value);
  }

  function setByUser(name, value) {
    set(name, value);
    onUser({ ...values });
  }

  for (const button of buttons) {
    const name = button.dataset.switch;
    button.addEventListener("click", () => setByUser(name, !values[name]));
  }

  return {
    setByUser,
    drawAll() {
      Object.entries(values).forEach(([name, value]) => set(name, value));
    },
    restore(saved) {
      for (const [name, value] of Object.entries(saved)) {
        const fits = typeof value === typeof DEFAULTS[name];
        if (fits && !NEVER_RESTORED.has(name) && values[name] !== value) set(name, value);
      }
    },
    get(name) {
      return values[name];
    },
  };
}
