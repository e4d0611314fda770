// Sentences about wires and variables with a gradient, and what would help: those of the runtime.
const STEEP_KINDS = ['Arctan2', 'Div', 'Log', 'Pow', 'Sqrt'];
const DISTANCES = ['BinaryCrossEntropy', 'CrossEntropy', 'Huber', 'MeanAbsoluteError', 'MeanSquaredError'];
const MOST_NORMS = 8, MOST_GROWTH = 100;
const joined = (...parts) => parts.filter(Boolean).join(' ');
const isBad = ({d}) => !d.every(Number.isFinite);

// The root mean square at each place along an axis.
function sizesAlong({s, d}, axis) {
  const [, length, after] = aroundAxis(s, axis), rows = Array.from({length}, () => []);
  d.forEach((x, i) => rows[Math.floor(i / after) % length].push(x));
  return rows.map((row) => {
    const peak = peakOf({d: row}), mean = row.reduce((sum, x) => sum + (x / (peak || 1)) ** 2, 0) / row.length;
    return Math.sqrt(mean) * peak;
  });
}

// The ends of a sequence, the smaller first, if sizes shrink by steady factors to a small share.
function endsOfDecay(sizes) {
  const {least: fewest, share, steady} = SAY.DECAY, places = [];
  sizes.forEach((size, i) => size > 0 && Number.isFinite(size) && places.push(i));
  if (places.length < fewest) return null;
  const [weak, strong] = [places[0], places.at(-1)].sort((a, b) => sizes[a] - sizes[b]);
  if (sizes[weak] > share * sizes[strong]) return null;
  const mean = (f) => places.reduce((sum, i) => sum + f(i), 0) / places.length, log = (i) => Math.log(sizes[i]);
  const [x, y] = [mean((i) => i), mean(log)];
  const both = mean((i) => (i - x) * (log(i) - y));
  const one = Math.sqrt(mean((i) => (i - x) ** 2) * mean((i) => (log(i) - y) ** 2));
  return Math.abs(both / one) > steady ? [weak, strong] : null;
}

class NumericSentences {
  constructor(live) {
    this.live = live;
    this.near = live.blocks;
    this.contributions = new Contributions(live);
    this.limits = live.data.thresholds;
    this.spots = {};
    const losses = this.contributions.losses.map(blockOf);
    if (losses.length > 4) losses.splice(2, losses.length - 3, '…');
    this.label = losses.length === 1 ? losses[0] : `(${losses.join(' + ')})`;
  }

  get origins() {
    return (this.made ??= new Origins(this.live));
  }

  size(wire) {
    return this.contributions.sizes[wire];
  }

  amount(wire) {
    return sizeText(this.contributions.of[wire]);
  }

  wire(wire, state, route) {
    if (state === 'ZERO') return this.zero(wire);
    if (state === 'NONFINITE') return this.nonfinite(wire);
    if (state === 'VANISHING' || state === 'EXPLODING') return this.scaled(wire, state === 'EXPLODING');
    if (state === 'PARTIAL') return this.partial(wire);
    const [path, leaf] = this.live.data.wires[wire].split(':'), block = blockOf(path);
    const source = leaf === undefined ? block : `${block}:${leaf}`, why = this.live.invariance([wire]);
    if (why) return phrase(SAY.INVARIANT, this.label, source, this.amount(wire), why);
    return phrase(SAY.CARRIES, this.label, source, this.amount(wire), routeText(route));
  }

  variable(name, state, gradient, structural) {
    const ahead = this.contributions.leaving(`${name}.out`), size = measure(gradient);
    const why = state === 'CARRIES' && ahead.length && this.live.invariance(ahead);
    if (why) return phrase(SAY.INVARIANT, this.label, name, sizeText(gradient), why);
    const isSimilar = ({finite, zeros, total}) => {
      const isZero = zeros === total && total > 0;
      if (state === 'ZERO') return isZero;
      return state === 'NONFINITE' ? !finite : finite && !isZero;
    };
    const similar = ahead.filter((wire) => isSimilar(this.size(wire)));
    if (state === 'ZERO' && !similar.length && ahead.length > 1) return phrase(SAY.CANCEL, names(ahead));
    const largest = most([0, ...ahead.map((wire) => this.size(wire).rms)]);
    const cancels = size.rms < this.limits.cancels * largest && this.limits.cancels * largest < Infinity;
    if (state === 'VANISHING' && ahead.length > 1 && cancels) {
      const left = (size.total > 1 ? 'rms ' : '') + number(size.rms);
      return phrase(SAY.NEARLY_CANCEL, names(ahead), left, number(largest));
    }
    if (state === 'CARRIES' || !similar.length)
      return phrase(SAY.VARIABLE, this.label, name, sizeText(gradient), structural);
    if (ahead.length > 1 && state !== 'ZERO' && state !== 'NONFINITE')
      return phrase(SAY.TOGETHER, names(ahead), this.wire(this.contributions.largestOf(similar), state, []));
    return this.wire(similar[0], state, []);
  }

