// A place that is drawn anew only when what it shows has changed.

import { element } from "../element.js";

/** `build(value)` makes one node or several; null shows nothing. */
export function createSlot(className, build) {
  const node = element("div", className);
  node.hidden = true;
  let shown = null;
  return {
    node,
    update(value) {
      if (value === shown) return;
      shown = value;
      node.replaceChildren(...(value === null ? [] : [build(value)].flat()));
      node.hidden = value === null;
    },
  };
}

/** One view for each value, in their order; a view that is there is told the new value, and the rest is removed. */
export function createSeries(node, build) {
  let views = [];
  return {
    node,
    get views() {
      return views;
    },
    update(values) {
      views.slice(values.length).forEach((view) => view.node.remove());
      views = values.map((value, place) => views[place] ?? append(node, build(value)));
      views.forEach((view, place) => view.update(values[place]));
    },
  };
}

function append(node, view) {
  node.append(view.node);
  return view;
}
