// One kernel for each primitive: (result, inputs, attributes) → function that computes the result.
// Elementwise ones are in LOOPS, which is written from their expressions.
const KERNELS = {};

for (const name in LOOPS) {
  KERNELS[name] = (out, inputs) => {
    const loop = LOOPS[name], buffers = inputs.map((x) => x.d);
    const maps = inputs.map((x) => stretched(x.s, out.s)), round = rounding(out);
    return () => loop(out.d, buffers, maps, round);
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

// Calls visit(first element, length, step, place in the result) for every row along an axis.
function rows(x, axis, visit) {
  const [before, length, after] = aroundAxis(x.s, axis);
  return () => {
    for (let a = 0; a < before; a++) {
      for (let b = 0; b < after; b++) visit(a * length * after + b, length, after, a * after + b);
    }
  };
}

KERNELS.cumulative_sum = (out, [x], {axis}) => {
  const round = rounding(out);
  return rows(x, axis, (start, length, step) => {
    let sum = 0;
    for (let j = 0; j < length; j++) {
      sum = round(sum + x.d[start + j * step]);
      out.d[start + j * step] = sum;
    }
  });
};

// The first place of what is better than all others; NaN is better than anything.
function argument(isBetter) {
  return (out, [x], {axis}) => rows(x, axis, (start, length, step, place) => {
    let best = 0;
    for (let j = 1; j < length; j++) {
      const value = x.d[start + j * step], known = x.d[start + best * step];
      if (known === known && (value !== value || isBetter(value, known))) best = j;
    }
    out.d[place] = best;
  });
}

KERNELS.argmax = argument((a, b) => a > b);
KERNELS.argmin = argument((a, b) => a < b);

KERNELS.argsort = (out, [x], {axis, descending}) => rows(x, axis, (start, length, step) => {
  const at = (j) => x.d[start + j * step];
  const order = (i, j) => {
    const a = at(i), b = at(j);
    if (a !== a || b !== b) return (a !== a) - (b !== b);
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const places = [...Array(length).keys()].sort(descending ? (i, j) => order(j, i) : order);
  places.forEach((place, j) => { out.d[start + j * step] = place; });
});

// ---- computed indices ----

KERNELS.one_hot = (out, [index], {depth}) => () => {
  out.d.fill(0);
  index.d.forEach((place, k) => {
    if (place >= 0 && place < depth) out.d[k * depth + place] = 1;
  });
};

KERNELS.take = (out, [x, index], {axis}) => {
  const [before, length, after] = aroundAxis(x.s, axis), count = index.d.length;
  return () => {
    for (let j = 0; j < count; j++) {
      const at = placeOf(index.d[j], length);
      for (let a = 0; a < before; a++) {
        for (let b = 0; b < after; b++) {
          out.d[(a * count + j) * after + b] = x.d[(a * length + at) * after + b];
        }
      }
    }
  };
};

KERNELS.scatter_add = (out, [x, index, updates], {axis}) => {
  const [before, length, after] = aroundAxis(x.s, axis), count = index.d.length;
  return () => {
    out.d.set(x.d);
    for (let a = 0; a < before; a++) {
      for (let j = 0; j < count; j++) {
        const at = placeOf(index.d[j], length);
        for (let b = 0; b < after; b++) {
          out.d[(a * length + at) * after + b] += updates.d[(a * count + j) * after + b];
        }
      }
    }
  };
};

// For every index: the place in x of element 0 of its row; the step along the row; its length.
function alongAxis(x, index, axis) {
  const strides = stridesOf(x.s);
  const steps = index.s.map((n, d) => (d === axis ? 0 : strides[d]));
  return [offsets(index.s, steps), strides[axis], x.s[axis]];
}

KERNELS.take_along_axis = (out, [x, index], {axis}) => {
  const [places, step, length] = alongAxis(x, index, axis);
  return () => places.forEach((place, j) => {
    out.d[j] = x.d[place + placeOf(index.d[j], length) * step];
  });
};

// Updates are combined with what their index reads, one after the other.
function along(combine) {
  return (out, [x, index, updates], {axis}) => {
    const [places, step, length] = alongAxis(x, index, axis);
    return () => {
      out.d.set(x.d);
      places.forEach((place, j) => {
        const at = place + placeOf(index.d[j], length) * step;
        out.d[at] = combine(out.d[at], updates.d[j], out.t);
      });
    };
  };
}

KERNELS.add_along_axis = along((a, b) => a + b);
KERNELS.set_along_axis = along((a, b) => b);
KERNELS.multiply_along_axis = along(
  (a, b, dtype) => (isInteger(dtype) ? wholeProduct(a, b, bitsOf(dtype)) : a * b),
);
KERNELS.maximum_along_axis = along((a, b) => Math.max(a, b));
KERNELS.minimum_along_axis = along((a, b) => Math.min(a, b));

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

KERNELS.einsum = (out, inputs, {terms, output}) => {
  const lengths = {};
  terms.forEach((term, k) => [...term].forEach((letter, d) => { lengths[letter] = inputs[k].s[d]; }));
  const letters = [...output, ...Object.keys(lengths).filter((letter) => !output.includes(letter))];
  const shape = letters.map((letter) => lengths[letter]);
  const placesOf = (term, s) => {
    const strides = stridesOf(s);
    return offsets(shape, letters.map((c) => (term.includes(c) ? strides[term.indexOf(c)] : 0)));
  };
  const places = inputs.map((x, k) => placesOf(terms[k], x.s)), into = placesOf(output, out.s);
  const sums = new Float64Array(out.d.length);
  return () => {
    sums.fill(0);
    for (let i = 0; i < into.length; i++) {
      let product = 1;
      for (let k = 0; k < inputs.length; k++) product *= inputs[k].d[places[k][i]];
      sums[into[i]] += product;
    }
    out.d.set(sums);
  };
};

// Calls visit(place in the image, in the weights, in the result) for every product of a convolution.
function convolve(image, weights, result, {geometry: g, groups}, visit) {
  const [batch, channels, height, width] = image, [, filters, rowCount, columnCount] = result;
  const each = channels / groups, perGroup = filters / groups;
  for (let n = 0; n < batch; n++) for (let f = 0; f < filters; f++) {
    for (let r = 0; r < rowCount; r++) for (let s = 0; s < columnCount; s++) {
      for (let c = 0; c < each; c++) for (let i = 0; i < g.window[0]; i++) {
        const h = r * g.stride[0] - g.padding[0][0] + i * g.dilation[0];
        if (h < 0 || h >= height) continue;
        for (let j = 0; j < g.window[1]; j++) {
          const w = s * g.stride[1] - g.padding[1][0] + j * g.dilation[1];
          if (w < 0 || w >= width) continue;
          visit(
            ((n * channels + Math.floor(f / perGroup) * each + c) * height + h) * width + w,
            ((f * each + c) * g.window[0] + i) * g.window[1] + j,
            ((n * filters + f) * rowCount + r) * columnCount + s,
          );
        }
      }
    }
  }
}

// Adds up in double precision, and rounds once.
function accumulated(out, add) {
  const sums = new Float64Array(out.d.length);
  return () => {
    sums.fill(0);
    add(sums);
    out.d.set(sums);
  };
}

KERNELS.conv2d = (out, [x, w], how) => accumulated(out, (sums) =>
  convolve(x.s, w.s, out.s, how, (a, b, c) => { sums[c] += x.d[a] * w.d[b]; }));
KERNELS.conv2d_x = (out, [g, w], how) => accumulated(out, (sums) =>
  convolve(out.s, w.s, g.s, how, (a, b, c) => { sums[a] += g.d[c] * w.d[b]; }));
KERNELS.conv2d_w = (out, [x, g], how) => accumulated(out, (sums) =>
  convolve(x.s, out.s, g.s, how, (a, b, c) => { sums[b] += x.d[a] * g.d[c]; }));

// Calls visit(place in the image or −1, place in the windows) for every element of all windows.
function visitWindows(image, {geometry: g}, windows, visit) {
  const [batch, channels, height, width] = image, [rowsOf, columnsOf, , , down, across] = windows;
  let k = 0;
  for (let i = 0; i < rowsOf; i++) for (let j = 0; j < columnsOf; j++) {
    for (let m = 0; m < batch * channels; m++) {
      for (let r = 0; r < down; r++) for (let s = 0; s < across; s++, k++) {
        const h = r * g.stride[0] - g.padding[0][0] + i * g.dilation[0];
        const w = s * g.stride[1] - g.padding[1][0] + j * g.dilation[1];
        const outside = h < 0 || h >= height || w < 0 || w >= width;
        visit(outside ? -1 : (m * height + h) * width + w, k);
      }
    }
  }
}

KERNELS.windows = (out, [x], how) => () =>
  visitWindows(x.s, how, out.s, (place, k) => { out.d[k] = place < 0 ? +how.fill : x.d[place]; });
KERNELS.fold = (out, [patches], how) => () => {
  out.d.fill(0);
  visitWindows(out.s, how, patches.s, (place, k) => { if (place >= 0) out.d[place] += patches.d[k]; });
};
