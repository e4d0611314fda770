// A diagram in the page: set values, open stops, choose losses; compute; read everything by path.
class Live {
  constructor(data) {
    this.data = data;
    this.open = data.switches.map((each) => each.open);
    this.heads = data.heads.map(() => true);
    this.cuts = []; // wires, for a what-if
    this.step = 0;
    this.values = {};
    this._made = [];
    this.blocks = new Blocks(data);
    for (const [path, leaf] of Object.entries(data.leaves)) {
      this.values[path] = new BUFFERS[leaf.dtype](sizeOf(leaf.shape));
      initial(leaf.data, this.values[path].length).forEach((number, k) => { this.values[path][k] = +number; });
    }
  }

  // The tape for the stops inside Gradient blocks as they are now, made ready once.
  get ready() {
    const place = this.data.inner.reduce((bits, k) => bits * 2 + (this.open[k] ? 1 : 0), 0);
    this._made[place] ??= prepared(this.data.tapes[place]);
    return this._made[place];
  }

  // Sets one number of a source; returns the reason why it can't be, or ''.
  set(path, index, number) {
    const {dtype} = this.data.leaves[path];
    if (dtype === 'bool' && number !== 0 && number !== 1) return `${path} is 0 or 1.`;
    if (isInteger(dtype) && !Number.isSafeInteger(number)) return `${path} has whole numbers.`;
    const held = new BUFFERS[dtype](1);
    held[0] = number;
    if (isInteger(dtype) && held[0] !== number) return `${number} is too large for ${dtype}.`;
    if (Number.isFinite(number) && !Number.isFinite(held[0])) return `${number} is too large for ${dtype}.`;
    this.values[path][index] = number;
    return '';
  }

  // Opens or closes a stop; returns the reason why it can't be, or ''.
  toggle(place) {
    const {locked} = this.data.switches[place];
    if (!locked) this.open[place] = !this.open[place];
    return locked;
  }

  compute() {
    const {ready} = this, {tape, arrays} = ready;
    for (const path in tape.leaves) arrays[tape.leaves[path]].d.set(this.values[path]);
    if (tape.step >= 0) arrays[tape.step].d[0] = this.step;
    this.arrived = arrivals(tape, this.open, this.heads, this.cuts);
    this._levels = null;
    this._states = null;
    this._numeric = null;
    this._told = {};
    compute(ready, this.arrived, this.open, this.heads);
    return this;
  }

  // ---- values and gradients: arrays {s: shape, t: dtype, d: numbers}, or null for None ----

  // The value of a port, of which that of a page block is that of the block inside.
  port(port) {
    const {tape, arrays} = this.ready, found = tape.ports[this.source(port)];
    return found ? arrays[found[1]] : null;
  }

  // The adjoint of a port: what arrives at it from all its readers, also at a closed stop.
  arriving(port) {
    const found = this.ready.tape.ports[this.source(port)];
    return found ? this._adjoint(found[0], found[2]) : null;
  }

  gradient(variable) {
    const found = this.ready.tape.gradients[this.data.shared[variable] ?? variable];
    return found ? this._adjoint(...found) : null;
  }

  // What a wire brings back; null too where no trained variable is behind it.
  contribution(wire) {
    const found = this.ready.tape.wires[wire];
    if (!found || this.levels.trained[found[0]] !== OPEN) return null;
    return this._adjoint(...found);
  }

  _adjoint(value, place) {
    return place >= 0 && this.arrived[value] ? this.ready.arrays[place] : null;
  }

  // The port that computes a port's value.
  source(port) {
    return this.data.aliases[port] ?? port;
  }

  // ---- states and sentences ----

  get levels() {
    this._levels ??= levels(this.ready.tape, this.open, this.heads);
    return this._levels;
  }

  // The states of all wires, and of the arrays of their trees.
  states() {
    this._states ??= this._allStates();
    return this._states;
  }

  // What is said where the program that the diagram comes from is known to have another gradient.
  doubt(name) {
    return this.data.doubts?.find((told, k) => this.heads[k] && told[name])?.[name];
  }

  structuralState(wire) {
    if (!this.heads.some(Boolean) || this.doubt(wire)) return 'UNKNOWN';
    const leaves = this.data.trees[wire];
    if (!leaves) return structural(this.levels, this.ready.tape.wires[wire][0]);
    const found = leaves.map((leaf) => this.structuralState(leaf));
    return found.reduce((a, b) => (RANKS[b] < RANKS[a] ? b : a), found[0] ?? 'NOTHING TO TRAIN');
  }

  // What is measured on a wire, or on the arrays of its tree together; null without gradient.
  size(wire) {
    const leaves = this.data.trees[wire] ?? [wire];
    const found = leaves.map((leaf) => this.contribution(leaf)).filter(Boolean).map(measure);
    return found.length > 1 ? together(found) : found[0] ?? null;
  }

