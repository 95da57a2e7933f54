// A list of nodes that follows a list of values: what has not changed stays where it is, with its scroll and its focus.

/** Values have a `key`, growing with their place; `build(value)` makes a node. */
export function createKeyed(container, build, isSame = sameFields) {
  let views = new Map();

  function viewOf(value) {
    const view = views.get(value.key);
    return view !== undefined && isSame(view.value, value) ? view : { value, node: build(value) };
  }

  return {
    update(values) {
      const next = new Map(values.map((value) => [value.key, viewOf(value)]));
      const kept = new Set(Array.from(next.values(), ({ node }) => node));
      for (const { node } of views.values()) if (!kept.has(node)) node.remove();
      views = next;
      let place = container.firstElementChild;
      for (const node of kept) {
        if (node === place) place = place.nextElementSibling;
        else container.insertBefore(node, place);
      }
    },
    /** Everything is made anew by the next update. */
    reset() {
      views = new Map();
      container.replaceChildren();
    },
  };
}

function sameFields(one, other) {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
