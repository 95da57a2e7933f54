// What the agent's page knows, frame by frame, and what it would draw; without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { afterRefusal } from "../../web/smol/closing.js";
import { placeOn, readDefinition } from "../../web/smol/definition.js";
import { RETRY_MS, delayBefore } from "../../web/smol/line.js";
import en from "../../web/smol/locales/en.js";
import ja from "../../web/smol/locales/ja.js";
import { EMPTY_LOG, MOST_FRAMES, addFrame, clearLog, readFrame } from "../../web/smol/log.js";
import { MOST_PICTURES, addressOf } from "../../web/smol/picture.js";
import { pointScene } from "../../web/smol/points.js";
import { HIGHLIGHT, NORMAL, planScene, unitFor } from "../../web/smol/scene.js";
import { EMPTY, apply, isBusy } from "../../web/smol/state.js";
import { MOST_ENTRIES } from "../../web/smol/transcript.js";
import { definition } from "./smolstandin.mjs";

const DEFINITION = definition();
const CONNECTED = { type: "connected", content: { conversation: "c1", resumed: false } };
const RESUMED = { type: "connected", content: { conversation: "c1", resumed: true } };
const HISTORY_END = { type: "history_end", content: {} };
const PNG = "iVBORw0KGgo=";

function after(...frames) {
  return from(EMPTY, ...frames);
}

function from(state, ...frames) {
  return frames.reduce((known, frame) => apply(known, frame, 1_000_000), state);
}

const user = (content) => ({ type: "user_message", content });
const say = (text) => ({ type: "local_say", text });
const progress = (state, more = {}) => ({ type: "progress", content: { state, elapsed_ms: 0, ...more } });
const highlight = (...rooms) => ({ type: "highlight_room", content: { rooms } });
const arrow = (room, direction) => ({ type: "arrow", content: { room, direction } });
const marks = (rectangles, overlays = [], more = {}) => ({ type: "map", content: { floorId: "1F", timestamp: "2026-01-01T00:00:00Z", rectangles, overlays, ...more } });

function scene(...frames) {
  return planScene(after(DEFINITION, ...frames).map, 1);
}

function rooms(drawn) {
  return new Map(drawn.shapes.filter(({ shape }) => shape === "rectangle").map((shape) => [shape.name, shape]));
}

function labels(drawn) {
  return new Map(drawn.shapes.filter(({ shape }) => shape === "label").map((shape) => [shape.words, shape]));
}

test("a turn is told in its order", () => {
  const { chat } = after(CONNECTED, user("hi"), { type: "code", content: "1", step: "Step 1" }, { type: "code", content: "2", language: "sql" }, { type: "text", content: "done" }, { type: "error", content: "bad" });
  assert.deepEqual(
    chat.map(({ key, ...entry }) => entry),
    [
      { kind: "user", words: "hi" },
      { kind: "code", words: "1", language: "python", step: "Step 1" },
      { kind: "code", words: "2", language: "sql", step: "" },
      { kind: "text", words: "done" },
      { kind: "error", words: "bad" },
    ],
  );
});

test("what is no text is shown as it came", () => {
  const { chat } = after(user(5), { type: "text", content: { a: 1 } }, { type: "text" });
  assert.deepEqual(chat.map(({ words }) => words), ["5", '{"a":1}', ""]);
});

test("unknown types change nothing", () => {
  const state = after(DEFINITION, CONNECTED, user("hi"));
  for (const type of ["debug", "unified_response", "toString", "__proto__", undefined]) assert.equal(apply(state, { type, content: {} }), state, String(type));
});

test("neither the chat nor a text nor the pictures grow for ever", () => {
  let state = after(CONNECTED, { type: "text", content: "x".repeat(200_000) });
  assert.ok(state.chat[0].words.length < 101_000);
  assert.match(state.chat[0].words, /\(\+100000\)$/);
  for (let count = 0; count < MOST_ENTRIES + 5; count += 1) state = apply(state, { type: "text", content: String(count) });
  assert.equal(state.chat.length, MOST_ENTRIES);
  assert.equal(state.chat.at(-1).words, String(MOST_ENTRIES + 4));
  for (let count = 0; count < MOST_PICTURES + 5; count += 1) state = apply(state, { type: "image", content: PNG, format: "png" });
  assert.deepEqual([state.images.length, state.images.at(-1).number], [MOST_PICTURES, MOST_PICTURES + 5]);
});

