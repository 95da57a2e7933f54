// The microphone: a stream of PCM16 frames of 20 ms with their peak level, until closed.

const WORKLETS = "/assets/audio-worklets.js";
/** The name of the error for a device that was there and is not any more. */
export const GONE = "DeviceGone";

const TROUBLES = {
  NotAllowedError: "micDenied",
  NotFoundError: "micMissing",
  OverconstrainedError: "micMissing",
  NotReadableError: "micBusy",
  AbortError: "micBusy",
  [GONE]: "micGone",
};

/** The text that tells a person what is wrong and what to do. */
export function troubleKey(error, isSecure) {
  // Without a secure origin the browser hides the devices, and the raw message would only name a property.
  if (!isSecure) return "micInsecure";
  return TROUBLES[error.name] ?? "micFailed";
}

/**
 * `onFrame(pcm, peak)`; `onGone(error)` when the device vanishes. Throws what the browser throws when it, or the
 * person, refuses.
 */
export async function openMicrophone({ rate, onFrame, onGone }) {
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
  });
  // The device's own rate: not every browser lets a microphone into a context of another one.
  const context = new AudioContext();
  const release = () => {
    stream.getTracks().forEach((track) => track.stop());
    context.close();
  };
  try {
    const worklet = await startCapture(context, stream, rate);
    worklet.port.onmessage = ({ data }) => onFrame(new Uint8Array(data.pcm), data.peak);
    watch(stream, () => onGone(new DOMException("the device has ended", GONE)));
    return {
      mute: (on) => worklet.port.postMessage({ kind: "mute", on }),
      close: () => stopCapture(worklet, release),
    };
  } catch (error) {
    release();
    throw error;
  }
}

// A track that we stop ourselves does not end in this sense; it may have ended while the worklet was loaded.
function watch(stream, onEnded) {
  const [track] = stream.getAudioTracks();
  track.addEventListener("ended", onEnded);
  if (track.readyState === "ended") onEnded();
}

function stopCapture(worklet, release) {
  worklet.port.onmessage = null;
  worklet.port.postMessage({ kind: "stop" });
  release();
}

async function startCapture(context, stream, rate) {
  await context.audioWorklet.addModule(WORKLETS);
  const worklet = new AudioWorkletNode(context, "capture", { numberOfOutputs: 0, processorOptions: { rate } });
  context.createMediaStreamSource(stream).connect(worklet);
  await context.resume();
  return worklet;
}
