// Points for what was predicted, as the runtime gives them.
const SIGNS = {positive: 1, zero: 0, negative: -1};
const NAMED = {nan: NaN, inf: Infinity, '∞': Infinity, infinity: Infinity};
const MOST_POINTS = 4;

const isNone = (text) => ['none', 'null'].includes(text.trim().toLowerCase());

// The number in a typed answer, which may be a fraction; undefined if it is none.
function readNumber(text) {
  const plain = text.trim().replaceAll('−', '-').replace(',', '.').toLowerCase();
  const [sign, rest] = plain[0] === '-' ? [-1, plain.slice(1)] : [1, plain.replace('+', '')];
  if (rest in NAMED) return sign * NAMED[rest];
  const parts = rest.split('/').map((part) => (part.trim() ? Number(part) : NaN));
  if (parts.length > 2 || !parts.every(Number.isFinite) || parts[1] === 0) return undefined;
  return sign * (parts.length > 1 ? parts[0] / parts[1] : parts[0]);
}

const isZero = (x) => Math.abs(x) < 1e-12;
const signOf = (x) =>
  Number.isNaN(x) ? 'NaN' : isZero(x) ? 'zero' : x > 0 ? 'positive' : 'negative';
const decadeOf = (x) => (Number.isFinite(x) ? Math.floor(Math.log10(Math.abs(x)) + 1e-9) : NaN);

// 0 to 4 points for one number: sign, then within a factor of two, then within five percent, which
// an estimate need not be.
function pointsFor(yours, actual, form) {
  if (form === 'sign') return signOf(yours) === signOf(actual) ? MOST_POINTS : 0;
  if (form === 'decade') return decadeOf(yours) === decadeOf(actual) ? MOST_POINTS : 0;
  if (!Number.isFinite(actual) || !Number.isFinite(yours) || isZero(actual)) {
    return Object.is(yours, actual) || (isZero(yours) && isZero(actual)) ? MOST_POINTS : 0;
  }
  const ratio = yours / actual,
    isNear = ratio >= 0.5 && ratio <= 2,
    isClose = Math.abs(ratio - 1) <= 0.05 + 1e-9;
  if (form === 'estimate') return (ratio > 0 ? 1 : 0) + (isNear ? 3 : 0);
  return (ratio > 0 ? 1 : 0) + (isNear ? 1 : 0) + (isClose ? 2 : 0);
}

// Numbers as they are shown: signs in words, decades as powers of ten.
function shownAnswer(numbers, form) {
  if (numbers === null) return 'None';
  const one = (x) => {
    if (form === 'sign') return signOf(x);
    return form === 'decade' ? `10^${decadeOf(x)}` : number(x);
  };
  return numbers.length === 1 ? one(numbers[0]) : `[${numbers.map(one).join(', ')}]`;
}

// What was typed beside what is computed: {points, right, yours, actual, numbers}.
function judged(given, actual, form) {
  const yours = isNone(given[0]) ? null : given.map((text) => readAnswer(text, form));
  const isEither = yours === null || actual === null;
  const each = isEither
    ? [yours === actual ? MOST_POINTS : 0]
    : yours.map((x, i) => pointsFor(x, actual[i], form));
  return {
    points: each.reduce((a, b) => a + b, 0) / each.length,
    right: Math.min(...each) === MOST_POINTS,
    yours: shownAnswer(yours, form),
    actual: shownAnswer(actual, form),
    numbers: yours,
  };
}

// A typed answer as a number; undefined if it is none. A decade is typed as its power.
function readAnswer(text, form) {
  if (form === 'sign') return SIGNS[text];
  const found = readNumber(text);
  return form === 'decade' && found !== undefined ? 10 ** found : found;
}

// The answer as the file of answers has it.
function answerText(given, form) {
  if (isNone(given[0])) return 'None';
  const one = (text) =>
    form === 'decade' ? `1e${readNumber(text)}` : form === 'sign' ? text : String(readNumber(text));
  return given.map(one).join(', ');
}