test("large pictures push out older ones", () => {
  const large = { type: "image", content: "A".repeat(40_000_000), format: "png" };
  const state = after(large, large);
  assert.deepEqual(state.images.map(({ number }) => number), [2]);
});

test("a picture has the address of its bytes, and what is none has no address", () => {
  const read = (frame) => after({ type: "image", ...frame }).images[0];
  assert.equal(addressOf(read({ content: PNG, format: "PNG" })), `data:image/png;base64,${PNG}`);
  assert.equal(addressOf(read({ content: PNG, format: "jpg" })), `data:image/jpeg;base64,${PNG}`);
  assert.equal(addressOf(read({ content: PNG, format: "svg" })), `data:image/svg+xml;base64,${PNG}`);
  for (const frame of [{ content: PNG, format: "exe" }, { content: PNG, format: "constructor" }, { content: '"><script>', format: "png" }, { content: "", format: "png" }, { format: "png" }, { content: PNG }]) {
    assert.equal(addressOf(read(frame)), null, JSON.stringify(frame));
  }
  assert.equal(read({ content: PNG, format: "png", path: "/tmp/run/zu.png" }).name, "zu.png");
  assert.equal(read({ content: PNG, format: "png", path: "C:\\run\\zu.png" }).name, "zu.png");
});

test("commands for the map wait for its definition", () => {
  const state = after(CONNECTED, highlight("Kitchen"), arrow("Kitchen", "left"), marks([{ name: "Room1", color: "#00ff00" }]));
  assert.deepEqual([state.map.definition, state.map.highlights, state.map.arrows, state.map.rectangles], [null, [], [], []]);
});

test("the seven rooms have red outlines, and their names", () => {
  const drawn = scene();
  const all = rooms(drawn);
  assert.deepEqual([...all.keys()].sort(), ["Bathroom", "Kitchen", "Level1", "Level2", "Room1", "Room2", "Toilet"]);
  for (const [name, room] of all) assert.deepEqual([room.color, room.fillOpacity, room.marked], [NORMAL, 0, false], name);
  assert.deepEqual([...labels(drawn).keys()].sort(), [...all.keys()].sort());
  assert.deepEqual([...all.values()].filter(({ dashed }) => dashed).map(({ name }) => name), ["Level1", "Level2"]);
});

test("a highlighted room is blue, with a bold and larger name", () => {
  const drawn = scene(highlight("Kitchen", "Attic"));
  const { color, marked, fillOpacity } = rooms(drawn).get("Kitchen");
  assert.deepEqual([color, marked, fillOpacity > 0], [HIGHLIGHT, true, true]);
  assert.equal(drawn.shapes.filter(({ shape }) => shape === "rectangle").length, 7);
  const [kitchen, bathroom] = ["Kitchen", "Bathroom"].map((name) => labels(drawn).get(name));
  assert.deepEqual([kitchen.bold, bathroom.bold], [true, false]);
  assert.ok(kitchen.size > bathroom.size);
});

test("new highlights take the place of old ones", () => {
  const { map } = after(DEFINITION, highlight("Kitchen"), highlight("Toilet"));
  assert.deepEqual(map.highlights, ["Toilet"]);
});

test("rectangles have their colours and opacities, or the usual ones", () => {
  const all = rooms(scene(marks([{ name: "Room1", color: "#00AA00", strokeOpacity: 0.5, fillOpacity: 7 }, { name: "Toilet", color: "url(#x)" }])));
  assert.deepEqual([all.get("Room1").color, all.get("Room1").strokeOpacity, all.get("Room1").fillOpacity], ["#00AA00", 0.5, 1]);
  assert.deepEqual([all.get("Toilet").color, all.get("Toilet").strokeOpacity, all.get("Toilet").fillOpacity], ["#ffd700", 1, 0.3]);
});

test("an overlay in a room may bring a colour for it, and a rectangle says more", () => {
  const overlay = { type: "bitmap", bitmapId: "arrow_up", position: { type: "rectangle", name: "Toilet", color: "#112233", fillOpacity: 0.9 } };
  const { color, fillOpacity, marked } = rooms(scene(marks([], [overlay]))).get("Toilet");
  assert.deepEqual([color, fillOpacity, marked], ["#112233", 0.9, true]);
  assert.equal(rooms(scene(marks([{ name: "toilet", color: "#445566" }], [overlay]))).get("Toilet").color, "#445566");
});

