// A small PNG, made here so that no binary file has to be kept.

import { crc32, deflateSync } from "node:zlib";

const SIZE = 48;

export function picture() {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIZE, 0);
  header.writeUInt32BE(SIZE, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(pixels())),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function pixels() {
  const rows = Buffer.alloc(SIZE * (1 + SIZE * 3));
  for (let y = 0; y < SIZE; y += 1) {
    for (let x = 0; x < SIZE; x += 1) rows.set([x * 5, y * 5, 120], y * (1 + SIZE * 3) + 1 + x * 3);
  }
  return rows;
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "ascii"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(body, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
