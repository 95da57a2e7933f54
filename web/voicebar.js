// The controls of the voice and the line of captions, around the voice itself.

import { createCaptions } from "./captions.js";
import { createTalkButton } from "./talkbutton.js";
import { createVoice } from "./voice.js";

/** `options` as the voice has them, without what is on the page. */
export function createVoiceBar(root, options) {
  const mute = root.querySelector("#mute");
  const captions = createCaptions(root.querySelector("#captions"));
  const voice = createVoice({ ...options, meter: root.querySelector("#mic-level"), onState: captions.setState });

  function setMuted(on) {
    mute.setAttribute("aria-pressed", String(on));
    voice.setMuted(on);
  }

  mute.addEventListener("click", () => setMuted(mute.getAttribute("aria-pressed") !== "true"));
  createTalkButton(root.querySelector("#talk"), {
    start: voice.hold,
    end: voice.release,
    mayUseSpace: voice.isOpen,
  });

  return {
    ...voice,
    // Whoever switches the microphone on wants to be heard.
    setMicrophone(on) {
      mute.disabled = !on;
      setMuted(false);
      voice.setMicrophone(on);
    },
    setFigures: captions.setFigures,
    /** Of what is said now; a reload shows the past only in the chat. */
    caption(packet) {
      if (!voice.isActive()) return;
      if (packet.kind === "recognition_input") captions.heard(packet.body);
      else captions.said(packet);
    },
  };
}
