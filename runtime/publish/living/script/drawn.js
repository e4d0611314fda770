// Numbers that an initialiser draws: Philox4x64-10, as numpy has it. Source: Salmon, Moraes, Dror,
// Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
const WORD = 0xffffffffffffffffn;

function philox(counter, key) {
  let [a, b, c, d] = [counter, 0n, 0n, 0n], [k, l] = key;
  for (let round = 0; round < 10; round++) {
    const p = 0xd2e7470ee14c6c93n * a, q = 0xca5a826395121157n * c;
    [a, b, c, d] = [(q >> 64n) ^ b ^ k, q & WORD, (p >> 64n) ^ d ^ l, p & WORD];
    k = (k + 0x9e3779b97f4a7c15n) & WORD;
    l = (l + 0xbb67ae8584caa73bn) & WORD;
  }
  return [a, b, c, d];
}

// Standard normal numbers of a generator's bits, as numpy draws them. Source: Marsaglia, Tsang, "The
// Ziggurat Method for Generating Random Variables", JSS 2000.
function normals(next) {
  const tail = 3.6541528853610088, density = (x) => Math.exp(-0.5 * x * x), bottom = density(tail);
  const area = 0.004928673233974658, edges = Array(256).fill(area / bottom);
  let at = (edges[255] = tail);
  for (let k = 254; k > 0; k--) edges[k] = at = Math.sqrt(-2 * Math.log(area / at + density(at)));
  const height = (k) => (k ? density(edges[k]) : 1), one = () => Number(next() >> 11n) * 2 ** -53;
  return () => {
    for (;;) {
      const bits = next(), layer = Number(bits & 255n), size = Number((bits >> 9n) & 0xfffffffffffffn);
      const x = size * (edges[layer] / 2 ** 52) * (bits & 256n ? -1 : 1);
      const inner = layer > 1 ? edges[layer - 1] / edges[layer] : layer ? 0 : tail / edges[0];
      if (size < inner * 2 ** 52) return x;
      while (!layer) {
        const further = -Math.log1p(-one()) / tail;
        if (-2 * Math.log1p(-one()) > further * further)
          return Math.floor(size / 256) % 2 ? -tail - further : tail + further;
      }
      if ((height(layer - 1) - height(layer)) * one() + height(layer) < density(x)) return x;
    }
  };
}

// The first numbers of a source: those written out, or drawn of a key: {key, low, span} uniformly,
// {key, deviation} normally.
function initial(data, count) {
  if (Array.isArray(data)) return data;
  const {low, span, deviation} = data, key = data.key.map((word) => BigInt(`0x${word}`));
  let counter = 0n, held = [];
  const next = () => {
    if (!held.length) held = philox(++counter, key);
    return held.shift();
  };
  const normal = span === undefined ? normals(next) : null;
  const one = () => (normal ? normal() * deviation : low + span * (Number(next() >> 11n) * 2 ** -53));
  return Array.from({length: count}, one);
}
