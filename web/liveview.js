// The pane that shows pictures to the live model, and speaks to it without leaving a trace in the chat.

import { openCamera, openScreen, pictureOfFile, pictureOfVideo } from "./camera.js";
import { createComposer } from "./composer.js";
import { acceptChosen, acceptDropsAndPastes } from "./upload.js";

/** `actions`: sendPicture(blob), sendText(text), failed(error). */
export function createLiveView(root, actions) {
  const video = root.querySelector("video");
  const still = root.querySelector("img");
  const shutter = root.querySelector(".shutter");
  const stop = root.querySelector(".capture-stop");

  async function start(open) {
    try {
      show(await open());
    } catch (error) {
      actions.failed(error);
    }
  }

  function show(stream) {
    close();
    video.srcObject = stream;
    stream.getVideoTracks()[0].addEventListener("ended", close);
    draw("video");
  }

  function close() {
    video.srcObject?.getTracks().forEach((track) => track.stop());
    video.srcObject = null;
    draw("nothing");
  }

  function draw(source) {
    root.dataset.source = source;
    shutter.disabled = stop.disabled = source !== "video";
  }

  async function sendFiles(files) {
    for (const file of files.filter(({ type }) => type.startsWith("image/"))) {
      await pictureOfFile(file).then(sendStill).catch(actions.failed);
    }
  }

  function sendStill(blob) {
    if (video.srcObject === null) showStill(blob);
    actions.sendPicture(blob);
  }

  function showStill(blob) {
    URL.revokeObjectURL(still.src);
    still.src = URL.createObjectURL(blob);
    draw("still");
  }

  root.querySelector(".camera-start").addEventListener("click", () => start(openCamera));
  root.querySelector(".screen-start").addEventListener("click", () => start(openScreen));
  stop.addEventListener("click", close);
  shutter.addEventListener("click", () => pictureOfVideo(video).then(actions.sendPicture, actions.failed));
  createComposer(root.querySelector(".composer"), actions.sendText);
  acceptDropsAndPastes(root, sendFiles);
  acceptChosen(root.querySelector(".choose"), root.querySelector("input[type=file]"), sendFiles);
  draw("nothing");
}