test("a rectangle may hide its name", () => {
  const names = labels(scene(marks([{ name: "Room1", showName: false }, { name: "Room2", showName: true }])));
  assert.deepEqual([names.has("Room1"), names.get("Room2").bold], [false, true]);
});

test("where both mark a room, what came last is seen", () => {
  const orange = marks([{ name: "Kitchen", color: "#ff8800" }]);
  assert.equal(rooms(scene(highlight("Kitchen"), orange)).get("Kitchen").color, "#ff8800");
  assert.equal(rooms(scene(orange, highlight("Kitchen"))).get("Kitchen").color, HIGHLIGHT);
  assert.equal(rooms(scene(highlight("Kitchen", "Toilet"), orange)).get("Toilet").color, HIGHLIGHT);
});

test("overlays lie in the middle of a room or at a place, moved by their offset", () => {
  const at = (position, more = {}) => ({ type: "text", text: "t", position, ...more });
  const place = (overlay) => {
    const { x, y } = labels(scene(marks([], [overlay]))).get("t") ?? {};
    return [x, y];
  };
  assert.deepEqual(place(at({ type: "coordinate", x: 100, y: 50 })), [100, 50]);
  assert.deepEqual(place(at({ type: "coordinate", x: 100, y: 50 }, { offset: { x: 5, y: -5 } })), [105, 45]);
  const [x, y] = place(at({ type: "rectangle", name: "Kitchen" }));
  assert.deepEqual([Math.round(x), Math.round(y)], [309, 152]);
  for (const nowhere of [{ type: "rectangle", name: "Attic" }, { type: "coordinate", x: "1", y: 2 }, {}, undefined]) assert.deepEqual(place(at(nowhere)), [undefined, undefined], JSON.stringify(nowhere));
});

test("texts of overlays have colours that are colours", () => {
  const overlay = (color, backgroundColor) => ({ type: "text", text: "t", color, backgroundColor, position: { type: "coordinate", x: 0, y: 0 } });
  const read = (...colors) => labels(scene(marks([], [overlay(...colors)]))).get("t");
  assert.deepEqual([read("#FFFFFF", "#cc0000").color, read("#FFFFFF", "#cc0000").background], ["#FFFFFF", "#cc0000"]);
  assert.deepEqual([read("red;x", undefined).color, read("red;x", undefined).background], [null, null]);
});

test("bitmaps of arrows are arrows, others are files of the definition or their names", () => {
  const bitmap = (bitmapId) => ({ type: "bitmap", bitmapId, position: { type: "coordinate", x: 10, y: 20 } });
  const shapes = scene(marks([], [bitmap("arrow_up"), bitmap("person"), bitmap("warning")])).shapes.slice(-3);
  assert.deepEqual([shapes[0].shape, shapes[0].direction], ["arrow", "up"]);
  assert.deepEqual([shapes[1].shape, shapes[1].file], ["bitmap", "person.bmp"]);
  assert.deepEqual([shapes[2].id, shapes[2].file], ["warning", null]);
});

test("arrows gather until they are cleared; the same one is there once, and unknown ones never", () => {
  const frames = [arrow("Kitchen", "left"), arrow("Kitchen", "UP"), arrow("Kitchen", "left"), arrow("Attic", "left"), arrow("Kitchen", "sideways"), { type: "arrow" }];
  const state = after(DEFINITION, ...frames);
  assert.deepEqual(state.map.arrows, [{ room: "Kitchen", direction: "up" }, { room: "Kitchen", direction: "left" }]);
  const [up, left] = planScene(state.map, 1).shapes.filter(({ shape }) => shape === "arrow");
  assert.ok(left.x < up.x && left.y > up.y, "each begins in the middle of the room");
  assert.deepEqual(from(state, arrow("Toilet", "up")).map.arrows.map(({ room }) => room), ["Kitchen", "Kitchen", "Toilet"]);
  assert.deepEqual(apply(state, { type: "clear_arrows", content: {} }).map.arrows, []);
});

test("the cleared map is the plan alone", () => {
  const full = after(DEFINITION, highlight("Kitchen"), arrow("Kitchen", "up"), marks([{ name: "Room1" }]), { type: "map", content: { points: [{ lat: 1, lon: 2 }] } });
  assert.deepEqual(apply(full, { type: "clear_map", content: {} }).map, after(DEFINITION).map);
});

