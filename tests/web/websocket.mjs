// The server's side of a WebSocket, as far as tests need it: whole texts in both directions.

import { createHash } from "node:crypto";

const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const TEXT = 1;
const CLOSE = 8;

/** Answers the handshake of an "upgrade"; from then on `onText` gets what the other side says. */
export function accept({ headers }, wire, onText) {
  const answer = createHash("sha1").update(headers["sec-websocket-key"] + MAGIC).digest("base64");
  wire.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${answer}\r\n\r\n`);
  wire.on("error", () => wire.destroy());
  wire.on("data", createReader(onText, () => wire.end()));
}

/** A text, ready to be written to the wire. */
export function frame(text) {
  const body = Buffer.from(text);
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65_536 ? 4 : 10);
  head[0] = 0x80 | TEXT;
  head[1] = head.length === 2 ? body.length : head.length === 4 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(body.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(body.length), 2);
  return Buffer.concat([head, body]);
}

/** Takes bytes as they come, and gives the texts in them; neither browsers nor the gateway split theirs. */
function createReader(onText, onClose) {
  let bytes = Buffer.alloc(0);
  return (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (let read = readFrame(bytes); read !== null; read = readFrame(bytes)) {
      bytes = bytes.subarray(read.end);
      if (read.code === TEXT) onText(read.body.toString());
      if (read.code === CLOSE) onClose();
    }
  };
}

function readFrame(bytes) {
  if (bytes.length < 14) return bytes.length >= 6 && (bytes[1] & 127) + 6 <= bytes.length ? unmask(bytes, 2, bytes[1] & 127) : null;
  const short = bytes[1] & 127;
  if (short < 126) return unmask(bytes, 2, short);
  return short === 126 ? unmask(bytes, 4, bytes.readUInt16BE(2)) : unmask(bytes, 10, Number(bytes.readBigUInt64BE(2)));
}

function unmask(bytes, at, length) {
  const end = at + 4 + length;
  if (bytes.length < end) return null;
  const mask = bytes.subarray(at, at + 4);
  const body = Buffer.from(bytes.subarray(at + 4, end)).map((byte, index) => byte ^ mask[index % 4]);
  return { code: bytes[0] & 15, body, end };
}
