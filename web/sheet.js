// A dialog that leaves the rest of the page usable, because an agent may ask something meanwhile.

/** Closes with Escape and with its own button, and gives the focus back. */
export function createSheet(dialog, { onClose = () => {} } = {}) {
  let cameFrom = null;

  // Not by the event of the dialog: it comes later, when the sheet may be open again.
  function close() {
    if (!dialog.open) return;
    dialog.close();
    if (cameFrom?.isConnected) cameFrom.focus();
    cameFrom = null;
    onClose();
  }

  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    close();
  });
  for (const node of dialog.querySelectorAll(".close")) node.addEventListener("click", close);

  return {
    open() {
      if (dialog.open) return;
      cameFrom = document.activeElement;
      dialog.show();
    },
    close,
    get isOpen() {
      return dialog.open;
    },
  };
}