test("an empty map of v1.2 takes the marks away", () => {
  assert.equal(rooms(scene(marks([{ name: "Room1" }]), marks([]))).get("Room1").marked, false);
});

test("a name at whose place something lies moves to the top of its room", () => {
  const plain = labels(scene()).get("Kitchen");
  const crowded = labels(scene(arrow("Kitchen", "up"))).get("Kitchen");
  assert.ok(crowded.y < plain.y - 20);
});

test("a name is as narrow as its room", () => {
  const state = after(DEFINITION, highlight("Bathroom", "Toilet"));
  const names = labels(planScene(state.map, 3));
  assert.ok(names.get("Toilet").size < names.get("Bathroom").size);
});

test("the plan fits into its pane", () => {
  const { map } = after(DEFINITION);
  for (const [width, height] of [[700, 400], [360, 180], [200, 900]]) {
    const unit = unitFor(map.definition.floors[0], width, height);
    const { box } = planScene(map, unit);
    assert.ok(box.width / unit <= width + 1 && box.height / unit <= height + 1, `${width} x ${height}`);
  }
});

test("a floor whose y grows upwards is turned", () => {
  const content = structuredClone(DEFINITION.content);
  Object.assign(content.floors[0].coordinateSystem, { topLeft: { x: 0, y: 200 }, bottomRight: { x: 500, y: 0 } });
  const [floor] = readDefinition(content).floors;
  assert.deepEqual(placeOn(floor, { x: 10, y: 190 }), { x: 10, y: 10 });
  assert.ok(floor.rooms.every(({ width, height }) => width > 0 && height > 0));
});

test("a definition may lack what is not needed; without rooms or corners it is none", () => {
  const [floor] = DEFINITION.content.floors;
  const { coordinateSystem, floorImage, ...bare } = floor;
  assert.deepEqual([readDefinition({ floors: [bare] }).floors[0].width, readDefinition({ floors: [bare] }).floors[0].image], [500.9, null]);
  for (const content of [null, undefined, {}, { floors: [] }, { floors: [{}] }, { floors: [{ rectangles: [{ name: "x" }] }] }]) assert.equal(readDefinition(content), null, JSON.stringify(content));
  const kept = after(DEFINITION, { type: "map_definition", content: {} });
  assert.notEqual(kept.map.definition, null, "a broken one does not take the place of a good one");
});

test("the picture of a floor and the files of bitmaps are names, never paths", () => {
  const content = (file) => ({ ...definition(file).content, bitmaps: [{ bitmapId: "a", bitmapFile: file }] });
  assert.equal(readDefinition(content("OSM_floor.png")).floors[0].image.file, "OSM_floor.png");
  for (const file of ["../x.png", "/x.png", "https://x/y.png", "..", ".env", null]) {
    const read = readDefinition(content(file));
    assert.deepEqual([read.floors[0].image, read.bitmaps], [null, {}], String(file));
  }
});

test("points are scaled so that all are seen, in the middle", () => {
  const points = [{ lat: 35.6762, lon: 139.6503 }, { lat: 34.6937, lon: 135.5023 }, { lat: 43.0642, lon: 141.3469 }];
  const dots = pointScene(points, 600, 400).shapes.filter(({ shape }) => shape === "dot");
  for (const { x, y } of dots) assert.ok(x >= 0 && x <= 600 && y >= 0 && y <= 400);
  const middle = (values) => (Math.min(...values) + Math.max(...values)) / 2;
  assert.deepEqual([Math.round(middle(dots.map(({ x }) => x))), Math.round(middle(dots.map(({ y }) => y)))], [300, 200]);
  assert.ok(dots[2].y < dots[0].y && dots[1].x < dots[0].x, "north is up, east is right");
  const [, east, south] = pointScene([{ lat: 60, lon: 10 }, { lat: 60, lon: 12 }, { lat: 59, lon: 10 }], 600, 400).shapes.filter(({ shape }) => shape === "dot");
  assert.ok(Math.abs((east.x - south.x) / (south.y - east.y) - 1) < 0.05, "two degrees of longitude at 60° N are as long as one of latitude");
  const [alone] = pointScene([{ lat: -33, lon: 151 }], 600, 400).shapes.filter(({ shape }) => shape === "dot");
  assert.deepEqual([alone.x, alone.y], [300, 200]);
});