  // The size of the gradient that leaves the chosen losses.
  get seed() {
    const wires = this.data.seeds.filter((_, k) => this.heads[k]).flat();
    const sizes = wires.map((wire) => this.size(wire)?.rms).filter((x) => x > 0 && x < Infinity);
    return sizes.length ? Math.max(...sizes) : 1;
  }

  _allStates() {
    const states = {}, {data, seed} = this, of = (wire) => {
      const state = this.structuralState(wire), size = state === 'CARRIES' ? this.size(wire) : null;
      return size ? this.refined(numeric(size, seed, data.thresholds), [wire]) : state;
    };
    if (data.runs) return asked([data.wires, data.trees], of);
    for (const wire in {...data.wires, ...data.trees}) states[wire] = of(wire);
    return states;
  }

  // Why no loss changes with what these wires bring.
  invariance(wires) {
    const reasons = new Set(wires.map((wire) => this.data.invariant?.[wire] ?? ''));
    return reasons.has('') ? '' : [...reasons].join(' and ');
  }

  // A numeric state, unless it comes of rounding alone.
  refined(state, wires) {
    return (state === 'VANISHING' || state === 'PARTIAL') && this.invariance(wires) ? 'CARRIES' : state;
  }

  // What structure alone says: {sentence, cure, route, cutters}; null where it is not known.
  structural(name) {
    const {names: known, texts, routes, cuts, told, table} = this.data.verdicts;
    const chosen = this.heads.flatMap((isChosen, k) => (isChosen ? [k] : []));
    const key = this.open.map(Number).join(''), isAll = chosen.length === this.heads.length;
    const row = isAll ? table[key] : chosen.length === 1 ? table[`${key}:${chosen[0]}`] : null;
    const place = known.indexOf(this.data.shared[name] ?? name);
    if (!row || place < 0) return null;
    const [text, cure, end, ...ends] = told[row[place]], route = [], cutters = [];
    this._paths ??= this.data.order ?? Object.keys(this.data.blocks);
    for (let at = end; at >= 0; at = routes[at][0]) route.unshift(this._paths[routes[at][1]]);
    for (let at of ends) for (; at >= 0; at = cuts[at][0]) cutters.push(cuts[at][1]);
    return {sentence: texts[text], cure: texts[cure], route, cutters};
  }

  // What is said about a wire or variable: the runtime's words, with the numbers as they are now.
  told(name) {
    const doubt = this.doubt(name);
    if (doubt) return {sentence: doubt, cure: '', route: [], cutters: []};
    return (this._told[name] ??= this.data.trees[name] ? this._ofTree(name) : this._ofArray(name));
  }

  get numeric() {
    return (this._numeric ??= new NumericSentences(this));
  }

  _ofArray(name) {
    const told = this.structural(name) ?? {sentence: '', cure: '', route: [], cutters: []};
    const isWire = name in this.data.wires, path = this.data.shared[name] ?? name;
    const array = isWire ? this.contribution(name) : this.gradient(name);
    if (!array || (isWire && this.structuralState(name) !== 'CARRIES')) return told;
    const about = this.numeric, wires = isWire ? [name] : about.contributions.leaving(`${path}.out`);
    const state = this.refined(numeric(measure(array), this.seed, this.data.thresholds), wires);
    const sentence = isWire
      ? about.wire(name, state, told.route)
      : about.variable(path, state, array, told.sentence);
    return {...told, sentence, cure: about.cure(wires, state)};
  }

  // How many leaves of a tree carry, then their sentences with the leaves they are about.
  _ofTree(name) {
    const leaves = this.data.trees[name], states = this.states(), groups = new Map();
    if (!leaves.length) return this.structural(name);
    for (const leaf of leaves) {
      const {sentence} = this.told(leaf), path = leaf.slice(leaf.indexOf(':') + 1);
      groups.set(sentence, [...(groups.get(sentence) ?? []), path]);
    }
    const count = leaves.filter((leaf) => RANKS[states[leaf]] === 0).length, all = [...groups];
    const more = all.slice(3).reduce((sum, [, paths]) => sum + paths.length, 0);
    const parts = all.slice(0, 3).map(([sentence, paths]) => `${names(paths)}: ${sentence}`);
    const best = leaves.reduce((a, b) => (RANKS[states[b]] < RANKS[states[a]] ? b : a));
    const sentence = joined(
      `${count} of ${leaves.length} leaves ${count === 1 ? 'carries' : 'carry'}.`,
      ...parts,
      more && `And ${more} more.`,
    );
    return {...this.told(best), sentence, cutters: [...new Set(leaves.flatMap((leaf) => this.told(leaf).cutters))]};
  }
}
