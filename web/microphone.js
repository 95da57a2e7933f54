// The microphone: a stream of 16 kHz PCM16 chunks with their peak level, until stopped.

const WORKLETS = "/assets/audio-worklets.js";

/** Throws what the browser throws when it, or the person, refuses. */
export async function openMicrophone(onChunk) {
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
  });
  const context = new AudioContext();
  const release = () => {
    stream.getTracks().forEach((track) => track.stop());
    context.close();
  };
  try {
    const worklet = await startCapture(context, stream);
    worklet.port.onmessage = ({ data }) => onChunk(new Uint8Array(data.pcm), data.peak);
    return { close: () => stopCapture(worklet, release) };
  } catch (error) {
    release();
    throw error;
  }
}

function stopCapture(worklet, release) {
  worklet.port.onmessage = null;
  worklet.port.postMessage("stop");
  release();
}

async function startCapture(context, stream) {
  await context.audioWorklet.addModule(WORKLETS);
  const worklet = new AudioWorkletNode(context, "capture", { numberOfOutputs: 0 });
  context.createMediaStreamSource(stream).connect(worklet);
  await context.resume();
  return worklet;
}
