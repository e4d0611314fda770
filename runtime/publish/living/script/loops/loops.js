// A tape with loops: what repeats has one period of operations, which computes one step after the
// other. Kept of each step is what is read outside of it; all else is computed again for the steps
// that are asked for.
class Looped {
  constructor(tape) {
    const ops = tape.ops[ROWS], sums = new Map(), places = ops.parts.flatMap((part) => this.placesOf(part));
    Object.assign(this, {tape, ops, sums, plain: new Map(), steps: [], now: [[], [], []]});
    this.arrays = listOf({at: (place) => this.array(place)});
    this.all = listOf({at: (place) => this.step(place)});
    this.loops = ops.parts.map((part) => (part.loop = part.count > 1 ? new Loop(this, part) : null)).filter(Boolean);
    this.order = places;
    for (const place of places) {
      const loop = this.loopAt(place), [name, inputs, , , , , , {conditions}] = ops.at(place);
      if (loop) loop.mark();
      else if (name !== 'collect') inputs.forEach((each) => this.keep(each));
      else if (inputs.some((each) => this.loopAt(each))) sums.set(place, new Sum(this, inputs, conditions));
    }
    for (const place of places) {
      const step = this.loopAt(place)?.made() ?? this.madeOf(ops.at(place), place, sums.get(place));
      if (step.out.fixed) step.run?.();
      else if (step.run !== undefined) this.steps.push(step);
    }
  }

  // The places of a part that are computed one by one; of a loop the first.
  placesOf({from, width, count}) {
    return count > 1 ? [from] : Array.from({length: width}, (_, k) => from + k);
  }

  madeOf(op, place, sum) {
    const step = operation(op, place, sum ? [] : op[1].map((each) => this.array(each)));
    this.plain.set(place, sum ? sum.made(step) : step);
    return sum ? sum.whole : step;
  }

  // All there is, with loops as a whole in the place of their first operation.
  get whole() {
    const ops = [], all = [], arrays = [];
    for (const place of this.order) {
      const loop = this.loopAt(place), step = loop?.whole ?? this.sums.get(place)?.whole ?? this.plain.get(place);
      ops[place] = this.ops.at(place);
      if (step.run !== undefined) all[place] = step;
      if (!loop) arrays[place] = step.out;
      else loop.rows.forEach(({kept, array}, k) => { if (kept || !k) arrays[place + k] = {d: kept ?? array.d}; });
    }
    return {tape: {...this.tape, ops}, all, arrays};
  }

  // What is kept has changed: the steps that were asked for are no longer so.
  forget() {
    for (const loop of this.loops) loop.made_.clear();
  }

  loopAt(place) {
    return this.ops.part(place).loop;
  }

  // What is read of a place in another step, or outside of its loop, is kept; of what is reshaped
  // what it is made of.
  keep(place) {
    const loop = this.loopAt(place);
    if (!loop) return;
    const [row] = loop.find(place);
    if (row.name === 'reshape') this.keep(this.ops.at(place)[1][0]);
    else row.kept ??= new BUFFERS[row.t](row.size * loop.count);
  }

  // The buffer that has a place which is kept, and where it begins there.
  home(place) {
    const loop = this.loopAt(place);
    if (!loop) return [this.plain.get(place).out.d, 0];
    const [row, times] = loop.find(place);
    if (row.name === 'reshape') return this.home(row.inputs[0] + (row.by[1]?.[0] ?? 0) * times);
    return [row.kept, row.size * times];
  }

  array(place) {
    const loop = this.loopAt(place);
    return loop ? loop.array(place) : this.plain.get(place)?.out;
  }

  step(place) {
    const loop = this.loopAt(place);
    const step = loop ? loop.step(place) : this.plain.get(place);
    return step?.run === undefined ? undefined : step;
  }
}

class Loop {
  constructor(ready, {from, at, width, count, changes}) {
    Object.assign(this, {ready, from, width, count, made_: new Map()});
    this.rows = ready.ops.rows.slice(at, at + width).map((op, k) => {
      const [name, inputs, s, t, , guard] = op, size = sizeOf(s);
      const kept = name === 'leaf' ? new BUFFERS[t](size * count) : null;
      const by = changes[k] || [], ways = name === 'collect' ? this.waysOf(op[7], by[7]) : null;
      return {op, name, inputs, s, t, guard, by, guardBy: by[5] ?? 0, ways, kept, size, sums: []};
    });
  }