test("lines of the earth have few and even numbers, at the poles as well", () => {
  for (const points of [[{ lat: 90, lon: 0 }], [{ lat: -90, lon: -180 }, { lat: 90, lon: 180 }], [{ lat: 35, lon: 139 }, { lat: 35.0001, lon: 139 }]]) {
    const lines = pointScene(points, 600, 400).shapes.filter(({ shape }) => shape === "grid");
    assert.ok(lines.length >= 2 && lines.length <= 16, `${lines.length} for ${JSON.stringify(points)}`);
    for (const { words } of lines) assert.match(words, /^\d+(\.\d{1,6})?°[NSEW]$/);
  }
});

test("points that are not on the earth are left out, and without any the map stays", () => {
  const state = after(DEFINITION, { type: "map", content: { points: [{ lat: 91, lon: 0 }, { lat: 1, lon: 181 }, { lat: "1", lon: 2 }, null, { lat: 35, lon: 139 }], description: "x" } });
  assert.deepEqual([state.map.points, state.map.shown, state.map.description], [[{ lat: 35, lon: 139 }], "points", "x"]);
  for (const points of [[], [{}], "here"]) assert.equal(after(DEFINITION, { type: "map", content: { points } }).map.shown, "plan", JSON.stringify(points));
});

test("points need no plan, and whoever looks at them can go back to it", () => {
  const state = after({ type: "map", content: { points: [{ lat: 35, lon: 139 }] } });
  assert.equal(state.map.shown, "points");
  assert.equal(apply(state, { type: "local_show", shown: "plan" }).map.shown, "plan");
});

test("a map without a floor picks the one that has the room", () => {
  const two = structuredClone(DEFINITION);
  two.content.floors.push({ floorId: "2F", floorName: "2階", rectangles: [{ name: "Attic", topLeft: { x: 0, y: 0 }, bottomRight: { x: 100, y: 50 } }] });
  const state = after(two, highlight("Attic"));
  assert.deepEqual([...rooms(planScene(state.map, 1)).keys()], ["Attic"]);
  assert.ok(rooms(planScene(from(state, highlight("Kitchen")).map, 1)).has("Kitchen"));
});

test("a turn shows what is done, and since when", () => {
  const state = after(CONNECTED, user("hi"), progress("executing", { step: 2, text: "df", elapsed_ms: 3000 }));
  assert.deepEqual(state.run, { state: "executing", step: "2", text: "df", startedAt: 997_000 });
  assert.equal(isBusy(state), true);
  const ended = apply(state, progress("ended", { elapsed_ms: 4000 }));
  assert.deepEqual([ended.run, isBusy(ended), ended.chat.at(-1).elapsed], [null, false, 4000]);
  assert.equal(apply(ended, progress("dancing")), ended);
});

test("a permission is asked for until it is given, refused, or void", () => {
  const ask = (id) => ({ type: "confirm", content: { id, tool: "shell", arguments: { command: "ls" }, warning: "careful" } });
  const asked = after(CONNECTED, progress("waiting"), ask("a"), ask("b"), ask("a"));
  assert.deepEqual(asked.confirms.map(({ id, warning, words }) => [id, warning, words]), [["b", "careful", '{\n  "command": "ls"\n}'], ["a", "careful", '{\n  "command": "ls"\n}']]);
  const given = apply(asked, { type: "confirmed", content: { id: "a", allowed: true } });
  assert.deepEqual([given.confirms.length, given.chat.at(-1).kind, given.chat.at(-1).allowed], [1, "decision", true]);
  assert.equal(apply(given, { type: "confirmed", content: { id: "a", allowed: false } }), given);
  assert.deepEqual(apply(given, progress("ended")).confirms, []);
});

test("a message is on its way until the server shows it", () => {
  const state = after(CONNECTED, say("one"), say("two"));
  assert.deepEqual([state.pending.length, isBusy(state)], [2, true]);
  assert.deepEqual(from(state, user("one")).pending.map(({ text }) => text), ["two"]);
});

test("what is told again makes the same page, and ends what is on its way", () => {
  const told = [user("hi"), { type: "text", content: "hello" }, { type: "image", content: PNG, format: "png" }];
  const before = after(DEFINITION, CONNECTED, say("hi"), ...told);
  const again = from(before, DEFINITION, RESUMED, ...told, HISTORY_END);
  assert.deepEqual(again, { ...before, pending: [], replaying: false });
  assert.equal(from(before, RESUMED).replaying, true);
});

