// Draws shapes as vectors. Colours and words of frames become attributes and text, never markup.

const SPACE = "http://www.w3.org/2000/svg";
const TURNS = { right: 0, down: 90, left: 180, up: 270 };
/** Of an arrow that points to the right, as long as 1, around its middle. */
const ARROW = "M-0.5 -0.13 H0.08 V-0.36 L0.5 0 L0.08 0.36 V0.13 H-0.5 Z";
const BACKGROUND_EDGE = 0.25;
const [LIGHT, DARK] = ["#ffffff", "#000000"];

/** `address(file)` is where the picture of an overlay lies. */
export function createDrawing({ box, shapes }, name, address) {
  const svg = make("svg", { viewBox: [box.x, box.y, box.width, box.height].join(" "), role: "img", "aria-label": name });
  svg.append(...shapes.map((shape) => BUILDERS[shape.shape](shape, address)));
  return svg;
}

/** What lies behind words is as large as they are, which is known only now that they are drawn. */
export function underlay(svg) {
  for (const words of svg.querySelectorAll("text[data-background]")) {
    const { x, y, width, height } = words.getBBox();
    const edge = height * BACKGROUND_EDGE;
    const place = { x: x - edge, y: y - edge / 2, width: width + 2 * edge, height: height + edge, rx: edge };
    words.before(make("rect", { ...place, fill: words.dataset.background }));
  }
}

/** The picture of a floor, under everything else. */
export function addPicture(svg, { file, x, y, scale }, { width, height }, address) {
  svg.prepend(make("image", { class: "floor", href: address(file), x, y, width: width * scale.x, height: height * scale.y, preserveAspectRatio: "none" }));
}

const BUILDERS = {
  rectangle({ name, x, y, width, height, color, strokeOpacity, fillOpacity, dashed, marked }) {
    const node = make("rect", { x, y, width, height, fill: color, "fill-opacity": fillOpacity, stroke: color, "stroke-opacity": strokeOpacity });
    node.setAttribute("class", ["room", ...(dashed ? ["area"] : []), ...(marked ? ["marked"] : [])].join(" "));
    node.dataset.room = name;
    return node;
  },
  label({ words, x, y, anchor, size, bold, color, background }) {
    const node = make("text", { x, y, "text-anchor": anchor, "font-size": size, "stroke-width": background === null ? size * 0.22 : 0 });
    node.setAttribute("class", bold ? "label bold" : "label");
    if (color !== null) node.setAttribute("fill", color);
    // Its colour is the same on a light and on a dark ground, so its edge keeps it readable.
    if (color !== null) node.setAttribute("stroke", isDark(color) ? LIGHT : DARK);
    if (background !== null) node.dataset.background = background;
    node.textContent = words;
    return node;
  },
  arrow({ direction, room, x, y, length }) {
    const node = make("path", { d: ARROW, transform: `translate(${x} ${y}) rotate(${TURNS[direction]}) scale(${length})` });
    node.setAttribute("class", "arrow");
    node.dataset.direction = direction;
    if (room !== null) node.dataset.of = room;
    return node;
  },
  bitmap({ id, file, x, y, size }, address) {
    const words = BUILDERS.label({ words: id, x, y, anchor: "middle", size: size / 2, bold: false, color: null, background: null });
    if (file === null) return words;
    const image = make("image", { href: address(file), x: x - size / 2, y: y - size / 2, width: size, height: size });
    image.addEventListener("error", () => image.replaceWith(words));
    return image;
  },
  dot({ x, y, size, words }) {
    const node = make("circle", { cx: x, cy: y, r: size });
    node.setAttribute("class", "dot-of-earth");
    const title = make("title", {});
    title.textContent = words;
    node.append(title);
    return node;
  },
  grid({ from, to, words, size, x, y }) {
    const line = make("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y });
    const text = make("text", { x, y, "font-size": size });
    text.textContent = words;
    const node = make("g", {});
    node.setAttribute("class", "grid");
    node.append(line, text);
    return node;
  },
};

function isDark(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue < 150;
}

function make(tag, attributes) {
  const node = document.createElementNS(SPACE, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}