  // The conditions of a sum in each step, with what changes from step to step.
  waysOf({conditions}, by) {
    return conditions.map((condition, k) => [condition, by?.conditions?.[k] || [0, 0]]);
  }

  // The operation of a place, and how many steps after the first it is.
  find(place) {
    const k = place - this.from;
    return [this.rows[k % this.width], Math.floor(k / this.width), k % this.width];
  }

  // Whether an input is computed in the same step.
  isOwn(place, by) {
    return by === this.width && place >= this.from;
  }

  // Marks what is read of other steps, and outside.
  mark() {
    const last = this.count - 1;
    for (const {inputs, by} of this.rows)
      inputs.forEach((place, k) => {
        const step = by[1]?.[k] ?? 0, at = (times) => this.ready.loopAt(place + step * times);
        if (this.isOwn(place, step)) return;
        const isAlike = !step || (at(1) && at(1) === at(last) && step % at(1).width === 0);
        for (let times = 0; times < (isAlike ? 2 : this.count); times++) this.ready.keep(place + step * times);
      });
  }

  // The step of the tape that computes all steps of the loop.
  made() {
    const slots = new Map();
    this.rows.forEach((row, k) => {
      const {op, by: [, steps, , , , , , more]} = row, x = op[1].map((place, i) => this.input(place, steps?.[i] ?? 0, slots));
      const {out, run, parts} = operation(op, this.from + k, x);
      const way = (times) => KERNELS[row.name](out, x, changed(op[7], more, times));
      Object.assign(row, {array: out, parts});
      if (run) row.kernels = more ? Array.from({length: this.count}, (_, times) => way(times)) : [run];
    });
    this.slots = [...slots.values()];
    this.sums = new Set(this.rows.flatMap(({sums}) => sums.map(([sum]) => sum)));
    const fixed = !this.sums.size && this.rows.every(({array}) => array.fixed);
    return (this.whole = {place: this.from, guard: -1, out: {fixed}, run: (...now) => this.run(now)});
  }

  // The array that an operation reads: that of the same step; what is the same in all; or a copy of
  // what it is in each.
  input(place, by, slots) {
    if (this.isOwn(place, by)) return this.rows[place - this.from].array;
    if (!by) return this.ready.array(place);
    const key = `${place} ${by}`;
    if (!slots.has(key)) slots.set(key, this.slot(place, by));
    return slots.get(key);
  }

  slot(place, by) {
    const {ready, count} = this, [, , s, t] = ready.ops.at(place), d = new BUFFERS[t](sizeOf(s));
    const home = (times) => ready.home(place + by * times), [[first, at], [second, next], [last, end]] = [1, 2, count - 1].map(home);
    const isEven = first === second && first === last && end - at === (next - at) * (count - 2);
    const load = (times) => {
      const [from, start] = isEven && times ? [first, at + (next - at) * (times - 1)] : home(times);
      for (let i = 0; i < d.length; i++) d[i] = from[start + i];
    };
    const loop = ready.loopAt(place), {fixed} = loop ? loop.find(place)[0].array : ready.array(place);
    return {s, t, d, fixed, load};
  }

  run(now) {
    const [arrived] = now;
    if (arrived) this.ready.now = now;
    this.made_.clear();
    for (const sum of this.sums) sum.before(this);
    for (let times = 0; times < this.count; times++) {
      for (const slot of this.slots) slot.load(times);
      for (const row of this.rows) {
        if (row.guard < 0 || arrived[row.guard + row.guardBy * times]) this.compute(row, times, now);
        for (const [sum, conditions] of row.sums)
          if (conditions[times] && holds(conditions[times], ...now)) sum.add(row.array.d);
      }
    }
  }