test("a message that was lost with the line goes back to its author; one that arrived does not", () => {
  const state = after(CONNECTED, user("again"), say("again"), say("other"));
  const lost = from(state, RESUMED, user("again"), HISTORY_END);
  assert.deepEqual([lost.pending, lost.returned.text], [[], "again\nother"]);
  const arrived = from(state, RESUMED, user("again"), user("again"), HISTORY_END);
  assert.equal(arrived.returned.text, "other");
});

test("an error while nothing runs is about the message that waits", () => {
  const refused = after(CONNECTED, say("too much"), { type: "error", content: "busy" });
  assert.deepEqual([refused.pending, refused.returned.text, refused.chat.at(-1).kind], [[], "too much", "error"]);
  const running = after(CONNECTED, user("one"), progress("thinking"), say("two"), { type: "error", content: "failed" });
  assert.deepEqual([running.pending.length, running.returned], [1, null]);
});

test("a new conversation is empty, and keeps the plan", () => {
  const state = from(after(DEFINITION, CONNECTED, user("hi"), highlight("Kitchen"), progress("thinking")), { type: "connected", content: { conversation: "c2", resumed: false } });
  assert.deepEqual([state.conversation, state.chat, state.map.highlights, state.run, state.replaying], ["c2", [], [], null, false]);
  assert.notEqual(state.map.definition, null);
});

test("the wish to stop lasts as long as there is something to stop", () => {
  const stopping = after(CONNECTED, user("hi"), progress("thinking"), { type: "local_cancel" });
  assert.equal(stopping.cancelling, true);
  assert.equal(apply(stopping, progress("ended")).cancelling, false);
  assert.equal(from(stopping, RESUMED, user("hi"), progress("executing"), HISTORY_END).cancelling, true, "a lost line does not lose it");
  assert.equal(after(CONNECTED, { type: "local_cancel" }).cancelling, false);
});

test("the log keeps the newest frames, each shortened, and pictures by their beginning", () => {
  const add = (log, frame) => addFrame(log, { at: 0, direction: "in", raw: JSON.stringify(frame), frame });
  let log = add(EMPTY_LOG, { type: "image", content: "A".repeat(100_000) });
  assert.ok(log.frames[0].raw.length < 20_100 && log.frames[0].pretty.length < 1_000);
  assert.equal(log.frames[0].size, 100_029);
  for (let count = 0; count < MOST_FRAMES + 5; count += 1) log = add(log, { type: "text", content: String(count) });
  assert.deepEqual([log.frames.length, log.frames[0].type, log.frames.at(-1).pretty], [MOST_FRAMES, "text", JSON.stringify({ type: "text", content: String(MOST_FRAMES + 4) }, null, 2)]);
  assert.deepEqual(clearLog(log).frames, []);
  const [unreadable] = addFrame(EMPTY_LOG, { at: 0, direction: "in", raw: "no json", frame: readFrame("no json") }).frames;
  assert.deepEqual([unreadable.type, unreadable.raw, unreadable.pretty], ["?", "no json", "no json"]);
});

test("a frame is an object", () => {
  for (const raw of ["", "x", "[]", "5", "null", '"a"']) assert.equal(readFrame(raw), null, raw);
  assert.deepEqual(readFrame('{"type":"text"}'), { type: "text" });
});

test("a lost line is tried again after three seconds, unless the gateway names another wait", () => {
  assert.deepEqual([0, 1, 7].map((attempt) => delayBefore(attempt)), [RETRY_MS, RETRY_MS, RETRY_MS]);
  assert.equal(RETRY_MS, 3_000);
  assert.equal(delayBefore(0, "retry in 500 ms", () => 0), 500);
});

test("a refusal leads to the login, to a new conversation, or back", () => {
  assert.deepEqual([3504, 3505, 3506].map((code) => afterRefusal(code, false)), ["login", "login", "login"]);
  assert.deepEqual([3504, 3505, 3506].map((code) => afterRefusal(code, true)), ["forget", "forget", "again"]);
  assert.equal(afterRefusal(3507, true), "stop");
});

test("both languages have the same texts with the same values", () => {
  const valuesIn = (words) => [...words.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
  assert.deepEqual(Object.keys(ja), Object.keys(en));
  for (const key of Object.keys(en)) assert.deepEqual(valuesIn(ja[key]), valuesIn(en[key]), key);
});
