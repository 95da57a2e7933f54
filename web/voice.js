// Talking and listening: microphone, speaker and level meter on one side, audio packets on the other.

import { fromBase64, toBase64 } from "./base64.js";
import { openMicrophone } from "./microphone.js";
import { PLAYBACK, audio, cancelAudio, listeningRate, playbackAck, pushToTalk } from "./protocol/aicore.js";
import { createSpeaker } from "./speaker.js";
import { createUplink } from "./uplink.js";

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
  let cancelledAt = null;
  let lingering = null;
  /** Whether the gateway numbers its answers, and takes what is only about playing and holding. */
  let isUnderstood = false;
  /** Whether this page has the voice, as far as it was told. */
  let isHolder = false;
  const speaker = createSpeaker({ onProgress: played, onBlocked });
  const uplink = createUplink(speak);

  function played({ reports, playing, peak, total }) {
    counters.playedSamples = total;
    counters.playedPeak = peak;
    reports.forEach(acknowledge);
    isPlaying = playing;
    if (!isPlaying && cancelledAt !== null) noteStop();
    showState();
  }

  function noteStop() {
    counters.stopMs = performance.now() - cancelledAt;
    cancelledAt = null;
  }

  function acknowledge(report) {
    counters.gaps = Math.max(counters.gaps, report.gaps);
    if (report.generation !== null && speak(playbackAck(report))) counters.sentAcks += 1;
  }

  function sendFrame(pcm, peak) {
    const isHeard = isOn || isHeld;
    showLevel(isHeard ? peak : 0);
    if (isHeard) counters.sentChunks += uplink.push(audio(toBase64(pcm), rate));
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

  // Another socket would cost the last word about what was heard, so there is one only where it is needed.
  function hasVoice() {
    return isUnderstood ? isHolder : microphone !== null;
  }

  function listen() {
    isOn = true;
    speak(cancelAudio());
    speaker.hush();
    if (!hasVoice()) claim();
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
      speaker.hush();
      // Who claims the voice gets a new socket, which is told when it greets.
      if (hasVoice()) tellHeld();
      else claim();
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
    /** The newest socket has the voice. */
    greeted({ features }) {
      isUnderstood = features.includes(PLAYBACK);
      isHolder = true;
      if (isHeld) tellHeld();
      // What was said meanwhile comes after the button.
      counters.sentChunks += uplink.flush();
    },
    /** What was not heard comes again over the next socket. */
    disconnected: () => speaker.reset(),
    play({ generation, base64 }) {
      counters.receivedChunks += 1;
      speaker.play(generation, fromBase64(base64));
    },
    /** The gateway heard the person speak; without a number, another page has taken the voice. */
    cancelled({ generation }) {
      counters.audioCancels += 1;
      isHolder = isHolder && generation !== null;
      if (isPlaying) cancelledAt = performance.now();
      speaker.stop(generation);
    },
    hush() {
      speak(cancelAudio());
      speaker.hush();
    },
    unlock: () => speaker.unlock(),
  };
}
