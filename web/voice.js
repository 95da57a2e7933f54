// Talking and listening: microphone, speaker and level meter on one side, audio packets on the other.

import { fromBase64, toBase64 } from "./base64.js";
import { openMicrophone } from "./microphone.js";
import { PLAYBACK, audio, cancelAudio, listeningRate, playbackAck, pushToTalk } from "./protocol/aicore.js";
import { createSpeaker } from "./speaker.js";

/** A microphone that was opened by holding the button stays open so long, because opening would cost the first word. */
const LINGER_MS = 20_000;

/**
 * `claim()` takes the voice to this tab, `speak(packet)` sends on its socket, `onFailed(error)`: no microphone, or not
 * any more; `onState(state)` as the captions have them.
 */
export function createVoice({ meter, counters, claim, speak, onFailed, onBlocked, onState }) {
  let microphone = null;
  let opening = null;
  let rate = listeningRate(null);
  let isOn = false;
  let isMuted = false;
  let isHeld = false;
  /** Whether the gateway knows that the button is held. */
  let isTold = false;
  let isPlaying = false;
  let lingering = null;
  /** Whether the gateway takes what is only about playing and holding. */
  let isUnderstood = false;
  /** The newest of what could not be acknowledged, by generation. */
  const unsent = new Map();
  const speaker = createSpeaker({ onProgress: played, onBlocked });

  function played({ reports, playing, peak, total }) {
    counters.playedSamples = total;
    counters.playedPeak = peak;
    reports.forEach(acknowledge);
    isPlaying = playing;
    showState();
  }

  function acknowledge(report) {
    counters.gaps = Math.max(counters.gaps, report.gaps);
    if (report.generation === null) return;
    // A line that is cut at this moment is told when it is back; the gateway may wait for the last word about an answer.
    if (!speak(playbackAck(report))) unsent.set(report.generation, report);
    else counters.sentAcks += 1;
  }

  function acknowledgeAgain() {
    const reports = [...unsent.values()];
    unsent.clear();
    reports.forEach(acknowledge);
  }

  function sendFrame(pcm, peak) {
    const isHeard = isOn || isHeld;
    showLevel(isHeard ? peak : 0);
    if (isHeard && speak(audio(toBase64(pcm), rate))) counters.sentChunks += 1;
  }

  function showLevel(peak) {
    meter.value = Math.sqrt(peak);
  }

  function showState() {
    if (isHeld) onState("talking");
    else if (isPlaying) onState("speaking");
    else if (isOn) onState(isMuted ? "muted" : "listening");
    else onState("rest");
  }

  function isWanted() {
    return isOn || isHeld || lingering !== null;
  }

  async function open() {
    if (microphone !== null || opening !== null) return;
    opening = openMicrophone({ rate, onFrame: sendFrame, onGone: fail });
    try {
      microphone = await opening;
      opening = null;
      applyMute();
      if (!isWanted()) close();
    } catch (error) {
      opening = null;
      fail(error);
    }
  }

  function close() {
    clearTimeout(lingering);
    lingering = null;
    microphone?.close();
    microphone = null;
    showLevel(0);
  }

  function fail(error) {
    close();
    onFailed(error);
  }

  function applyMute() {
    microphone?.mute(isMuted && !isHeld);
  }

  function listen() {
    isOn = true;
    speak(cancelAudio());
    speaker.stop();
    claim();
    open();
  }

  function rest() {
    isOn = false;
    isMuted = false;
    if (!isHeld) close();
  }

  // A gateway that does not know the button at least falls silent.
  function tellHeld() {
    if (isUnderstood) isTold = speak(pushToTalk(true));
    else speak(cancelAudio());
  }

  function tellReleased() {
    if (isTold) speak(pushToTalk(false));
    isTold = false;
  }

  return {
    setMicrophone(on) {
      if (on) listen();
      else rest();
      showState();
    },
    /** The microphone stays open, and sends silence. */
    setMuted(on) {
      isMuted = on;
      applyMute();
      showState();
    },
    hold() {
      isHeld = true;
      clearTimeout(lingering);
      lingering = null;
      // Who claims the voice gets a new socket, which is told when it greets.
      if (microphone === null) claim();
      else tellHeld();
      speaker.stop();
      open();
      applyMute();
      showState();
    },
    release() {
      isHeld = false;
      tellReleased();
      if (!isOn) lingering = setTimeout(close, LINGER_MS);
      applyMute();
      showState();
    },
    isOpen: () => microphone !== null,
    /** Whether somebody talks: what is said now is worth a caption. */
    isActive: () => isWanted() || isPlaying,
    setSpeaker: speaker.setAudible,
    /** What the session's live model wants counts from the next opening on. */
    configure(models) {
      if (microphone === null && opening === null) rate = listeningRate(models);
    },
    greeted({ features, resumed }) {
      isUnderstood = features.includes(PLAYBACK);
      speaker.reconnected(resumed);
      if (!resumed) unsent.clear();
      acknowledgeAgain();
      if (isHeld) tellHeld();
    },
    play({ generation, base64 }) {
      counters.receivedChunks += 1;
      if (generation !== null) isUnderstood = true;
      speaker.play(generation, fromBase64(base64));
    },
    /** The gateway heard the person speak. */
    cancelled({ generation }) {
      counters.audioCancels += 1;
      speaker.stop(generation);
    },
    hush() {
      speak(cancelAudio());
      speaker.stop();
    },
    unlock: () => speaker.unlock(),
  };
}