  // ---- zero ----

  spot(blame) {
    return (this.spots[blame.wire] ??= new ZeroSpot(this.contributions, blame));
  }

  zero(wire) {
    const blame = this.contributions.zeroedBy(wire), {block} = blame;
    if (blame.isCancelled) return phrase(SAY.ZERO_AS_SUM, block);
    if (blame.isDerived) return phrase(SAY.ZERO_AS_DERIVATIVE, block);
    const {reason} = this.spot(blame), full = `${block} ${reason}`;
    if (this.seeds.has(block)) return phrase(SAY.ZERO_AT_LOSS, full);
    return blame.isLocal ? phrase(SAY.ZERO_HERE, full) : phrase(SAY.ZERO_BEFORE, block, ` ${reason}`);
  }

  // The losses, and what Loss blocks mark.
  get seeds() {
    const {heads} = this.contributions, found = new Set(heads);
    for (const path of heads)
      if (this.near.more(path).head)
        for (const wire of Object.values(this.near.wires[path])) found.add(blockOf(this.live.data.wires[wire]));
    return found;
  }

  // ---- not finite ----

  nonfinite(wire) {
    const {contributions, near} = this, blame = contributions.blame(wire, 'not finite', isBad);
    const told = this.firstMade(blame);
    if (!blame.isLocal) return joined(told, SAY.VICTIM);
    const behind = near.read(blockOf(this.live.data.wires[wire])).length
      ? Object.values(near.wires[blockOf(this.live.data.wires[wire])]).flatMap((each) => near.leaves(each))
      : [];
    return joined(told, behind.some((each) => this.size(each) && !this.size(each).finite) && SAY.VICTIMS);
  }

  firstMade({block, wire}) {
    const {contributions, near, origins} = this, contribution = contributions.of[wire];
    const what = hasNaN(contribution) ? 'NaN' : '∞';
    const origin = origins.of(block) ?? origins.ofDerivative(block);
    if (origin) {
      const slope = SAY.FACTORS.includes(near.kind(block)) ? origin.what : origins.what(block);
      const cure = this.safeForm(wire, origin.block, slope === 'NaN' ? 'NaN' : '∞') || origin.cure;
      let made = phrase(SAY.AT_VALUE, origin.block, origin.what, origin.reason);
      if (near.more(origin.block).source) made = phrase(SAY.AS_GIVEN, block, origin.block, origin.what);
      else if (origin.block !== block && what === 'NaN' && origin.what !== 'NaN')
        made = phrase(SAY.AS_MADE, block, origin.block, origin.what, origin.reason);
      return joined(phrase(SAY.FIRST, what, made), cure);
    }
    const arrived = contributions.arrivals(wire);
    const before = arrived.find(({s}) => sameShape(s, contribution.s));
    let reason = SAY.STEEP_HERE;
    if (what === 'NaN') reason = before && before.d.includes(0) ? '0·∞' : '∞ − ∞ or 0·∞';
    const cure = this.safeForm(wire, block, '∞') || origins.ofSlope(block);
    return joined(phrase(SAY.FIRST, what, phrase(SAY.AT_SLOPE, block, reason)), cure);
  }

  // What to do about a value or slope that is not finite where a Where, or a limit, takes another.
  safeForm(wire, culprit, what) {
    const {contributions, near} = this, kind = near.kind(culprit), brought = contributions.of[wire];
    for (const at of contributions.route(wire)) {
      const block = near.targets[at], sent = contributions.of[at];
      const meets = sameShape(brought.s, sent.s)
        ? brought.d.some((x, i) => !Number.isFinite(x) && sent.d[i] === 0)
        : sent.d.includes(0);
      if (!meets) continue;
      if (near.kind(block) === 'Where')
        return phrase(kind === 'Sqrt' ? SAY.DOUBLE_WHERE_SQRT : SAY.DOUBLE_WHERE, block, culprit, what);
      if (['Clip', 'Maximum', 'Minimum'].includes(near.kind(block)))
        return phrase(SAY.TOO_LATE, block, culprit, what);
    }
    return '';
  }

