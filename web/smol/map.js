// What the map shows, made only from frames: marked rooms, overlays, arrows, and points of the earth.

import { floorOf, readDefinition, roomOf } from "./definition.js";
import { addBounded, wordsOf } from "./words.js";

const MOST_RECTANGLES = 200;
const MOST_OVERLAYS = 200;
const MOST_ARROWS = 100;
const MOST_POINTS = 2_000;
const MOST_WORDS = 500;
const DIRECTIONS = new Set(["up", "down", "left", "right"]);

/** `newest` is what came last of highlights and rectangles: it wins where both mark a room. */
export const NO_MAP = Object.freeze({
  definition: null,
  shown: "plan",
  floorId: null,
  rectangles: [],
  overlays: [],
  highlights: [],
  newest: "highlights",
  arrows: [],
  points: [],
  description: "",
});

/** The same map if the frame changes nothing. Without a definition there is nothing that rooms could be marked on. */
export function applyToMap(map, { type, content }) {
  if (type === "map_definition") return { ...map, definition: readDefinition(content) ?? map.definition };
  if (type === "map" && Array.isArray(content?.points)) return withPoints(map, content);
  if (type === "clear_map") return emptied(map);
  if (map.definition === null) return map;
  switch (type) {
    case "map":
      return withMarks(map, content);
    case "highlight_room":
      return highlighted(map, content?.rooms);
    case "arrow":
      return withArrow(map, content);
    case "clear_arrows":
      return { ...map, arrows: [] };
    default:
      return map;
  }
}

/** The plan without anything on it. */
export function emptied(map) {
  return { ...NO_MAP, definition: map.definition };
}

/** Where somebody wants to look: "plan" or "points". */
export function show(map, shown) {
  return { ...map, shown };
}

export function currentFloor(map) {
  return floorOf(map.definition, map.floorId);
}

function withMarks(map, content) {
  if (content === null || typeof content !== "object") return map;
  return {
    ...map,
    shown: "plan",
    newest: "rectangles",
    floorId: typeof content.floorId === "string" ? content.floorId : map.floorId,
    rectangles: objects(content.rectangles).slice(0, MOST_RECTANGLES),
    overlays: objects(content.overlays).slice(0, MOST_OVERLAYS),
  };
}

function highlighted(map, rooms) {
  if (!Array.isArray(rooms)) return map;
  const names = rooms.filter((name) => typeof name === "string").slice(0, MOST_RECTANGLES);
  return { ...map, shown: "plan", newest: "highlights", floorId: floorWith(map, names[0]), highlights: names };
}

// The same arrow again says nothing new.
function withArrow(map, content) {
  const room = wordsOf(content?.room);
  const direction = wordsOf(content?.direction).toLowerCase();
  const floor = floorOf(map.definition, floorWith(map, room));
  if (!DIRECTIONS.has(direction) || roomOf(floor, room) === null) return map;
  const others = map.arrows.filter((arrow) => arrow.room !== room || arrow.direction !== direction);
  return { ...map, shown: "plan", floorId: floor.id, arrows: addBounded(others, { room, direction }, MOST_ARROWS) };
}

function withPoints(map, { points, description }) {
  const found = objects(points).slice(0, MOST_POINTS).filter(isOnEarth).map(({ lat, lon }) => ({ lat, lon }));
  if (found.length === 0) return map;
  return { ...map, shown: "points", points: found, description: wordsOf(description).slice(0, MOST_WORDS) };
}

// The floor that is shown stays, as long as the room is on it.
function floorWith({ definition, floorId }, room) {
  const shown = floorOf(definition, floorId);
  if (room === undefined || roomOf(shown, room) !== null) return shown.id;
  return definition.floors.find((floor) => roomOf(floor, room) !== null)?.id ?? shown.id;
}

function isOnEarth({ lat, lon }) {
  return Number.isFinite(lat) && Number.isFinite(lon) && Math.abs(lat) <= 90 && Math.abs(lon) <= 180;
}

function objects(value) {
  return Array.isArray(value) ? value.filter((entry) => entry !== null && typeof entry === "object") : [];
}
