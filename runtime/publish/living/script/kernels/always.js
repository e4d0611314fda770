// One kernel for each primitive: (result, inputs, attributes) → function that computes the result.
// Elementwise ones are in LOOPS, which is written from their expressions.
const KERNELS = {};

for (const name in LOOPS) {
  KERNELS[name] = (out, inputs, attributes) => {
    const loop = LOOPS[name], buffers = inputs.map((x) => x.d);
    const maps = inputs.map((x) => stretched(x.s, out.s)), round = rounding(out);
    return () => loop(out.d, buffers, maps, round, attributes);
  };
}

// ---- elementwise, where integers need another way ----

const isInteger = (dtype) => !isFloat(dtype);

const bitsOf = (dtype) => (/64/.test(dtype) ? 64 : 32);

function pairs(out, [a, b], operation) {
  const p = stretched(a.s, out.s), q = stretched(b.s, out.s), width = bitsOf(out.t);
  return () => {
    for (let i = 0; i < out.d.length; i++) {
      out.d[i] = operation(a.d[p ? p[i] : i], b.d[q ? q[i] : i], width);
    }
  };
}

function orIntegers(name, operation) {
  const floats = KERNELS[name];
  KERNELS[name] = (out, inputs) =>
    isInteger(out.t) ? pairs(out, inputs, operation) : floats(out, inputs);
}

// An integer as that many bits have it; a buffer wraps what it holds by itself.
const wrapped = (integer, width) => Number(BigInt.asIntN(width, integer));

function wholePower(a, b, width) {
  if (b < 0) throw new RangeError('an integer has no negative power');
  let result = 1n, base = BigInt(a);
  for (let left = BigInt(b); left > 0n; left >>= 1n) {
    if (left & 1n) result = BigInt.asIntN(width, result * base);
    base = BigInt.asIntN(width, base * base);
  }
  return Number(result);
}

function divisor(b) {
  if (b === 0) throw new RangeError('an integer can\'t be divided by 0');
  return b;
}

function wholeProduct(a, b, width) {
  const product = a * b;
  return Number.isSafeInteger(product) ? product : wrapped(BigInt(a) * BigInt(b), width);
}

orIntegers('multiply', wholeProduct);
orIntegers('power', wholePower);
orIntegers('remainder', (a, b) => remainderOf(a, divisor(b)));
orIntegers('floor_divide', (a, b) => (a - remainderOf(a, divisor(b))) / b);

// Bits of 64 need BigInt, those of 32 or fewer are JavaScript's own.
function bits(small, large) {
  return (out, inputs) => {
    if (!/64/.test(out.t)) return pairs(out, inputs, small);
    const wrap = out.t === 'uint64' ? BigInt.asUintN : BigInt.asIntN;
    return pairs(out, inputs, (a, b) => Number(wrap(64, large(BigInt(a), BigInt(b)))));
  };
}

KERNELS.bitwise_and = bits((a, b) => a & b, (a, b) => a & b);
KERNELS.bitwise_or = bits((a, b) => a | b, (a, b) => a | b);
KERNELS.bitwise_xor = bits((a, b) => a ^ b, (a, b) => a ^ b);
KERNELS.left_shift = bits((a, b) => (b > 31 ? 0 : a << b), (a, b) => (b > 63n ? 0n : a << b));
KERNELS.right_shift = bits(
  (a, b) => (b > 31 ? (a < 0 ? -1 : 0) : a < 0 ? a >> b : a >>> b),
  (a, b) => a >> b,
);

KERNELS.cast = (out, [x]) => {
  if (out.t === 'bool') {
    return () => {
      for (let i = 0; i < out.d.length; i++) out.d[i] = x.d[i] !== 0 ? 1 : 0;
    };
  }
  if (!/^u?int64$/.test(out.t)) return () => out.d.set(x.d);
  return () => {
    for (let i = 0; i < out.d.length; i++) out.d[i] = Math.trunc(x.d[i]);
  };
};

KERNELS.clip = (out, [x], {lo, hi}) => () => {
  for (let i = 0; i < out.d.length; i++) {
    let v = x.d[i];
    if (lo !== null) v = Math.max(v, +lo);
    if (hi !== null) v = Math.min(v, +hi);
    out.d[i] = v;
  }
};

// ---- shapes ----

KERNELS.broadcast_to = (out, [x]) =>
  x.d.length === 1 ? () => out.d.fill(x.d[0]) : gather(out, x, stretched(x.s, out.s) ?? offsets(out.s, stridesOf(out.s)));

KERNELS.permute_dims = (out, [x], {axes}) => {
  const strides = stridesOf(x.s);
  return gather(out, x, offsets(out.s, axes.map((axis) => strides[axis])));
};

