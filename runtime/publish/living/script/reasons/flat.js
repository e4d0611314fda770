// Why a block sends 0 back, and what would help.
const SUBNORMAL = {float32: 2 ** -149, float64: 5e-324};

// What comes back over a wire if other gradients arrived at the outputs of the block that it
// enters; null where that is not computed apart.
function isolated(live, path, wire, sent) {
  const {tape, arrays, all} = live.ready, places = new Map();
  for (const [name, array] of Object.entries(sent)) places.set(tape.ports[`${path}.${name}`][2], array);
  const end = tape.wires[wire][1], first = Math.min(...places.keys()), between = new Set(), pending = [end];
  while (pending.length) {
    const at = pending.pop();
    if (at < first || places.has(at) || between.has(at)) continue;
    between.add(at);
    pending.push(...tape.ops[at][1]);
  }
  const depends = new Set(places.keys()), steps = [];
  for (const at of [...between].sort((a, b) => a - b)) {
    if (!tape.ops[at][1].some((k) => depends.has(k))) continue;
    depends.add(at);
    if (all[at]) steps.push(all[at]);
  }
  if (!depends.has(end)) return null;
  const kept = [...depends].map((at) => [arrays[at].d, arrays[at].d.slice()]);
  for (const [at, array] of places) arrays[at].d.set(array);
  for (const step of steps) run(step, live.arrived, live.open, live.heads);
  const found = arrays[end].d.slice();
  for (const [buffer, old] of kept) buffer.set(old);
  return found;
}

// What losses are multiplied by to see whether gradient arrives then, the least first.
const SCALES = {
  float32: [1e4, 1e8, 1e12, 1e16, 1e20, 1e24, 1e28],
  float64: [1e30, 1e60, 1e90, 1e120, 1e150, 1e180, 1e210],
};

// The largest change of a variable in a step, as a share of its own largest number plus 1; steps of
// training after which something is to pass; variables that are started away from 0 together.
const STEP = 0.01, MOST_STEPS = 4, MOST_STARTS = 8;

// Blocks that are looked at for zeros behind a product, at most.
const MOST_FACTORS = 16;

// What is read once all is computed again with the chosen losses multiplied by a number, and with
// other values of sources; the numbers of the page stay as they are.
function rerun(live, {scale = 1, values = {}}, read) {
  const {ready, data, heads, open, arrived, blocks} = live, {tape, arrays, all} = ready.whole ?? ready;
  const kept = arrays.map(({d}) => d.slice()), starts = new Set(), sums = new Map();
  data.heads.forEach((head, k) => {
    if (!heads[k]) return;
    const path = blockOf(head), isMarked = Boolean(blocks.more(path).head);
    const wires = isMarked ? Object.values(blocks.wires[path]).flatMap((wire) => blocks.leaves(wire)) : [];
    const places = isMarked ? wires.map((wire) => tape.wires[wire]?.[1]) : [tape.ports[live.source(head)]?.[2]];
    for (const place of places) {
      if (!isMarked && tape.ops[place]?.[0] === 'collect') sums.set(place, k);
      else if (place >= 0) starts.add(place);
    }
  });
  for (const path in values) arrays[tape.leaves[path]].d.set(values[path]);
  tape.ops.forEach((op, place) => {
    const step = all[place];
    if (step && !(step.guard >= 0 && !arrived[step.guard])) run(step, arrived, open, heads);
    const {d} = arrays[place], k = sums.get(place);
    if (starts.has(place)) for (let i = 0; i < d.length; i++) d[i] *= scale;
    // The loss is read by what another loss is made of as well.
    if (k !== undefined) for (let i = 0; i < d.length; i++) d[i] += scale - 1;
  });
  const found = read();
  arrays.forEach(({d}, place) => d.set(kept[place]));
  ready.forget?.();
  return found;
}

class ZeroSpot {
  constructor(contributions, {block, wire}) {
    const {live, near} = contributions;
    Object.assign(this, {contributions, live, near, block, wire, port: within(wire)});
    this.kind = near.kind(block);
    this.more = near.more(block);
    const all = near.inputs(live, block), wired = Object.keys(near.wires[block]);
    this.inputs = Object.fromEntries(wired.filter((name) => all[name]).map((name) => [name, all[name]]));
    this.all = all;
    this.arriving = contributions.arriving(block);
    this.why = this.found();
  }

  get value() {
    return this.inputs[this.port];
  }

