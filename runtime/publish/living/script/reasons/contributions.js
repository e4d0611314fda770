// The contributions of the chosen losses, followed from a wire towards the loss.
const SQUASHING = ['Sigmoid', 'Softmax', 'Tanh'];
// Factors nearer to 1 are written as 1; those that differ by less than a tie may do so by rounding.
const STEADY = 5e-5, TIE = 1e-5;
const NO_ROUTE = {
  blocks: 0, factor: 1, least: [Infinity, null], most: [-Infinity, null],
  squashing: {factor: 1, least: Infinity, blocks: 0, nearest: []},
};

class Contributions {
  constructor(live) {
    this.live = live;
    this.near = live.blocks;
    this.losses = live.data.heads.filter((_, k) => live.heads[k]);
    this.heads = new Set(this.losses.map(blockOf));
    this.of = {};
    this.sizes = {};
    this.blames = {};
    this.factors = {};
    if (live.data.runs) Object.assign(this, broughtIn(live));
    else for (const wire in live.ready.tape.wires) {
      const array = live.contribution(wire);
      if (!array) continue;
      this.of[wire] = array;
      this.sizes[wire] = measure(array);
    }
  }

  get largest() {
    const sizes = Object.values(this.sizes).filter(({finite, rms: r}) => finite && r > 0 && r < Infinity);
    return sizes.reduce((top, size) => Math.max(top, size.rms), 0);
  }

  leaving(port) {
    return (this.near.leavingPort[port] ?? []).filter((wire) => wire in this.of);
  }

  // The wires that carry on what leaves some ports.
  ahead(ports) {
    return ports.flatMap((port) => this.leaving(port));
  }

  // The adjoints of a block's outputs by port, where something arrives: those that lead to a trained
  // variable, or all where the runtime reads them too, at stops and where there are Gradient blocks.
  arriving(path, ports = this.near.outputs(path)) {
    const {tape} = this.live.ready, found = {}, {near} = this;
    const isWatched = near.kind(path) === 'StopGradient' || near.gradients.length > 0;
    for (const port of ports) {
      const known = tape.ports[port], array = this.live.arriving(port);
      const isTrained = array && this.live.levels.trained[known[0]] === OPEN;
      if (array && (isTrained || isWatched)) found[within(port)] = array;
    }
    return found;
  }

  // The first block towards the loss whose arriving gradient is not bad already.
  blame(wire, how, isBad, every = false) {
    const known = (this.blames[how] ??= {}), passed = [];
    let at = wire;
    while (!known[at]) {
      passed.push(at);
      const further = this.further(at, isBad, every);
      if (further.block) known[at] = further;
      else at = further.wire;
    }
    for (const behind of passed.reverse()) known[behind] ??= {...known[at], isLocal: false};
    return known[wire];
  }

  zeroedBy(wire) {
    return this.blame(wire, 'zero', (array) => !hasAny(array), true);
  }

  // The adjoints of what a block makes of a wire into it.
  arrivals(wire) {
    return Object.values(this.arriving(this.near.targets[wire], this.near.outputsOf(wire)));
  }

  further(wire, isBad, every) {
    const {near} = this, path = near.targets[wire], arrived = this.arrivals(wire);
    let ahead = this.ahead(near.outputsOf(wire));
    const isHead = this.heads.has(path);
    const through = every && !ahead.length && !isHead ? near.differentiating(path) : [];
    if (through.length) ahead = through.flatMap((gradient) => this.ahead(near.outputs(gradient)));
    const isSpoilt = every ? arrived.every(isBad) : arrived.some(isBad);
    const ends = !arrived.length || !isSpoilt || near.more(path).head;
    if (ends && !(through.length && isSpoilt)) return {block: path, wire, isLocal: true};
    const further = ahead.find((each) => isBad(this.of[each]));
    const sums = every && !ahead.every((each) => isBad(this.of[each]));
    if (further && !sums) return {wire: further};
    if (through.length) return {block: through[0], wire, isDerived: true};
    return {block: path, wire, isLocal: isHead, isCancelled: !isHead};
  }

  // The wire ahead that brings back most; null at the loss.
  next(wire) {
    const path = this.near.targets[wire], ahead = this.ahead(this.near.outputsOf(wire));
    return ahead.length && !this.heads.has(path) ? this.largestOf(ahead) : null;
  }

  largestOf(wires) {
    return wires.reduce((a, b) => (this.sizes[b].rms > this.sizes[a].rms ? b : a));
  }

  route(wire) {
    const found = [];
    for (let at = wire; at; at = this.next(at)) found.push(at);
    return found;
  }

  // The blocks from a wire to the loss: how many, by how much they multiply the gradient together,
  // and which do so least and most.
  routeFactors(wire) {
    const {factors, near} = this, route = [];
    let at = wire;
    while (!factors[at]) {
      const ahead = this.next(at);
      if (!ahead) {
        factors[at] = NO_ROUTE;
        break;
      }
      route.push(at);
      at = ahead;
    }
    for (const behind of route.reverse()) {
      const path = near.targets[behind], known = factors[at];
      const arrived = most(this.arrivals(behind).map(({d}) => rms(d)));
      const factor = arrived ? this.sizes[behind].rms / arrived : 0, {squashing} = known;
      factors[behind] = {
        blocks: known.blocks + 1,
        factor: known.factor * factor,
        least: factor <= known.least[0] * (1 + TIE) ? [factor, behind] : known.least,
        most: factor >= known.most[0] * (1 - TIE) ? [factor, behind] : known.most,
        squashing: !(factor < 1 && SQUASHING.includes(near.kind(path))) ? squashing : {
          factor: squashing.factor * factor,
          least: Math.min(squashing.least, factor),
          blocks: squashing.blocks + 1,
          nearest: [path, ...squashing.nearest].slice(0, 5),
        },
      };
      at = behind;
    }
    return factors[wire];
  }
}
