// The values of one run, searched for the first that are not finite, and what keeps them so.
const KEEPS_PLACE = ['Abs', 'Add', 'Display', 'Mul', 'Neg', 'Sqrt', 'Square', 'Sub'];
const POSITIVE = ['Exp', 'Sigmoid', 'Softmax', 'Softplus'];
const NONNEGATIVE = [...POSITIVE, 'Abs', 'Relu', 'Square', 'Variance'];
const AT_POLE = {
  Log: ([x]) => x === 0, Log1p: ([x]) => x === -1, Div: (x) => x.at(-1) === 0, Pow: ([x]) => x === 0,
  Arctanh: ([x]) => Math.abs(x) === 1,
};
// Where the value or the slope of a block is infinite; of others at 0.
const POLES = {Arccos: [-1, 1], Arccosh: [1], Arcsin: [-1, 1], Arctanh: [-1, 1], Log1p: [-1]};

class Origins {
  constructor(live) {
    this.live = live;
    this.near = live.blocks;
    const ports = Object.keys(live.ready.tape.ports);
    this.wild = new Set(ports.filter((port) => !isFine(live.port(port))));
    this.nans = new Set(ports.filter((port) => this.wild.has(port) && hasNaN(live.port(port))));
    this.wildBlocks = new Set([...this.wild].map(blockOf));
  }

  inputs(path) {
    return this.near.inputs(this.live, path);
  }

  wildOutputs(path) {
    return this.near.outputs(path).filter((port) => this.wild.has(port));
  }

  // NaN, ∞ or −∞: what a block's value has; '' where all is finite.
  what(path) {
    const bad = this.wildOutputs(path).map((port) => this.live.port(port));
    if (!bad.length) return '';
    return bad.some(hasNaN) ? 'NaN' : number(bad[0].d.find((x) => !Number.isFinite(x)));
  }

  upstream(path, bad) {
    for (let at = path; ; ) {
      const port = this.near.read(at).find((each) => bad.has(each));
      if (!port) return at;
      at = blockOf(port);
    }
  }

  isGiven(path) {
    const inputs = this.near.data.blocks[path]?.[1] ?? [];
    const literals = inputs.map((input) => this.near.literal(this.live, path, input)).filter(Boolean);
    return Boolean(this.near.more(path).source) || !literals.every(isFine);
  }

  // What made the value of a block, or one that it reads, not finite first; null where all are.
  of(path) {
    const maker = this.upstream(path, this.nans), found = this.upstream(maker, this.wild);
    const first = this.isGiven(found) && this.what(maker) === 'NaN' ? maker : found;
    const isGiven = this.near.more(first).source && !this.what(path);
    return this.what(first) && !isGiven ? this.described(first) : null;
  }

  // The same of a Gradient block that differentiates through a block.
  ofDerivative(path) {
    if (!this.wild.size) return null;
    for (const gradient of this.near.differentiating(path)) {
      const found = this.what(gradient) && this.of(gradient);
      if (found) return found;
    }
    return null;
  }

  described(block) {
    const {near, live} = this, what = this.what(block), [port] = this.wildOutputs(block);
    if (!port || near.more(block).source)
      return {block, what, reason: SAY.GIVEN_SO, cure: what === 'NaN' ? '' : SAY.GIVEN};
    const kind = near.kind(block), array = live.port(port), inputs = this.beside(port, this.inputs(block));
    const at = (hasNaN(array) ? (x) => x !== x : (x) => !Number.isFinite(x));
    const index = indexOf(array.d.findIndex(at), array.s);
    const elements = Object.entries(inputs).map(([name, value]) => elementOf(name, value, array, index));
    let reason = this.reason(kind, what, elements, array.t);
    for (const {port: input, value} of elements) {
      const small = value === 0 && this.underflow(block, input);
      if (small) {
        reason += phrase(SAY.UNDERFLOWN, small);
        break;
      }
    }
    const where = this.spoils(block) ? null : this.wherePast(block);
    return {block, what, reason, cure: where ? phrase(SAY.NOT_TAKEN, where) : this.cure(block, elements)};
  }

  // The inputs that an output may be made of: for a leaf of a tree the same leaf, where it is.
  beside(port, inputs) {
    const leafOf = (name) => name.split(':')[1] ?? '', names = Object.keys(inputs);
    const own = names.some((name) => leafOf(name) === leafOf(port)) ? leafOf(port) : '';
    const fits = (name) => inputs[name].d.length && (!own || ['', own].includes(leafOf(name)));
    return Object.fromEntries(names.filter(fits).map((name) => [name, inputs[name]]));
  }

