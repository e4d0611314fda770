// Computed indices: what is read from, and added up at, places that are values.

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