KERNELS.flip = (out, [x], {axes}) => {
  const strides = stridesOf(x.s);
  const steps = strides.map((step, d) => (axes.includes(d) ? -step : step));
  const base = axes.reduce((sum, d) => sum + (x.s[d] - 1) * strides[d], 0);
  return gather(out, x, offsets(out.s, steps, base));
};

KERNELS.slice = (out, [x], {index}) => gather(out, x, offsets(out.s, ...sliced(x.s, index)));

KERNELS.embed = (out, [x], {index, fill}) => {
  const places = offsets(x.s, ...sliced(out.s, index));
  return () => {
    out.d.fill(+fill);
    for (let i = 0; i < places.length; i++) out.d[places[i]] = x.d[i];
  };
};

KERNELS.concat = (out, parts, {axis, ends}) => {
  const strides = stridesOf(out.s);
  const places = parts.map((x, k) => offsets(x.s, strides, (ends[k] - x.s[axis]) * strides[axis]));
  return () => parts.forEach((x, k) => {
    for (let i = 0; i < places[k].length; i++) out.d[places[k][i]] = x.d[i];
  });
};

// ---- reductions ----

KERNELS.sum = (out, [x]) => {
  const sum = summing(x.s, out.s, rounding(out));
  return () => sum(x.d, out.d);
};

function extreme(pick, start) {
  return (out, [x]) => {
    const places = folded(x, out), found = new Float64Array(out.d.length);
    return () => {
      found.fill(start);
      for (let i = 0; i < places.length; i++) found[places[i]] = pick(found[places[i]], x.d[i]);
      out.d.set(found);
    };
  };
}

KERNELS.max = extreme(Math.max, -Infinity);
KERNELS.min = extreme(Math.min, Infinity);
KERNELS.any = extreme((a, b) => (a || b ? 1 : 0), 0);
KERNELS.all = extreme((a, b) => (a && b ? 1 : 0), 1);

KERNELS.logsumexp = (out, [x]) => {
  const places = folded(x, out), top = new out.d.constructor(out.d.length);
  const parts = new x.d.constructor(x.d.length), round = rounding(out);
  const sum = summing(x.s, out.s, round);
  return () => {
    top.fill(-Infinity);
    for (let i = 0; i < places.length; i++) top[places[i]] = Math.max(top[places[i]], x.d[i]);
    for (let k = 0; k < top.length; k++) if (!Number.isFinite(top[k])) top[k] = 0;
    for (let i = 0; i < places.length; i++) parts[i] = Math.exp(round(x.d[i] - top[places[i]]));
    sum(parts, out.d);
    for (let k = 0; k < top.length; k++) out.d[k] = round(Math.log(out.d[k])) + top[k];
  };
};

// Softmax, or its logarithm, along one axis.
function softmaxes(isLog) {
  return (out, [x], {axis}) => {
    const total = {s: without(x.s, axis)}, places = folded(x, total), count = sizeOf(total.s);
    const top = new x.d.constructor(count), sums = new x.d.constructor(count);
    const parts = new x.d.constructor(x.d.length), round = rounding(out);
    const sum = summing(x.s, total.s, round);
    return () => {
      top.fill(-Infinity);
      for (let i = 0; i < places.length; i++) top[places[i]] = Math.max(top[places[i]], x.d[i]);
      for (let i = 0; i < places.length; i++) {
        out.d[i] = x.d[i] - top[places[i]];
        parts[i] = Math.exp(out.d[i]);
      }
      sum(parts, sums);
      for (let i = 0; i < places.length; i++) {
        if (isLog) out.d[i] -= round(Math.log(sums[places[i]]));
        else out.d[i] = parts[i] / sums[places[i]];
      }
    };
  };
}

KERNELS.softmax = softmaxes(false);
KERNELS.log_softmax = softmaxes(true);

// ---- products ----

KERNELS.matmul = (out, [a, b]) => {
  const rank = out.s.length, m = out.s[rank - 2], n = out.s[rank - 1], depth = a.s[a.s.length - 1];
  const batch = out.s.slice(0, -2), count = sizeOf(batch), row = new Float64Array(n);
  const p = stretched(a.s.slice(0, -2), batch), q = stretched(b.s.slice(0, -2), batch);
  return () => {
    for (let z = 0; z < count; z++) {
      const left = (p ? p[z] : z) * m * depth, right = (q ? q[z] : z) * depth * n;
      for (let i = 0; i < m; i++) {
        row.fill(0);
        for (let k = 0; k < depth; k++) {
          const factor = a.d[left + i * depth + k], start = right + k * n;
          for (let j = 0; j < n; j++) row[j] += factor * b.d[start + j];
        }
        out.d.set(row, (z * m + i) * n);
      }
    }
  };
};
