// A bounded, growing list of entries that stays at its end only while the reader is there.

const LINE_LIMIT = 3_000;
const END_TOLERANCE_PX = 32;

export function createTranscript(element, latestButton = null) {
  let waiting = [];
  let lines = 0;
  let following = true;
  let lastTop = 0;
  let lastSize = "";
  let frame = null;

  function schedule() {
    frame ??= requestAnimationFrame(flush);
  }

  // One write per frame, however many lines a busy agent prints.
  function flush() {
    frame = null;
    element.append(...waiting.map((entry) => entry.node));
    waiting = [];
    trim();
    if (following) toEnd();
  }

  function trim() {
    while (lines > LINE_LIMIT && element.childElementCount > 1) {
      lines -= Number(element.firstElementChild.dataset.lines);
      element.firstElementChild.remove();
    }
  }

  // A hidden tab draws no frames; what waits there must not grow without end either.
  function trimWaiting() {
    while (waiting.length > LINE_LIMIT) lines -= waiting.shift().lines;
  }

  function toEnd() {
    element.scrollTop = element.scrollHeight;
  }

  function follow(next) {
    following = next;
    latestButton?.toggleAttribute("hidden", following);
  }

  // A pane of another size leaves its end as well; only a move upwards in the same one is the reader's wish.
  function scrolled() {
    const movedUp = !noteSize() && element.scrollTop < lastTop;
    lastTop = element.scrollTop;
    follow(distanceToEnd(element) < END_TOLERANCE_PX || (following && !movedUp));
  }

  function resized() {
    noteSize();
    if (following) toEnd();
  }

  /** Whether it is another one than before. */
  function noteSize() {
    const size = `${element.clientWidth} ${element.clientHeight}`;
    const before = lastSize;
    lastSize = size;
    return size !== before;
  }

  element.addEventListener("scroll", scrolled, { passive: true });
  new ResizeObserver(resized).observe(element);
  latestButton?.addEventListener("click", () => {
    follow(true);
    toEnd();
  });

  return {
    append(node, size = 1) {
      node.dataset.lines = size;
      lines += size;
      waiting.push({ node, lines: size });
      trimWaiting();
      schedule();
    },
    /** Puts a node at the end, and takes away an older one that it replaces; without a blink if that is there already. */
    replace(old, node, size = 1) {
      if (old === element.lastElementChild && waiting.length === 0) {
        node.dataset.lines = size;
        lines += size - Number(old.dataset.lines);
        old.replaceWith(node);
        return schedule();
      }
      this.remove(old);
      this.append(node, size);
    },
    remove(node) {
      // One that the limit has taken away was counted then.
      if (node.isConnected || waiting.some((entry) => entry.node === node)) lines -= Number(node.dataset.lines);
      waiting = waiting.filter((entry) => entry.node !== node);
      node.remove();
    },
    /** Whether nothing was put behind it. */
    isLast(node) {
      return (waiting.at(-1)?.node ?? element.lastElementChild) === node;
    },
    /** Something in here has grown; a reader at the end stays there. */
    grown: schedule,
    clear() {
      waiting = [];
      lines = 0;
      lastTop = 0;
      element.replaceChildren();
      follow(true);
    },
  };
}

function distanceToEnd(element) {
  return element.scrollHeight - element.scrollTop - element.clientHeight;
}
