// A text box that sends: Enter sends, Shift+Enter breaks the line.

/** `onText(words)` may answer false: then the words stay where they are. */
export function createComposer(form, onText) {
  const box = form.querySelector("textarea");

  function submit() {
    const words = box.value.trim();
    if (words === "") return;
    if (onText(words) !== false) box.value = "";
  }

  box.addEventListener("keydown", (event) => {
    // While an input method is composing, Enter only accepts its suggestion.
    // One browser ends the composition before it reports the key; there only the old code 229 tells.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    submit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  return {
    focus: () => box.focus(),
    /** Gives words back that could not be sent, unless others were typed since. */
    restore(words) {
      if (box.value === "") box.value = words;
    },
  };
}
