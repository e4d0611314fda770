// Square matrices, by elimination in double precision: what numpy leaves to LAPACK.

// Brings rows to an upper triangle, the largest pivot first; `beside` are the right sides, row by
// row. Returns the sign of the permutation, or 0 for a singular matrix.
function eliminate(rows, beside) {
  const n = rows.length;
  let sign = 1;
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(rows[i][k]) > Math.abs(rows[best][k])) best = i;
    if (rows[best][k] === 0) return 0;
    if (best !== k) {
      [rows[k], rows[best]] = [rows[best], rows[k]];
      [beside[k], beside[best]] = [beside[best], beside[k]];
      sign = -sign;
    }
    for (let i = k + 1; i < n; i++) {
      const factor = rows[i][k] / rows[k][k];
      if (factor === 0) continue;
      for (let j = k; j < n; j++) rows[i][j] -= factor * rows[k][j];
      for (let j = 0; j < beside[i].length; j++) beside[i][j] -= factor * beside[k][j];
    }
  }
  return sign;
}

// Solves an upper triangle for the right sides, from the last row up.
function substitute(rows, beside) {
  for (let i = rows.length - 1; i >= 0; i--) {
    for (let j = 0; j < beside[i].length; j++) {
      let sum = beside[i][j];
      for (let k = i + 1; k < rows.length; k++) sum -= rows[i][k] * beside[k][j];
      beside[i][j] = sum / rows[i][i];
    }
  }
}

// One matrix of a batch as rows.
function matrixAt(x, place, height, width) {
  const start = place * height * width;
  return Array.from({length: height}, (_, i) =>
    Array.from(x.d.slice(start + i * width, start + (i + 1) * width)));
}

const writeMatrix = (out, place, rows) => {
  const width = rows.length ? rows[0].length : 0;
  rows.forEach((row, i) => row.forEach((v, j) => { out.d[(place * rows.length + i) * width + j] = v; }));
};

// Which matrix of x each one of the result goes with.
function batches(x, out) {
  const from = x.s.slice(0, -2), to = out.s.slice(0, -2), places = stretched(from, to);
  return Array.from({length: sizeOf(to)}, (_, k) => (places ? places[k] : k));
}

function solved(out, a, b, why) {
  const [n, columns] = out.s.slice(-2), left = batches(a, out), right = b && batches(b, out);
  return () => left.forEach((place, k) => {
    const rows = matrixAt(a, place, n, n);
    const beside = b
      ? matrixAt(b, right[k], n, columns)
      : rows.map((_, i) => rows.map((__, j) => (i === j ? 1 : 0)));
    if (!eliminate(rows, beside)) throw new RangeError(`a matrix is singular: ${why}`);
    substitute(rows, beside);
    writeMatrix(out, k, beside);
  });
}

KERNELS.inverse = (out, [x]) => solved(out, x, null, 'it has no inverse');
KERNELS.solve = (out, [a, b]) => solved(out, a, b, 'there is no one solution');

KERNELS.cholesky = (out, [x]) => {
  const n = x.s[x.s.length - 1];
  return () => batches(x, out).forEach((place) => {
    const rows = matrixAt(x, place, n, n), found = rows.map(() => new Array(n).fill(0));
    for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) {
      let sum = (rows[i][j] + rows[j][i]) / 2;
      for (let k = 0; k < j; k++) sum -= found[i][k] * found[j][k];
      if (i === j && !(sum > 0)) throw new RangeError('a matrix is not positive definite');
      found[i][j] = i === j ? Math.sqrt(sum) : sum / found[j][j];
    }
    writeMatrix(out, place, found);
  });
};

// Calls write(place, sign, pivots) for every matrix; the sign is 0 for a singular one.
function determinants(x, write) {
  const n = x.s[x.s.length - 1], count = sizeOf(x.s.slice(0, -2));
  return () => {
    for (let place = 0; place < count; place++) {
      const rows = matrixAt(x, place, n, n), swaps = eliminate(rows, rows.map(() => []));
      write(place, swaps, swaps ? rows.map((row, i) => row[i]) : []);
    }
  };
}

KERNELS.determinant = (out, [x]) => determinants(x, (place, sign, pivots) => {
  out.d[place] = pivots.reduce((product, pivot) => product * pivot, sign);
});
KERNELS.log_determinant = (out, [x]) => determinants(x, (place, sign, pivots) => {
  out.d[place] = sign ? pivots.reduce((sum, pivot) => sum + Math.log(Math.abs(pivot)), 0) : -Infinity;
});
KERNELS.determinant_sign = (out, [x]) => determinants(x, (place, sign, pivots) => {
  out.d[place] = pivots.reduce((found, pivot) => found * Math.sign(pivot), sign);
});