  // FLAT, CANCELS or UNDERFLOWS.
  found() {
    const known = Object.entries(this.arriving).filter(([, array]) => hasAny(array));
    if (SAY.STEPS.includes(this.kind) || this.more.head || !known.length || !this.value) return 'FLAT';
    const exponent = most(known.map(([, a]) => Math.floor(Math.log2(peakOf(a))) + 1));
    const half = Math.trunc(exponent / 2), scale = (x) => x * 2 ** -half * 2 ** (half - exponent);
    let seed = 1;
    const draw = () => (seed = (seed * 48271) % 2147483647) / 2147483647 + 0.5;
    const sent = (f) => Object.fromEntries(known.map(([name, a]) => [name, a.d.map(f)]));
    const scaled = isolated(this.live, this.block, this.wire, sent(scale));
    const free = isolated(this.live, this.block, this.wire, sent((x) => (x ? draw() : 0)));
    if (!scaled || !free || !free.every(Number.isFinite)) return 'FLAT';
    const peak = peakOf({d: scaled}) * 2 ** half * 2 ** (exponent - half);
    if (hasAny({d: scaled}) && peak <= SUBNORMAL[this.value.t]) return 'UNDERFLOWS';
    return hasAny({d: free}) ? 'CANCELS' : 'FLAT';
  }

  // Why the block has only one number to compare, and what would help; undefined elsewhere.
  get single() {
    return SAY.UNAFFECTED.includes(this.port) ? undefined : this.more.single;
  }

  // The elements of the input at which something arrives.
  get reached() {
    const {value} = this, same = Object.values(this.arriving).filter(({s}) => sameShape(s, value.s));
    const found = same.length === 1 ? value.d.filter((_, i) => same[0].d[i] !== 0) : value.d;
    return found.length ? found : value.d;
  }

  // Words that follow the name of the block.
  get reason() {
    return decide(SAY.REASONS, this.kind, (name) => SPOT[name](this));
  }

  // What would help; '' if that is not known, or where only another run can tell.
  get cure() {
    return decide(SAY.FLAT_CURES, this.kind, (name) => SPOT[name](this));
  }

  get isProduct() {
    return this.stuck.length > 0 || SAY.FACTORS.includes(this.kind);
  }

  // The trained variables of zeros that it is multiplied by, with whether they get a gradient.
  get stuck() {
    const stuck = [];
    for (const [name, port] of Object.entries(this.near.sources(this.block))) {
      const array = this.inputs[name];
      if (name === this.port || name === 'bias' || !array || hasAny(array)) continue;
      for (const path of this.zerosBehind(port)) {
        const gradient = this.live.data.leaves[path]?.trained && this.live.gradient(path);
        if (gradient && stuck.every(([known]) => known !== path)) stuck.push([path, hasAny(gradient)]);
      }
    }
    return stuck;
  }

  // The variables of zeros that make a port's numbers 0: it is one, arranged, or a product with some.
  zerosBehind(port) {
    const {near} = this, pending = [port], seen = new Set(), found = [];
    while (pending.length && seen.size < MOST_FACTORS) {
      const path = near.origin(pending.pop());
      if (seen.has(path)) continue;
      seen.add(path);
      if (near.kind(path) === 'Variable') found.push(path);
      else if (SAY.FACTORS.includes(near.kind(path))) {
        const values = near.inputs(this.live, path);
        for (const [name, source] of Object.entries(near.sources(path)))
          if (values[name] && !hasAny(values[name])) pending.push(source);
      }
    }
    return found;
  }
}

// What the tables of reasons and cures ask of a spot.
const isBlank = (array) => !hasAny(array);
const SPOT = {
  underflows: ({why}) => why === 'UNDERFLOWS',
  cancels: ({why}) => why === 'CANCELS',
  dtype: ({value}) => value.t,
  wholeSoftmax: ({kind, more, arriving}) =>
    kind === 'Softmax' && Object.values(arriving).every((array) => spreads(array, more.axis).every((x) => !x)),
  summed: ({near, block}) =>
    near.beyond(block).every((wire) => ['Mean', 'Sum'].includes(near.kind(near.targets[wire]))),
  product: (spot) => spot.isProduct,
  improbable: ({more, port, value}) => {
    if (!more.improbable || port !== 'prediction' || !value) return false;
    const step = value.t === 'float32' ? 2 ** -23 : 2 ** -52;
    return value.d.every((x) => x <= step || x >= 1 - step);
  },
  openLimits: ({more}) => more.open,
  single: ({single}) => single?.[0],
  singleCure: ({single}) => single?.[1],
  floats: ({value}) => value?.d.length && isFloat(value.t),
  weightZero: ({port, inputs: {weight}}) => port === 'x' && weight && isBlank(weight),
  dividendZero: ({port, all}) => port === 'b' && isBlank(all.a),
  allZero: ({inputs}) => Object.values(inputs).every(isBlank),
  anyZero: ({inputs}) => Object.values(inputs).some(isBlank),
  valueZero: ({value}) => isBlank(value),
  reachedZero: ({reached}) => isBlank({d: reached}),
  oneValue: ({value}) => value.d.length === 1,
  oneReached: ({reached}) => reached.length === 1,
  spread: ({value, more}) => number(most(spreads(value, more.axis))),
  highest: ({reached}) => number(most(reached)),
  nearest: ({reached}) => number(reached.reduce((a, b) => (Math.abs(b) < Math.abs(a) ? b : a))),
  range: ({reached}) => {
    const [low, high] = [number(least(reached)), number(most(reached))];
    return low === high ? low : phrase(SAY.FROM_TO, low, high);
  },
};