  // ---- too small, too large, in parts ----

  scaled(wire, grows) {
    const route = this.contributions.routeFactors(wire), amount = this.amount(wire), {factor, blocks} = route;
    const {near} = this;
    if (!blocks) return phrase(SAY.AT_SEED, amount);
    const [worst, into] = grows ? route.most : route.least;
    if (!(grows ? factor > 1 + STEADY : factor < 1 - STEADY))
      return phrase(SAY.AGAINST, amount, number(this.contributions.largest), this.label, number(factor));
    const decays = !grows && into && this.decay(near.targets[into]);
    if (decays) return decays[0];
    const count = `${blocks} block${blocks > 1 ? 's' : ''}`, verb = grows ? SAY.GROWS : SAY.SHRUNK;
    return phrase(SAY.SCALED, verb, number(factor), count, into ? blockOf(into) : '', number(worst), amount);
  }

  // What is said of a decay along a sequence behind a block that arranges numbers, and the cure.
  decay(block) {
    const {near} = this, array = SAY.DECAY.arranging.includes(near.kind(block)) && this.contributions.arriving(block).out;
    for (let axis = 0; array && axis < array.s.length; axis++) {
      const sizes = sizesAlong(array, axis), ends = endsOfDecay(sizes);
      if (!ends) continue;
      const [weak, strong] = ends, share = number(sizes[weak] / sizes[strong]);
      const isGated = near.after(block).some((at) => near.kind(at) === 'Sigmoid');
      return [phrase(SAY.DECAYS, weak + 1, share, strong + 1, block), isGated ? SAY.GATED_DECAY : SAY.PLAIN_DECAY];
    }
    return null;
  }

  partial(wire) {
    const isMasked = ({d}) => {
      const zeros = d.reduce((sum, x) => sum + (x === 0), 0);
      return d.length > 0 && zeros >= this.limits.partial * d.length;
    };
    const blame = this.contributions.blame(wire, 'masked', isMasked), {zeros, total} = this.size(wire);
    const by = phrase(blame.isCancelled ? SAY.CANCELLED_AT : SAY.MASKED_BY, blame.block);
    return phrase(SAY.PARTIAL, zeros, total, by);
  }

  // ---- cures ----

  cure(wires, state) {
    if (state === 'EXPLODING') return this.ofExploding(wires);
    if (state === 'VANISHING') return this.ofVanishing(wires);
    if (state !== 'ZERO') return '';
    const found = new Set(), norms = new Set();
    for (const wire of wires) {
      const blame = this.contributions.zeroedBy(wire), {block} = blame;
      if (!blame.isCancelled && !blame.isDerived) found.add(this.ofOutput(block) || this.ofSpot(wires, blame));
      for (const text of this.ofNorms(wire, block)) norms.add(text);
    }
    return joined(...new Set([...found, ...norms]));
  }

  ofSpot(wires, blame) {
    const spot = this.spot(blame);
    if (spot.why === 'UNDERFLOWS') return this.ofUnderflow(wires);
    return spot.why === 'FLAT' && spot.isProduct ? this.ofStuck(wires, spot.stuck) : spot.cure;
  }

  // About trained variables of zeros that multiply. What is said passes is tried by steps of training.
  ofStuck(wires, stuck) {
    if (!stuck.length) return '';
    const moving = stuck.find(([, gets]) => gets)?.[0], {live} = this;
    if (moving) {
      if (this.passes(wires, this.stepped({}, [moving]))) return phrase(SAY.MOVES, moving);
      let values = this.stepped({}, this.trained);
      for (let step = 2; step <= MOST_STEPS; step++) {
        values = this.stepped(values, this.trained);
        if (this.passes(wires, values)) return phrase(SAY.LATER, moving, step);
      }
    }
    const zero = this.trained.filter((path) => {
      const gradient = live.gradient(path);
      return !hasAny({d: live.values[path]}) && gradient && !hasAny(gradient);
    });
    const first = stuck.map(([path]) => path).filter((path) => zero.includes(path));
    const others = zero.filter((path) => !first.includes(path));
    const pairs = others.slice(0, MOST_STARTS).map((other) => [...first.slice(0, 1), other]);
    const tried = [...first.map((path) => [path]), ...pairs, [...first, ...others]];
    const start = (path) => [path, Array.from(live.values[path], (_, i) => Math.sin(1 + i))];
    const found = tried.find((paths) => paths.length && this.passes(wires, Object.fromEntries(paths.map(start))));
    return found ? phrase(found.length > 1 ? SAY.START_SEVERAL : SAY.START_ONE, names(found)) : '';
  }