  reason(kind, what, elements, dtype) {
    const numbers = elements.map((each) => each.value), texts = numbers.map((x) => number(x));
    const [first] = elements;
    let made = `${kind} of ${texts.join(', ')}`;
    if (elements.length === 2 && kind in SAY.BETWEEN) made = `${texts[0]} ${SAY.BETWEEN[kind]} ${texts[1]}`;
    else if (elements.length === 1 && first.among > 1 && Number.isFinite(numbers[0]))
      made = phrase(SAY.OF_MANY, kind.toLowerCase(), first.among, texts[0]);
    else if (elements.length === 1) made = `${SAY.SYMBOLS[kind] ?? kind.toLowerCase()} of ${texts[0]}`;
    const overflows = what !== 'NaN' && numbers.every(Number.isFinite);
    if (overflows && !AT_POLE[kind]?.(numbers)) made = phrase(SAY.OVERFLOWS, made, dtype);
    if (!elements.length) return made;
    const wild = elements.filter((each) => !Number.isFinite(each.value));
    let culprit = wild[0] ?? elements.reduce((a, b) => (Math.abs(b.value) > Math.abs(a.value) ? b : a));
    if (['Div', 'Mod'].includes(kind) && numbers.at(-1) === 0) culprit = elements.at(-1);
    return `${made} (${culprit.place})`;
  }

  // Whether a block leads to a loss by values that are not finite.
  spoils(path) {
    const ahead = new Set([path]);
    for (const at of ahead)
      for (const wire of this.near.leavingBlock[at] ?? [])
        if (this.wildBlocks.has(this.near.targets[wire])) ahead.add(this.near.targets[wire]);
    return this.live.data.heads.some((head) => this.wild.has(head) && ahead.has(blockOf(head)));
  }

  // The Where downstream that takes other numbers than those that are not finite.
  wherePast(path) {
    const pending = [path], seen = new Set(pending);
    while (pending.length) {
      const at = pending.pop();
      if (at !== path && !this.wildBlocks.has(at)) {
        if (this.near.kind(at) === 'Where') return at;
        continue;
      }
      const further = (this.near.leavingBlock[at] ?? []).map((wire) => this.near.targets[wire]);
      for (const block of further.filter((each) => !seen.has(each))) {
        pending.push(block);
        seen.add(block);
      }
    }
    return null;
  }

  // ---- cures ----

  cure(path, elements) {
    const {near} = this, kind = near.kind(path), sources = near.sources(path);
    const read = Object.values(sources).map((port) => near.kind(blockOf(port)));
    const divisor = sources.b && near.origin(sources.b), made = divisor && near.kind(divisor);
    const asked = {origins: this, path, more: near.more(path), elements, poles: POLES[kind] ?? [0], read, divisor, made};
    return decide(SAY.VALUE_CURES, kind, (name) => WILD[name](asked));
  }

  isMasked(path) {
    const source = this.near.sources(path).x, value = source && this.live.port(source);
    if (!value || value.d.some((x) => x !== x || x === Infinity)) return false;
    const {axis} = this.near.more(path), at = axis < 0 ? axis + value.s.length : axis;
    const tops = new Float64Array(sizeOf(without(value.s, at))).fill(-Infinity);
    folded(value, {s: without(value.s, at)}).forEach((to, i) => { tops[to] = Math.max(tops[to], value.d[i]); });
    return tops.includes(-Infinity);
  }

  ofSlope(path) {
    const kind = this.near.kind(path), alternative = kind === 'Sqrt' ? this.withoutRoot(path) : '';
    return this.limit(path) || alternative || (SAY.AT_POLE[kind] ?? '');
  }

  withoutRoot(path) {
    const {near, live} = this, [source] = Object.values(near.sources(path));
    const under = source ? near.origin(source) : path;
    const isSquare = near.kind(under) === 'Pow' && near.isGiven(live, under, 'b', 2);
    const kind = isSquare ? 'Square' : near.kind(under);
    const wires = near.beyond(path, [...SAY.SHAPES, 'Add', 'Clip', 'Maximum']);
    const divides = wires.some((wire) => near.kind(near.targets[wire]) === 'Div' && within(wire) === 'b');
    const base = kind === 'Pow' && near.inputs(live, under).a;
    const fits = {Pow: base && base.d.every((x) => !(x < 0)), Square: true, Variance: !divides};
    if (!fits[kind]) return '';
    return phrase(SAY.UNDER_ROOT[kind], under);
  }

