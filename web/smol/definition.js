// The floors and rooms that a `map_definition` describes, turned so that x grows to the right and y downwards.

const MOST_FLOORS = 20;
const MOST_ROOMS = 200;
const MOST_BITMAPS = 200;
/** A file beside the others: never a path that leads elsewhere. */
const FILE_NAME = /^[\w-][\w.-]*$/;
/** Where a floor does not tell how its picture is scaled. */
const USUAL_UNITS_PER_PIXEL = 0.75;

/** `{ floors, bitmaps }`; null if nothing can be drawn of it. */
export function readDefinition(content) {
  const floors = list(content?.floors).slice(0, MOST_FLOORS).map(readFloor).filter((floor) => floor !== null);
  if (floors.length === 0) return null;
  const bitmaps = list(content.bitmaps).slice(0, MOST_BITMAPS);
  return {
    floors,
    bitmaps: Object.fromEntries(bitmaps.filter(isBitmap).map(({ bitmapId, bitmapFile }) => [bitmapId, bitmapFile])),
  };
}

/** A place of the floor's own coordinates on the drawing. */
export function placeOn({ origin, turn }, { x, y }) {
  return { x: (x - origin.x) * turn.x, y: (y - origin.y) * turn.y };
}

export function roomOf(floor, name) {
  return floor.rooms.find((room) => sameName(room.name, name)) ?? null;
}

/** The floor of this id, else the first one. */
export function floorOf(definition, id) {
  return definition.floors.find((floor) => floor.id === id) ?? definition.floors[0];
}

function readFloor({ floorId, floorName, floorImage, coordinateSystem, rectangles } = {}) {
  const rooms = list(rectangles).slice(0, MOST_ROOMS).filter(isRoom);
  const corners = cornersOf(coordinateSystem) ?? cornersAround(rooms);
  if (corners === null) return null;
  const turn = { x: Math.sign(corners.to.x - corners.from.x), y: Math.sign(corners.to.y - corners.from.y) };
  const place = { origin: { x: corners.from.x, y: corners.from.y }, turn };
  return {
    id: String(floorId ?? ""),
    name: String(floorName ?? floorId ?? ""),
    ...place,
    width: Math.abs(corners.to.x - corners.from.x),
    height: Math.abs(corners.to.y - corners.from.y),
    unitsPerPixel: unitsPerPixel(corners),
    image: readImage(floorImage, corners),
    rooms: rooms.map((room) => readRoom(room, place)),
  };
}

function readRoom({ name, topLeft, bottomRight }, place) {
  const [one, other] = [placeOn(place, topLeft), placeOn(place, bottomRight)];
  return {
    name,
    x: Math.min(one.x, other.x),
    y: Math.min(one.y, other.y),
    width: Math.abs(other.x - one.x),
    height: Math.abs(other.y - one.y),
  };
}

// The picture is larger than the floor on it: its corner lies before the floor's.
function readImage(file, { from, to }) {
  if (typeof file !== "string" || !FILE_NAME.test(file) || !isNumbers(from, "px", "py") || !isNumbers(to, "px", "py")) return null;
  const scale = { x: Math.abs(to.x - from.x) / (to.px - from.px), y: Math.abs(to.y - from.y) / (to.py - from.py) };
  if (!(scale.x > 0 && scale.y > 0)) return null;
  return { file, x: -from.px * scale.x, y: -from.py * scale.y, scale };
}

function unitsPerPixel({ from, to }) {
  const found = Math.abs(to.x - from.x) / Math.abs(to.px - from.px);
  return Number.isFinite(found) && found > 0 ? found : USUAL_UNITS_PER_PIXEL;
}

function cornersOf(system) {
  const [from, to] = [system?.topLeft, system?.bottomRight];
  if (!isNumbers(from, "x", "y") || !isNumbers(to, "x", "y")) return null;
  return from.x === to.x || from.y === to.y ? null : { from, to };
}

function cornersAround(rooms) {
  if (rooms.length === 0) return null;
  const xs = rooms.flatMap(({ topLeft, bottomRight }) => [topLeft.x, bottomRight.x]);
  const ys = rooms.flatMap(({ topLeft, bottomRight }) => [topLeft.y, bottomRight.y]);
  const corners = { from: { x: Math.min(...xs), y: Math.min(...ys) }, to: { x: Math.max(...xs), y: Math.max(...ys) } };
  return corners.from.x === corners.to.x || corners.from.y === corners.to.y ? null : corners;
}

function isRoom(room) {
  return typeof room?.name === "string" && isNumbers(room.topLeft, "x", "y") && isNumbers(room.bottomRight, "x", "y");
}

function isBitmap(bitmap) {
  return typeof bitmap?.bitmapId === "string" && typeof bitmap.bitmapFile === "string" && FILE_NAME.test(bitmap.bitmapFile);
}

function isNumbers(value, ...names) {
  return names.every((name) => Number.isFinite(value?.[name]));
}

function sameName(one, other) {
  return typeof other === "string" && one.toLowerCase() === other.toLowerCase();
}

function list(value) {
  return Array.isArray(value) ? value : [];
}