  // About wires that bring back little as a trained factor is small, and more once it has moved.
  ofSmallFactor(wires, into) {
    const {near, live} = this, block = near.targets[into], factors = this.smallFactors;
    if (near.kind(block) !== 'Mul') return '';
    const others = Object.entries(near.sources(block)).filter(([name]) => name !== within(into));
    const name = others.map(([, port]) => near.origin(port)).find((path) => path in factors);
    if (!name) return '';
    const all = Object.keys(this.contributions.of);
    this.movedSizes ??= rerun(live, {values: this.stepped({}, Object.keys(factors))}, () =>
      Object.fromEntries(all.map((wire) => [wire, rms(live.contribution(wire).d)])));
    if (!wires.some((wire) => this.movedSizes[wire] > MOST_GROWTH * this.size(wire).rms)) return '';
    return phrase(SAY.GROWS_WITH, name, number(factors[name]));
  }

  // Trained variables that are small, and not 0, with a gradient; their largest numbers.
  get smallFactors() {
    const {live} = this, found = {};
    for (const path of this.trained) {
      const gradient = live.gradient(path), peak = peakOf({d: live.values[path]});
      if (gradient && hasAny(gradient) && peak > 0 && peak <= 1e-3) found[path] = peak;
    }
    return found;
  }

  get trained() {
    const {leaves} = this.live.data;
    return Object.keys(leaves).filter((path) => leaves[path].trained).sort();
  }

  passes(wires, values) {
    const {live} = this, isThere = (array) => array && hasAny(array) && !isBad(array);
    return rerun(live, {values}, () => wires.some((wire) => isThere(live.contribution(wire))));
  }

  // Values after a small step of these variables down their gradients.
  stepped(values, paths) {
    const {live} = this, found = {...values};
    const read = () => paths.map((path) => [path, live.gradient(path)?.d.slice()]);
    for (const [path, gradient] of rerun(live, {values}, read)) {
      if (!gradient || !hasAny({d: gradient}) || isBad({d: gradient})) continue;
      const value = values[path] ?? live.values[path];
      const length = (STEP * (1 + peakOf({d: value}))) / peakOf({d: gradient});
      found[path] = value.map((x, i) => x - length * gradient[i]);
    }
    return found;
  }

  // To scale the loss up, where something comes back by one of the wires then, and nothing overflows.
  ofUnderflow(wires) {
    const {live, contributions} = this, losses = contributions.losses.map((loss) => live.port(loss));
    const isFine = (loss, scale) => loss.d.every((x) => Number.isFinite(loss.t === 'float32' ? Math.fround(x * scale) : x * scale));
    const scale = (SCALES[losses[0].t] ?? []).find((each) =>
      losses.every((loss) => isFine(loss, each)) && wires.some((wire) => this.peaks(each)[wire] > 0));
    return scale ? phrase(SAY.SCALE_UP, number(scale)) : '';
  }

  // The largest number that comes back by each wire if the losses are multiplied by a number; none
  // where that overflows.
  peaks(scale) {
    const {live} = this, all = Object.keys(this.contributions.of), read = () => {
      const found = all.map((wire) => [wire, live.contribution(wire)]);
      return found.some(([, array]) => isBad(array)) ? {} : Object.fromEntries(found.map(([wire, array]) => [wire, peakOf(array)]));
    };
    this.known ??= {};
    return (this.known[scale] ??= rerun(live, {scale}, read));
  }