  // The block behind an input that makes zeros of finite numbers, which it never is.
  underflow(path, input) {
    const {near, live} = this, source = near.sources(path)[input];
    if (!source) return null;
    const maker = near.origin(source), kind = near.kind(maker), value = live.port(`${maker}.out`);
    const read = Object.values(near.sources(maker)).map((port) => live.port(port));
    if (!read.every((array) => array && array.d.every(Number.isFinite))) return null;
    if (POSITIVE.includes(kind)) return maker;
    if (!['Mul', 'Square'].includes(kind) || !value) return null;
    const isSmall = (factor) => {
      const map = stretched(factor.s, value.s);
      return value.d.every((x, i) => x !== 0 || factor.d[map ? map[i] : i] !== 0);
    };
    return Object.values(near.inputs(live, maker)).every(isSmall) ? maker : null;
  }

  // To move the limit of a Clip that all numbers at the pole of a block are at.
  limit(path) {
    const {near, live} = this;
    const inputs = Object.values(near.sources(path)).map((port) => live.port(port)).filter(Boolean);
    const isPole = (x) => (POLES[near.kind(path)] ?? [0]).includes(x);
    const poles = inputs.find((array) => array.d.some(isPole));
    if (!poles) return '';
    for (const at of this.routeBack(path)) {
      const value = near.kind(at) === 'Clip' && live.port(`${at}.out`);
      if (!value || !sameShape(value.s, poles.s)) continue;
      const names = ['min', 'max'].filter((name) => near.more(at)[name] !== undefined);
      const held = names.map((name) => (value.t === 'float32' ? Math.fround(near.more(at)[name]) : +near.more(at)[name]));
      const there = [...value.d].filter((_, i) => isPole(poles.d[i]));
      const met = names.filter((_, k) => there.some((x) => x === held[k]));
      if (!met.length || !there.every((x) => held.some((limit) => limit === x))) continue;
      if (met.length > 1) return phrase(SAY.LIMITED.both, at, ...held.map((x) => number(x)));
      const [name] = met, given = near.more(at)[name], limit = held[names.indexOf(name)];
      const digits = [6, 7, 8, 9].map((n) => +limit.toPrecision(n)), isHeld = limit === +given || digits.includes(+given);
      return phrase(SAY.LIMITED[name], at, number(limit), isHeld ? '' : phrase(SAY.ROUNDED, given, number(limit), value.t));
    }
    return '';
  }

  routeBack(path) {
    const {near} = this, found = new Set(), pending = Object.values(near.sources(path)).map(blockOf);
    while (pending.length) {
      const at = pending.pop();
      if (found.has(at)) continue;
      found.add(at);
      if (KEEPS_PLACE.includes(near.kind(at))) pending.push(...Object.values(near.sources(at)).map(blockOf));
    }
    return found;
  }
}

// What the table of cures asks of a block and the elements that made its value not finite.
const WILD = {
  instead: ({more}) => SAY.EXP[more.function ?? ''],
  masked: ({origins, path}) => origins.isMasked(path),
  limit: ({origins, path, elements, poles}) =>
    elements.some(({value}) => poles.includes(value)) && origins.limit(path),
  zero: ({elements}) => elements.some(({value}) => value === 0),
  infinite: ({elements}) => elements.some(({value}) => Math.abs(value) === Infinity),
  divisor: ({divisor}) => divisor,
  byNorm: ({made}) => made === 'Norm',
  byRoot: ({made}) => made === 'Sqrt',
  byNonnegative: ({made}) => NONNEGATIVE.includes(made),
  complement: ({more}) => more.complement,
  afterSoftmax: ({read}) => read.includes('Softmax'),
  afterSigmoid: ({read}) => read.includes('Sigmoid'),
  wider: () => false, // pages have no float16
};

const indexOf = (place, shape) =>
  stridesOf(shape).map((step, d) => Math.floor(place / step) % shape[d]);

// What an element of a result was made of: by broadcasting, else the first that is not finite, else
// the largest.
function elementOf(port, {s, d}, result, at) {
  const offset = result.s.length - s.length;
  let index;
  if (offset >= 0 && s.every((n, k) => n === 1 || n === result.s[k + offset]))
    index = s.map((n, k) => (n === 1 ? 0 : at[k + offset]));
  else {
    const hasNone = d.every(Number.isFinite), isNaNs = d.some((x) => x !== x);
    const bad = (x) => (isNaNs ? x !== x : !Number.isFinite(x)), top = peakOf({d});
    index = indexOf(hasNone ? d.findIndex((x) => Math.abs(x) === top) : d.findIndex(bad), s);
  }
  const value = d[stridesOf(s).reduce((sum, step, k) => sum + step * index[k], 0)];
  const among = result.d.length < d.length ? d.length : 1;
  const place = d.length > 1 ? `element ${index.length === 1 ? index[0] : `[${index.join(', ')}]`} of ${port}` : port;
  return {port, value, among, place};
}
