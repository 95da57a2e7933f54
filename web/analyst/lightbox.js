// One figure as large as the window. Escape closes it, and the focus goes back to where it was.

export function createLightbox(dialog) {
  const image = dialog.querySelector("img");
  const caption = dialog.querySelector("figcaption");
  const link = dialog.querySelector("a");

  dialog.querySelector(".close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target === image) dialog.close();
  });
  dialog.addEventListener("close", () => image.removeAttribute("src"));

  return {
    open({ url, description, file_name: name }) {
      image.src = url;
      image.alt = description || name;
      caption.textContent = description || name;
      link.href = url;
      dialog.showModal();
      dialog.querySelector(".close").focus();
    },
  };
}