  ofOutput(block) {
    const {near} = this, wires = near.beyond(block), to = (wire) => near.kind(near.targets[wire]);
    const measures = (wire) =>
      to(wire) === 'Sub'
        ? near.beyond(near.targets[wire]).every((each) => ['Abs', 'Norm', 'Square'].includes(to(each)))
        : DISTANCES.includes(to(wire));
    return near.kind(block) === 'Relu' && wires.length && wires.every(measures) ? SAY.RELU_AT_OUTPUT : '';
  }

  // About the Norm blocks of length 0 through which the gradient of a wire comes.
  ofNorms(wire, named) {
    const {near} = this, target = near.targets[wire];
    return this.norms
      .filter(([, before]) => before.has(target))
      .map(([norm]) => {
        const isSquared = near.beyond(norm).every((each) => {
          const at = near.targets[each];
          return near.kind(at) === 'Square' || (near.kind(at) === 'Pow' && near.isGiven(this.live, at, 'b', 2));
        });
        return phrase(SAY.NORMS[+isSquared][+(norm === named)], norm);
      });
  }

  get norms() {
    const {near, live} = this, isAtZero = (path) => {
      const length = near.kind(path) === 'Norm' && live.port(`${path}.out`);
      return length && length.d.length && !hasAny(length);
    };
    const found = Object.keys(live.data.blocks).filter(isAtZero).slice(0, MOST_NORMS);
    return found.map((path) => [path, this.before(path)]);
  }

  // A block and those before it that gradient comes to.
  before(path) {
    const {near} = this, found = new Set([path]);
    for (const at of found)
      for (const wire of Object.values(near.wires[at] ?? {}))
        if (near.leaves(wire).some((leaf) => leaf in this.contributions.of))
          found.add(blockOf(this.live.data.wires[wire]));
    return found;
  }

  ofExploding(wires) {
    const {contributions, near, live} = this, largest = wires.length ? contributions.largestOf(wires) : null;
    const route = largest ? contributions.routeFactors(largest) : NO_ROUTE, [worst, wire] = route.most;
    if (!wire || worst < Math.sqrt(Math.max(route.factor, 1))) return SAY.EXPLODES;
    const block = near.targets[wire], kind = near.kind(block);
    const isSmall = ({d}) => !d.length || least(d.map(Math.abs)) < 0.1;
    if (STEEP_KINDS.includes(kind)) {
      const inputs = near.inputs(live, block), port = {Div: 'b', Pow: 'a'}[kind];
      const watched = inputs[port] ? [inputs[port]] : Object.values(inputs);
      if (watched.every(isSmall)) return phrase(SAY.POLES[kind] ?? SAY.POLES[''], block);
    }
    for (const entry of [wire, ...contributions.route(largest)]) {
      const told = SAY.FACTORS.includes(near.kind(near.targets[entry])) && this.largeData(entry);
      if (told) return `${told} ${SAY.EXPLODES}`;
    }
    return SAY.EXPLODES;
  }

  // To scale down the other factor of a product, where nothing in it is trained.
  largeData(entry) {
    const {near, live} = this, path = near.targets[entry];
    for (const [name, source] of Object.entries(near.sources(path))) {
      const wire = near.wires[path][name], known = live.ready.tape.wires[wire], array = live.port(source);
      const isTrained = known && live.levels.trained[known[0]] === OPEN;
      if (wire === entry || isTrained || !array || !array.d.length) continue;
      const peak = peakOf(array);
      if (peak > 100) return phrase(SAY.TOO_LARGE, blockOf(source), number(peak));
    }
    return '';
  }

  ofVanishing(wires) {
    const {contributions, near} = this;
    const route = wires.length ? contributions.routeFactors(contributions.largestOf(wires)) : NO_ROUTE;
    const {factor, squashing, least: [, wire]} = route;
    const decays = wire && this.decay(near.targets[wire]);
    if (decays) return decays[1];
    const grows = wire && this.ofSmallFactor(wires, wire);
    if (grows) return grows;
    if (!wire || !(factor > 0 && factor < 1e-3)) return '';
    if (squashing.blocks && squashing.factor <= Math.sqrt(factor)) {
      const unnamed = Array(squashing.blocks - squashing.nearest.length).fill('');
      const text = squashing.least < 0.01 ? SAY.KEEP_SMALL : SAY.NO_SQUASHING;
      return phrase(text, names([...squashing.nearest, ...unnamed]));
    }
    return SAY.FACTORS.includes(near.kind(near.targets[wire])) ? SAY.SMALL_WEIGHTS : '';
  }
}
