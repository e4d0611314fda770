// What goes along an axis row by row.

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
