// States of wires: the runtime's own edges [value, source, gate, switch], searched at three levels,
// and refined by the numbers.
const OPEN = 0, STOP = 1, NO_RULE = 2, NOWHERE = 3;
const RANKS = {
  CARRIES: 0, PARTIAL: 0, ZERO: 0, VANISHING: 0, EXPLODING: 0, NONFINITE: 0, FROZEN: 1, STOPPED: 2,
  'NO RULE': 3, 'NOTHING TO TRAIN': 4, 'OFF ROUTE': 5, UNKNOWN: 6,
};

// For each value the worst gate on the best way to it: from the chosen losses back, and from the
// trained and the frozen variables forward.
function levels(tape, open, heads) {
  const gateOf = ([, , gate, place]) => (gate === STOP && place >= 0 && open[place] ? OPEN : gate);
  const gates = tape.edges.map(gateOf);
  const search = (starts, isForward) => {
    const level = new Uint8Array(tape.size).fill(NOWHERE);
    for (const value of starts) level[value] = OPEN;
    const count = tape.edges.length;
    for (let i = 0; i < count; i++) {
      const k = isForward ? i : count - 1 - i, [value, source] = tape.edges.at(k);
      const [from, to] = isForward ? [source, value] : [value, source];
      level[to] = Math.min(level[to], Math.max(level[from], gates[k]));
    }
    return level;
  };
  return {
    loss: search(tape.heads.filter((_, k) => heads[k]), false),
    trained: search(tape.trained, true),
    frozen: search(tape.frozen, true),
  };
}

// The state that follows from structure alone.
function structural({loss, trained, frozen}, value) {
  const ahead = loss[value], open = trained[value], frost = frozen[value];
  const variables = open === NOWHERE ? frost : open;
  if (ahead === NOWHERE) return 'OFF ROUTE';
  if (variables === NOWHERE) return 'NOTHING TO TRAIN';
  if (ahead === OPEN && open === NOWHERE) return 'FROZEN';
  const worst = Math.max(ahead, variables);
  if (worst === NO_RULE && ahead === OPEN && frost === OPEN) return 'FROZEN';
  if (worst === STOP && open === NOWHERE) return 'FROZEN';
  return ['CARRIES', 'STOPPED', 'NO RULE'][worst];
}

const TINY = {float32: 1.1754943508222875e-38, float64: 2.2250738585072014e-308};

// The root mean square of the elements of a buffer.
function rms(buffer) {
  let peak = 0, sum = 0;
  for (const x of buffer) {
    const size = Math.abs(x);
    if (!(size <= peak)) peak = size;
  }
  if (!(peak > 0 && peak < Infinity)) return peak;
  for (const x of buffer) sum += (x / peak) * (x / peak);
  return peak * Math.sqrt(sum / buffer.length);
}

// What is not finite: "NaN" if anything is, else "∞", "−∞", or "±∞"; empty if everything is finite.
function wildest(texts) {
  const found = new Set([...texts].filter(Boolean));
  return found.has('NaN') ? 'NaN' : found.size < 2 ? [...found].join('') : '±∞';
}

function measure({d, t}) {
  let zeros = 0, finite = true, peak = 0;
  const found = new Set();
  for (const x of d) {
    if (x === 0) zeros++;
    if (!Number.isFinite(x)) {
      finite = false;
      found.add(number(x));
    }
    peak = Math.max(peak, Math.abs(x));
  }
  const subnormal = peak > 0 && peak < TINY[t];
  return {rms: rms(d), zeros, total: d.length, finite, subnormal, peak, wild: wildest(found)};
}

// The arrays of a tree, taken as one.
function together(sizes) {
  const peak = Math.max(...sizes.map((size) => size.peak));
  const total = sizes.reduce((sum, size) => sum + size.total, 0);
  const scale = Math.max(...sizes.map((size) => size.rms));
  const sum = sizes.reduce((all, {rms: r, total: n}) => all + n * (r / scale) ** 2, 0);
  return {
    rms: scale > 0 && scale < Infinity ? scale * Math.sqrt(sum / total) : scale,
    zeros: sizes.reduce((all, size) => all + size.zeros, 0),
    total,
    finite: sizes.every((size) => size.finite),
    subnormal: sizes.some((s) => s.subnormal) && sizes.every((s) => s.subnormal || s.peak === 0),
    peak,
    wild: wildest(sizes.map((size) => size.wild)),
  };
}

// The numeric state of a wire that carries gradient.
function numeric(size, seed, limits) {
  if (!size.total) return 'CARRIES';
  if (!size.finite) return 'NONFINITE';
  if (size.zeros === size.total) return 'ZERO';
  if (size.rms > limits.exploding || size.rms > limits.exploding_relative * seed) return 'EXPLODING';
  if (size.subnormal || size.rms < Math.max(limits.vanishing, limits.vanishing_relative * seed)) return 'VANISHING';
  return size.zeros >= limits.partial * size.total ? 'PARTIAL' : 'CARRIES';
}
