// The floor plan as a list of shapes, so that what is drawn can be tested without drawing.

import { placeOn, roomOf } from "./definition.js";
import { currentFloor } from "./map.js";
import { wordsOf } from "./words.js";

export const NORMAL = "#ff0000";
export const HIGHLIGHT = "#0066ff";
const UNNAMED_COLOR = "#ffd700";
const COLOR = /^#[0-9a-f]{6}$/i;
const ARROW_BITMAP = /^arrow_(up|down|left|right)$/;
const MOST_WORDS = 200;
/** In pixels, whatever the size of the pane. */
const LABEL_PX = 13;
const MARKED_LABEL_PX = 17;
const EDGE_PX = 8;
const LEAST_LABEL_PX = 9;
/** Of a bold letter, in its size. */
const LETTER_WIDTH = 0.68;
const AREA_GAP_PX = 4;
const OVERLAY_PX = { least: 8, usual: 14, most: 48 };
const BITMAP_PX = 32;
const STEPS = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };

/** How many units of the floor are one pixel, so that it fills a pane of this size. */
export function unitFor(floor, width, height) {
  const head = AREA_GAP_PX + MARKED_LABEL_PX;
  return Math.max(floor.width / Math.max(1, width - 2 * EDGE_PX), floor.height / Math.max(1, height - 2 * EDGE_PX - head));
}

/** `{ box, shapes }` in units of the floor; `unit` is how many of them are one pixel. */
export function planScene(map, unit) {
  const floor = currentFloor(map);
  const drawn = floor.rooms.map((room) => ({ room, isArea: isArea(room, floor.rooms), ...markOf(map, room) }));
  const crowded = crowdedRooms(map, floor);
  const later = drawn.toSorted((one, other) => rank(one) - rank(other));
  const edge = EDGE_PX * unit;
  const head = drawn.some(({ isArea }) => isArea) ? (AREA_GAP_PX + MARKED_LABEL_PX) * unit : 0;
  return {
    box: { x: -edge, y: -edge - head, width: floor.width + 2 * edge, height: floor.height + 2 * edge + head },
    image: floor.image,
    shapes: [
      ...later.map((entry) => outline(entry, unit)),
      ...drawn.filter(({ named }) => named).map((entry) => nameLabel(entry, crowded.has(entry.room), unit)),
      ...map.arrows.flatMap((arrow) => roomArrow(arrow, floor)),
      ...map.overlays.flatMap((overlay) => overlayShape(overlay, map.definition, floor, unit)),
    ],
  };
}

// Areas lie under their rooms, and what is marked lies above what is not.
function rank({ isArea, mark }) {
  return (mark === null ? 0 : 1) + (isArea ? 0 : 2);
}

/** An area holds rooms of its own, as a level does. */
function isArea(room, rooms) {
  return rooms.some((other) => other !== room && other.width * other.height < room.width * room.height && holds(room, centreOf(other)));
}

/** An overlay in a room may bring a colour for it; a rectangle of its own says more. */
function rectangleOf({ rectangles, overlays }, room) {
  const places = overlays.map(({ position }) => position).filter((position) => position?.type === "rectangle" && COLOR.test(position.color));
  return [...places, ...rectangles].findLast(({ name }) => sameName(name, room.name)) ?? null;
}

function markOf(map, room) {
  const { highlights, newest } = map;
  const rectangle = rectangleOf(map, room);
  const isHighlighted = highlights.some((name) => sameName(name, room.name));
  if (isHighlighted && (rectangle === null || newest === "highlights")) {
    return { named: true, mark: { color: HIGHLIGHT, strokeOpacity: 1, fillOpacity: 0.3 } };
  }
  if (rectangle === null) return { named: true, mark: null };
  return {
    named: rectangle.showName !== false,
    mark: {
      color: COLOR.test(rectangle.color) ? rectangle.color : UNNAMED_COLOR,
      strokeOpacity: share(rectangle.strokeOpacity, 1),
      fillOpacity: share(rectangle.fillOpacity, 0.3),
    },
  };
}

function outline({ room, isArea, mark }, unit) {
  const grown = isArea ? AREA_GAP_PX * unit : 0;
  return {
    shape: "rectangle",
    name: room.name,
    x: room.x - grown,
    y: room.y - grown,
    width: room.width + 2 * grown,
    height: room.height + 2 * grown,
    dashed: isArea,
    marked: mark !== null,
    ...(mark ?? { color: NORMAL, strokeOpacity: 1, fillOpacity: 0 }),
  };
}

