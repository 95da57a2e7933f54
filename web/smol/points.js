// Points of the earth as a list of shapes: scaled so that all are seen, and centred.

/** Around a single point, in degrees. */
const LEAST_SPAN = 0.01;
const EDGE = 0.12;
const AIM_OF_LINES = 5;
/** More numbers than this would hide the points. */
const MOST_NUMBERED = 40;
const FARTHEST_FOR_SCALE = 85;
const LABEL_PX = 11;
const DOT_PX = 5;

/** `{ box, shapes, unit }` for a pane of this size in pixels: one unit is one pixel. */
export function pointScene(points, width, height) {
  const frame = frameOf(points);
  const scale = Math.min((width * (1 - 2 * EDGE)) / frame.width, (height * (1 - 2 * EDGE)) / frame.height);
  const place = ({ lat, lon }) => ({
    x: width / 2 + (lon - frame.lon) * frame.shrink * scale,
    y: height / 2 - (lat - frame.lat) * scale,
  });
  const span = { lat: height / scale, lon: width / scale / frame.shrink };
  return {
    box: { x: 0, y: 0, width, height },
    image: null,
    shapes: [
      ...linesAround(frame.lat, span.lat).map((lat) => latitude(lat, place({ lat, lon: frame.lon }).y, width)),
      ...linesAround(frame.lon, span.lon).map((lon) => longitude(lon, place({ lat: frame.lat, lon }).x, height)),
      ...points.map((point) => ({ shape: "dot", ...place(point), size: DOT_PX, words: coordinates(point) })),
      ...(points.length > MOST_NUMBERED ? [] : points.map((point, index) => number(index + 1, place(point)))),
    ],
  };
}

export function coordinates({ lat, lon }) {
  return `${round(lat)}, ${round(lon)}`;
}

// A degree of longitude is shorter the farther it is from the equator.
function frameOf(points) {
  const [lats, lons] = [points.map(({ lat }) => lat), points.map(({ lon }) => lon)];
  const [south, north, west, east] = [Math.min(...lats), Math.max(...lats), Math.min(...lons), Math.max(...lons)];
  const lat = (south + north) / 2;
  const shrink = Math.cos((Math.min(Math.abs(lat), FARTHEST_FOR_SCALE) * Math.PI) / 180);
  return {
    lat,
    lon: (west + east) / 2,
    shrink,
    width: Math.max((east - west) * shrink, LEAST_SPAN),
    height: Math.max(north - south, LEAST_SPAN),
  };
}

function linesAround(middle, span) {
  const step = niceStep(span / AIM_OF_LINES);
  const first = Math.ceil((middle - span / 2) / step);
  const last = Math.floor((middle + span / 2) / step);
  return Array.from({ length: last - first + 1 }, (_, index) => round((first + index) * step));
}

/** 1, 2 or 5 with zeros. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((part) => part * power >= least) ?? 10) * power;
}

function latitude(lat, y, width) {
  const words = `${Math.abs(lat)}°${lat < 0 ? "S" : "N"}`;
  return { shape: "grid", from: { x: 0, y }, to: { x: width, y }, words, size: LABEL_PX, x: 4, y: y - 7 };
}

function longitude(lon, x, height) {
  const words = `${Math.abs(lon)}°${lon < 0 ? "W" : "E"}`;
  return { shape: "grid", from: { x, y: 0 }, to: { x, y: height }, words, size: LABEL_PX, x: x + 4, y: height - 8 };
}

function number(words, { x, y }) {
  return { shape: "label", words: String(words), x: x + 9, y: y - 9, anchor: "start", size: LABEL_PX + 2, bold: true, color: null, background: null };
}

function round(degrees) {
  return Number(degrees.toFixed(6));
}
