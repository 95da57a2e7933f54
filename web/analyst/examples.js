// Questions that fit the columns of a file, for people who do not know yet what they can ask.

const MOST = 6;
const NUMBER = /^(u?int|float|double|decimal|number|Int|UInt|Float)/;
const DATE_TYPE = /date|time/i;
const DATE_NAME = /date|month|year|day|time|日付|年月|日時|月日|年度|月$|日$/i;
const DATE_VALUE = /^\d{4}[-/年]\d{1,2}/;
/** Numbers that only name something: nobody wants their total. */
const NAMING = /(^|[_\s])(id|no|code|number|zip|year|month|day)$|^id|番号|コード|年$|月$|日$|ID$/i;

/** `[key, values]` of the texts, for the newest file. */
export function examplesFor({ columns, dtypes, head }) {
  const dates = columns.filter((name) => isDate(name, dtypes[name], head));
  const numbers = columns.filter((name) => NUMBER.test(dtypes[name]) && !NAMING.test(name) && !dates.includes(name));
  const words = columns.filter((name) => !NUMBER.test(dtypes[name]) && !dates.includes(name) && !NAMING.test(name));
  const [amount, other] = numbers;
  const group = words.find((name) => repeats(name, head)) ?? words[0];
  const fitting = [
    ["exampleOverview", {}],
    amount !== undefined && group !== undefined && ["exampleBar", { amount, group }],
    amount !== undefined && dates.length > 0 && ["exampleLine", { amount, date: dates[0] }],
    amount !== undefined && ["exampleHistogram", { amount }],
    other !== undefined && ["exampleCorrelation", { amount, other }],
    amount === undefined && group !== undefined && ["exampleCount", { group }],
    ["exampleMissing", {}],
    ["exampleDuplicates", {}],
  ];
  return fitting.filter(Boolean).slice(0, MOST);
}

function isDate(name, type = "", head) {
  if (DATE_TYPE.test(type)) return true;
  if (NUMBER.test(type)) return false;
  const values = head.map((record) => record[name]).filter((value) => value !== null && value !== undefined);
  if (values.length === 0) return DATE_NAME.test(name);
  return values.every((value) => DATE_VALUE.test(String(value)));
}

// Five rows are few, but a name that comes back among them is worth grouping by.
function repeats(name, head) {
  const values = head.map((record) => record[name]);
  return new Set(values).size < values.length;
}