// Names of areas stand above the plan, because their middle belongs to their rooms.
function nameLabel({ room, isArea, mark }, isCrowded, unit) {
  const wanted = (mark === null ? LABEL_PX : MARKED_LABEL_PX) * unit;
  const size = isArea ? wanted : Math.max(Math.min(wanted, room.width / room.name.length / LETTER_WIDTH), LEAST_LABEL_PX * unit);
  const top = isArea ? room.y - 2 * AREA_GAP_PX * unit - size / 2 : room.y + size * 0.9;
  const isAbove = isArea || isCrowded;
  return {
    shape: "label",
    words: room.name,
    x: isArea ? room.x : room.x + room.width / 2,
    y: isAbove ? top : room.y + room.height / 2,
    anchor: isArea ? "start" : "middle",
    size,
    bold: mark !== null,
    color: null,
    background: null,
  };
}

/** Rooms with something in their middle, where their name would stand. */
function crowdedRooms({ arrows, overlays }, floor) {
  const middles = overlays.map((overlay) => middleOf(overlay, floor)).filter((place) => place !== null);
  return new Set(
    floor.rooms.filter((room) => {
      const inner = { x: room.x + room.width / 4, y: room.y + room.height / 4, width: room.width / 2, height: room.height / 2 };
      return arrows.some((arrow) => sameName(arrow.room, room.name)) || middles.some((place) => holds(inner, place));
    }),
  );
}

// From the middle outwards, so that several arrows of a room do not cover each other.
function roomArrow({ room: name, direction }, floor) {
  const room = roomOf(floor, name);
  if (room === null) return [];
  const [x, y] = STEPS[direction];
  const length = Math.min(room.width, room.height) * 0.36;
  const middle = centreOf(room);
  return [{ shape: "arrow", direction, room: room.name, x: middle.x + (x * length) / 2, y: middle.y + (y * length) / 2, length }];
}

function overlayShape(overlay, { bitmaps }, floor, unit) {
  const middle = middleOf(overlay, floor);
  if (middle === null) return [];
  if (overlay.type === "text") return [textOverlay(overlay, middle, floor, unit)];
  if (overlay.type !== "bitmap") return [];
  const id = wordsOf(overlay.bitmapId).slice(0, MOST_WORDS);
  const direction = ARROW_BITMAP.exec(id)?.[1];
  const size = Math.max(BITMAP_PX * unit, 24);
  if (direction !== undefined) return [{ shape: "arrow", direction, room: null, ...middle, length: size }];
  return [{ shape: "bitmap", id, file: bitmaps[id] ?? null, ...middle, size }];
}

// Sizes are meant for the floor's picture, and stay readable where the drawing is small.
function textOverlay({ text, fontSize, color, backgroundColor }, middle, { unitsPerPixel }, unit) {
  const wanted = Number.isFinite(fontSize) ? fontSize : OVERLAY_PX.usual;
  const pixels = Math.min(OVERLAY_PX.most, Math.max(OVERLAY_PX.least, wanted));
  return {
    shape: "label",
    words: wordsOf(text).slice(0, MOST_WORDS),
    ...middle,
    anchor: "middle",
    size: Math.max(pixels * unitsPerPixel, Math.min(pixels, LABEL_PX) * unit),
    bold: false,
    color: COLOR.test(color) ? color : null,
    background: COLOR.test(backgroundColor) ? backgroundColor : null,
  };
}

/** Where an overlay lies; null if its room is not on this floor. */
function middleOf({ position, offset }, floor) {
  const room = position?.type === "rectangle" ? roomOf(floor, position.name) : null;
  const isPlace = position?.type === "coordinate" && Number.isFinite(position.x) && Number.isFinite(position.y);
  const place = room !== null ? centreOf(room) : isPlace ? placeOn(floor, position) : null;
  if (place === null) return null;
  return { x: place.x + (Number(offset?.x) || 0) * floor.turn.x, y: place.y + (Number(offset?.y) || 0) * floor.turn.y };
}

function centreOf({ x, y, width, height }) {
  return { x: x + width / 2, y: y + height / 2 };
}

function holds(room, { x, y }) {
  return x >= room.x && x <= room.x + room.width && y >= room.y && y <= room.y + room.height;
}

function share(value, usual) {
  return Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : usual;
}

function sameName(one, other) {
  return typeof one === "string" && one.toLowerCase() === other.toLowerCase();
}