  compute({name, array, kernels, parts, ways, kept, size}, times, now) {
    if (kernels) (kernels[times] ?? kernels[0])();
    else if (name === 'leaf') array.d.set(kept.subarray(times * size, (times + 1) * size));
    else if (name === 'collect')
      this.collect(array.d, parts, ways, times, now);
    if (!kept || name === 'leaf') return;
    for (let i = 0, at = times * size; i < size; i++) kept[at + i] = array.d[i];
  }

  collect(sum, parts, ways, times, [arrived, open, heads]) {
    let isFirst = true;
    ways.forEach(([[reader, gate], [further, other]], k) => {
      if (!holds([reader + further * times, gate + other * times], arrived, open, heads)) return;
      const part = parts[k].d;
      for (let i = 0; i < sum.length; i++) sum[i] = isFirst ? part[i] : sum[i] + part[i];
      isFirst = false;
    });
  }

  array(place) {
    const [row, times, k] = this.find(place), {s, t} = row;
    if (this.made_.has(times)) return this.made_.get(times).arrays[k];
    if (row.name === 'reshape') return {...this.ready.array(row.inputs[0] + (row.by[1]?.[0] ?? 0) * times), s};
    return row.kept ? {s, t, d: this.viewOf(row, times), fixed: row.array.fixed} : this.asked(times).arrays[k];
  }

  step(place) {
    const [, times, k] = this.find(place);
    return this.asked(times).all[k];
  }

  viewOf({kept, size}, times) {
    return kept.subarray(times * size, (times + 1) * size);
  }

  // The operations of one step, with buffers of their own for what is not kept.
  asked(times) {
    if (!this.made_.has(times)) this.made_.set(times, this.stepOf(times));
    return this.made_.get(times);
  }

  stepOf(times) {
    const {ready, width} = this, first = this.from + times * width, arrays = [], all = [];
    const isHere = (place) => place >= first && place < first + width;
    this.rows.forEach((row, k) => {
      const op = ready.ops.at(first + k), {5: guard} = op;
      const x = op[1].map((place) => (isHere(place) ? arrays[place - first] : ready.array(place)));
      const step = operation(op, first + k, x, row.kept && this.viewOf(row, times));
      arrays[k] = step.out;
      all[k] = step;
      if (step.run !== undefined && !row.kept && (guard < 0 || ready.now[0][guard])) run(step, ...ready.now);
    });
    return {arrays, all};
  }
}

// A sum of which parts come of loops: those are added as they are computed, in the order of all.
class Sum {
  constructor(ready, inputs, conditions) {
    Object.assign(this, {ready, inputs, parts: []});
    let before = null, last = -1, top = -1;
    inputs.forEach((place, k) => {
      const loop = ready.loopAt(place), isNext = loop && (loop === before ? place > last : top < loop.from);
      if (isNext) {
        const [row, times] = loop.find(place);
        if (row.sums.at(-1)?.[0] !== this) row.sums.push([this, []]);
        row.sums.at(-1)[1][times] = conditions[k];
        if (loop !== before) this.parts.push(loop);
        this.first ??= loop;
      } else {
        ready.keep(place);
        this.parts.push([place, conditions[k]]);
      }
      before = isNext ? loop : null;
      last = place;
      top = Math.max(top, place);
    });
  }

  // The step that adds them up by itself.
  made(step) {
    const {ready, inputs} = this;
    this.d = step.out.d;
    this.whole = {...step, run: (...now) => this.finish(now)};
    return {...step, get parts() { return inputs.map((place) => ready.array(place)); }};
  }

  // What comes before a loop; the first of its loops begins anew.
  before(loop) {
    if (loop === this.first) this.begin();
    while (this.parts[this.done] !== loop) this.addNext(this.ready.now);
    this.done++;
  }

  begin() {
    this.done = 0;
    this.isFirst = true;
  }

  finish(now) {
    if (!this.first) this.begin();
    while (this.done < this.parts.length) this.addNext(now);
  }

  addNext(now) {
    const [place, condition] = this.parts[this.done++];
    if (holds(condition, ...now)) this.add(this.ready.array(place).d);
  }

  add(part) {
    if (this.isFirst) this.d.set(part);
    else for (let i = 0; i < part.length; i++) this.d[i] += part[i];
    this.isFirst = false;
  }
}
