// How long, how much and how many, short enough for a narrow pane.

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** 0:07, 12:34, 1:02:03. */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / HOUR), Math.floor((whole % HOUR) / MINUTE), whole % MINUTE];
  const tail = `${String(rest).padStart(2, "0")}`;
  return hours === 0 ? `${minutes}:${tail}` : `${hours}:${String(minutes).padStart(2, "0")}:${tail}`;
}

/** 950, 12k, 1.2M. */
export function short(count) {
  if (count < 1_000) return String(count);
  if (count < 1_000_000) return `${trimmed(count / 1_000)}k`;
  return `${trimmed(count / 1_000_000)}M`;
}

export function money({ amount, currency }) {
  try {
    const digits = { minimumFractionDigits: 2, maximumFractionDigits: amount < 0.1 ? 4 : 2 };
    return new Intl.NumberFormat("en", { style: "currency", currency, ...digits }).format(amount);
  } catch {
    // The agent named a currency that there is not.
    return `${amount} ${currency}`;
  }
}

/** Lines added and removed; null for what has no lines. */
export function signed(added, removed) {
  return added === null && removed === null ? "" : `+${added ?? 0} \u2212${removed ?? 0}`;
}

function trimmed(value) {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.floor(value));
}
