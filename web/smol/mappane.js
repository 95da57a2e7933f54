// The map: the floor plan, or points of the earth, as large as the pane.

import { element, worded } from "../element.js";
import { label, text } from "../language.js";
import { roomOf } from "./definition.js";
import { currentFloor } from "./map.js";
import { coordinates, pointScene } from "./points.js";
import { planScene, unitFor } from "./scene.js";
import { addPicture, createDrawing, underlay } from "./svg.js";
import { wordsOf } from "./words.js";

const MOST_NAMED = 20;
const MOST_LISTED = 500;
const bitmap = (file) => `../backend/bitmaps/${file}`;
const picture = (file) => `../backend/data/${file}`;

/** `show("plan" | "points")` when somebody chooses. */
export function createMapPane(root, show) {
  const [drawing, words, views] = ["#drawing", "#map-words", "#map-views"].map((part) => root.querySelector(part));
  const [list, title, places] = ["#point-list", "#point-list summary", "#point-list ol"].map((part) => root.querySelector(part));
  const pictures = new Map();
  let listed = null;
  let map = null;

  function draw() {
    const { clientWidth: width, clientHeight: height } = drawing;
    if (map === null || width < 20 || height < 20) return;
    const isPlan = map.shown === "plan";
    drawHead(isPlan);
    drawList(isPlan);
    if (isPlan && map.definition === null) return drawing.replaceChildren(worded("p", "nothing", "noPlan"));
    const scene = isPlan ? planScene(map, unitFor(currentFloor(map), width, height)) : pointScene(map.points, width, height);
    const svg = createDrawing(scene, isPlan ? namePlan(map) : namePoints(map), bitmap);
    svg.dataset.shown = map.shown;
    drawing.replaceChildren(svg);
    if (scene.image !== null) lay(svg, scene.image);
    underlay(svg);
  }

  function drawHead(isPlan) {
    views.hidden = map.points.length === 0;
    for (const button of views.children) button.setAttribute("aria-pressed", String(button.dataset.shown === map.shown));
    const floor = map.definition === null ? "" : currentFloor(map).name;
    words.textContent = isPlan ? floor : map.description;
    words.title = words.textContent;
  }

  function drawList(isPlan) {
    list.hidden = isPlan;
    if (isPlan || map.points === listed) return;
    listed = map.points;
    label(title, "pointList", { count: listed.length });
    places.replaceChildren(...listed.slice(0, MOST_LISTED).map((point) => element("li", "", coordinates(point))));
  }

  // Without its picture the plan is the same on a plain ground.
  function lay(svg, image) {
    const known = pictures.get(image.file);
    if (known === undefined) return load(image.file);
    if (known.naturalWidth > 0) addPicture(svg, image, { width: known.naturalWidth, height: known.naturalHeight }, picture);
  }

  function load(file) {
    const image = new Image();
    pictures.set(file, image);
    image.addEventListener("load", draw);
    image.src = picture(file);
  }

  views.addEventListener("click", (event) => {
    const { shown } = event.target.dataset;
    if (shown !== undefined) show(shown);
  });
  new ResizeObserver(draw).observe(drawing);

  return {
    update(next) {
      if (next === map) return;
      map = next;
      draw();
    },
    redraw: draw,
  };
}

/** In words for who does not see the drawing. */
function namePlan(map) {
  const floor = currentFloor(map);
  const marked = [...map.highlights, ...map.rectangles.map(({ name }) => wordsOf(name))].filter((name) => roomOf(floor, name) !== null);
  const arrows = map.arrows.map(({ room, direction }) => `${room} ${text(direction)}`);
  const texts = map.overlays.filter(({ type }) => type === "text").map((overlay) => wordsOf(overlay.text));
  const parts = [
    text("planOf", { floor: floor.name }),
    named("planMarked", "rooms", [...new Set(marked)]),
    named("planArrows", "arrows", arrows),
    named("planTexts", "texts", texts),
  ];
  return parts.filter((part) => part !== "").join("; ");
}

function named(key, name, found) {
  return found.length === 0 ? "" : text(key, { [name]: found.slice(0, MOST_NAMED).join(", ") });
}

function namePoints({ points, description }) {
  const words = text("pointsOf", { count: points.length, from: coordinates(points[0]), to: coordinates(points.at(-1)) });
  return description === "" ? words : `${description}: ${words}`;
}
