// Arrays of static shape: {s: shape, t: dtype, d: buffer}. Every value has a buffer of its own, so
// that each step can be looked at; what is fixed is computed once.
const BUFFERS = {
  float64: Float64Array, float32: Float32Array, int64: Float64Array, uint64: Float64Array,
  int32: Int32Array, uint32: Uint32Array, int16: Int16Array, uint16: Uint16Array,
  int8: Int8Array, uint8: Uint8Array, bool: Uint8Array,
};
const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
const sameShape = (a, b) => a.length === b.length && a.every((n, i) => n === b[i]);
const isFloat = (dtype) => dtype.startsWith('float');

function stridesOf(shape) {
  const strides = [];
  let step = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

// The offset into a buffer for every element of a shape, given the step along each axis.
function offsets(shape, steps, base = 0) {
  const count = sizeOf(shape), found = new Int32Array(count), index = shape.map(() => 0);
  let at = base;
  for (let k = 0; k < count; k++) {
    found[k] = at;
    for (let d = shape.length - 1; d >= 0; d--) {
      at += steps[d];
      if (++index[d] < shape[d]) break;
      at -= steps[d] * shape[d];
      index[d] = 0;
    }
  }
  return found;
}

// Where the elements of the larger shape come from; null if it is the same shape.
function stretched(from, to) {
  if (sameShape(from, to)) return null;
  const strides = stridesOf(from), extra = to.length - from.length;
  const steps = to.map((n, d) => (d < extra || from[d - extra] === 1 ? 0 : strides[d - extra]));
  return offsets(to, steps);
}

// Where in a result, whose reduced axes have length 1, every element of x goes.
function folded(x, out) {
  const strides = stridesOf(out.s);
  return offsets(x.s, x.s.map((n, d) => (out.s[d] === n && n > 1 ? strides[d] : 0)));
}

// Lengths before, along and after an axis.
const aroundAxis = (shape, axis) =>
  [sizeOf(shape.slice(0, axis)), shape[axis], sizeOf(shape.slice(axis + 1))];

function gather(out, x, places) {
  return () => {
    const from = x.d, to = out.d;
    for (let i = 0; i < places.length; i++) to[i] = from[places[i]];
  };
}

// Steps and base of slices that start somewhere and have a step.
function sliced(shape, index) {
  const strides = stridesOf(shape);
  return [
    index.map(([, step], d) => step * strides[d]),
    index.reduce((base, [start], d) => base + start * strides[d], 0),
  ];
}

function placeOf(index, length) {
  if (index < -length || index >= length) {
    throw new RangeError(`index ${index} is out of range for an axis of length ${length}`);
  }
  return index < 0 ? index + length : index;
}

// Rounds to the precision of an array between two steps.
const rounding = (out) => (out.t === 'float32' ? Math.fround : (x) => x);

// ---- functions that JavaScript lacks, or has with other limits ----

function roundHalfEven(x) {
  const below = Math.floor(x), rest = x - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  if (rest !== 0.5) return x;
  return below % 2 ? below + 1 : below;
}

const powerOf = (a, b) => (a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b);

// A series below 2.5, above it a continued fraction of erfc; to one unit in the last place or two.
function erf(x) {
  const a = Math.abs(x);
  if (a !== a) return x;
  if (a > 6) return Math.sign(x);
  if (a < 2.5) {
    let term = x, sum = x;
    for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum) && n <= 200; n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return sum * 1.1283791670955126;
  }
  let fraction = 0;
  for (let k = 60; k > 0; k--) fraction = k / 2 / (a + fraction);
  return Math.sign(x) * (1 - Math.exp(-a * a) / ((a + fraction) * 1.7724538509055159));
}

// The rest of a division that has the sign of b, and the quotient that goes with it, as numpy's.
function remainderOf(a, b) {
  const rest = a % b;
  if (b === 0 || rest !== rest) return NaN;
  if (rest === 0) return b < 0 || Object.is(b, -0) ? -0 : 0;
  return b < 0 !== rest < 0 ? rest + b : rest;
}

function quotientOf(a, b, round) {
  if (b === 0) return a / b;
  const rest = a % b;
  let quotient = round(round(a - rest) / b);
  if (rest !== 0 && b < 0 !== rest < 0) quotient = round(quotient - 1);
  if (quotient === 0) return a / b < 0 ? -0 : 0;
  const whole = Math.floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

// Adds up what lies together in numpy's order: the same bits, also in float32.
function pairwise(x, start, count, round) {
  if (count < 8) {
    let sum = 0;
    for (let i = 0; i < count; i++) sum = round(sum + x[start + i]);
    return sum;
  }
  if (count <= 128) {
    const a = [];
    for (let j = 0; j < 8; j++) a[j] = x[start + j];
    let i = 8;
    for (; i < count - (count % 8); i += 8) {
      for (let j = 0; j < 8; j++) a[j] = round(a[j] + x[start + i + j]);
    }
    const left = round(round(a[0] + a[1]) + round(a[2] + a[3]));
    let sum = round(left + round(round(a[4] + a[5]) + round(a[6] + a[7])));
    for (; i < count; i++) sum = round(sum + x[start + i]);
    return sum;
  }
  let half = count >> 1;
  half -= half % 8;
  const first = pairwise(x, start, half, round);
  return round(first + pairwise(x, start + half, count - half, round));
}

// Sums a buffer of shape ``from`` into one of shape ``to``, whose reduced axes have length 1.
function summing(from, to, round) {
  let d = from.length;
  while (d > 0 && to[d - 1] === 1) d--;
  const run = sizeOf(from.slice(d)), outer = from.slice(0, d);
  const places = folded({s: outer}, {s: to.slice(0, d)});
  return (x, sums) => {
    sums.fill(0);
    for (let k = 0; k < places.length; k++) {
      sums[places[k]] = round(sums[places[k]] + (run === 1 ? x[k] : pairwise(x, k * run, run, round)));
    }
  };
}

const without = (shape, axis) => shape.map((n, d) => (d === axis ? 1 : n));
