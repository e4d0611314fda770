// The timeline of one page: forward block by block, the seed of each loss, and backward; or by the
// operations inside the blocks.
const PHASES = {forward: 'Forward', seed: 'Seed', backward: 'Backward'},
  TOLD = {forward: ['values'], backward: ['gradients', 'states']};

class Timeline {
  constructor(app) {
    this.app = app;
    this.timer = null;
    this.speed = 1;
    this.inside = new Inside(app);
    this.isDetailed = false;
    this.bar = this.build();
  }

  // Read the events of the page in view; the position stays at the end, or where it was.
  refresh() {
    const {app} = this,
      wasAtEnd = this.position === undefined || this.position >= this.events.length;
    const order = app.order,
      ends = order.filter((path) => app.isLoss(path));
    const events = order.flatMap((path) => this.within('forward', path));
    events.push(...ends.map((path) => ({phase: 'seed', path})));
    const back = [...order].reverse().filter((path) => this.arriving(path) !== null);
    events.push(...back.flatMap((path) => this.within('backward', path)));
    this.events = events;
    this.at = new Map(events.map((event, i) => [`${event.phase} ${event.path}`, i + 1]));
    this.position = wasAtEnd ? events.length : Math.min(this.position, events.length);
  }

  // The events of a block in one phase: itself, or the steps inside, of which the last is its own.
  within(phase, path) {
    const steps = this.isDetailed && path in this.app.data.blocks ? this.inside.steps(path, phase) : [];
    return steps.length
      ? steps.map((place, k) => ({phase, path, place, part: `${k + 1} of ${steps.length}`}))
      : [{phase, path}];
  }

  // Steps by block or by operation, from where the timeline is.
  detail(isDetailed) {
    const {event, isRunning} = this;
    this.pause();
    this.isDetailed = isDetailed;
    this.position = undefined;
    this.refresh();
    if (isRunning) {
      const same = (each) => event && each.phase === event.phase && each.path === event.path;
      this.position = this.events.findIndex(same) + 1;
    }
    this.app.draw();
  }

  get event() {
    return this.position ? this.events[this.position - 1] : null;
  }
  get isRunning() {
    return this.position < this.events.length;
  }

  hasForward(path) {
    return this.position >= (this.at.get(`forward ${path}`) ?? 0);
  }
  hasBackward(path) {
    return this.position >= (this.at.get(`backward ${path}`) ?? this.events.length);
  }

  // What arrives at the output of a block: [wire key, array or null] for each reader; null if nothing could.
  terms(path) {
    const {app} = this,
      readers = [...app.wires.values()].filter((wire) => wire.from === path);
    const found = readers.map((wire) => [wire.key, app.gradientOf(wire.key)]);
    if (app.faces.get(path)?.block[1] === 'PageOutput')
      return app.wiresInto(path).map((key) => [key, app.gradientOf(key)]);
    return app.isLoss(path) ? [['', {s: [], t: 'float64', d: [1]}], ...found] : found;
  }

  // Their sum; null for None.
  arriving(path) {
    const {app} = this,
      block = app.faces.get(path).block;
    if (block[1] === 'PageOutput') return app.gradientOf(app.wiresInto(path)[0]);
    return outputs(block).length === 1 ? app.live.arriving(`${path}.${outputs(block)[0]}`) : null;
  }

  // The derivative of a block by one input, as far as it shows: outgoing by incoming gradient.
  local(path, key) {
    const {app} = this;
    const inward = this.arriving(path),
      outward = app.gradientOf(key),
      block = app.faces.get(path).block;
    if (
      !inward ||
      !outward ||
      !inward.d.length ||
      [...inward.d].some((x) => !x || !Number.isFinite(x))
    )
      return null;
    const isSingle = inward.d.length === 1 && outward.d.length === 1;
    const isEach = block[10].each && String(inward.s) === String(outward.s) && inward.d.length <= 4;
    return isSingle || isEach
      ? {...outward, d: Array.from(outward.d, (x, i) => x / inward.d[i])}
      : null;
  }

  // What a block does with the gradient that arrives, with its numbers.
  explain(path) {
    const {app} = this,
      terms = this.terms(path),
      total = this.arriving(path);
    if (!terms.length || !app.showsArriving(path)) return null;
    const kids = [],
      name = (key) => (key ? app.short(key) : 'seed');
    if (terms.length > 1) {
      const rows = terms.map(([key, array]) =>
        account({}, name(key), brief(array), el('td', {class: 'soft'}, share(array, total))),
      );
      const sum = account({class: 'total'}, 'Σ', brief(total), el('td', {}));
      kids.push(accounts('Σ of what arrives', ...rows, sum));
    }
    const inputs = app.wiresInto(path);
    if (app.isStopped(path)) {
      const absorbed = el('b', {class: 'num'}, brief(total));
      kids.push(el('p', {}, '⊣ absorbs ', absorbed, '; nothing goes on: None.'));
    } else if (total && inputs.length) {
      const rows = inputs.map((key) => this.product(path, key, total));
      kids.push(accounts('incoming × local = outgoing', ...rows));
    } else if (!inputs.length && terms.length <= 1) kids.push(facts([['arrives', full(total)]]));
    return el('div', {class: 'local'}, ...kids);
  }

  product(path, key, total) {
    const {app} = this,
      out = app.gradientOf(key),
      local = this.local(path, key),
      port = key.slice(key.lastIndexOf('.') + 1);
    const isPage = app.inside(path) !== undefined;
    const text =
      local && !isPage
        ? `${brief(total)} × ${brief(local)} = ${brief(out)}`
        : `${brief(total)} → ${brief(out)}`;
    return account({}, port, text);
  }

  // ---- the bar ----

  build() {
    this.slider = el('input', {
      type: 'range',
      min: 0,
      value: 0,
      'aria-label': 'Position of the timeline',
      'data-key': 'slider',
      oninput: (event) => this.move(+event.target.value),
    });
    this.text = el('output', {class: 'what'});
    this.player = iconButton('play', () => this.toggle(), 'Play (Space)');
    const step = (icon, by, name) => iconButton(icon, () => this.move(this.position + by), name);
    const speeds = [0.5, 1, 2, 4].map((x) => [x, `${x}×`]);
    const speed = choice({'aria-label': 'Speed'}, speeds, 1, (value) => { this.speed = +value; });
    const steps = choice(
      {'aria-label': 'Steps', 'data-key': 'steps'},
      ['blocks', 'operations'].map((each) => [each, `by ${each}`]),
      '',
      (value) => this.detail(value === 'operations'),
    );
    return el(
      'div',
      {class: 'timeline', role: 'group', 'aria-label': 'Timeline', lang: 'en', dir: 'ltr'},
      step('start', -1e6, 'To the start (Home)'),
      step('back', -1, 'Step back (,)'),
      this.player,
      step('forward', 1, 'Step forward (.)'),
      step('end', 1e6, 'To the end (End)'),
      this.slider,
      speed,
      steps,
      this.text,
    );
  }

  draw() {
    const {event, app} = this;
    this.slider.max = this.events.length;
    this.slider.value = this.position;
    set(this.player.querySelector('path'), 'd', this.timer ? ICONS.pause : ICONS.play);
    set(this.player, 'aria-label', this.timer ? 'Pause (Space)' : 'Play (Space)');
    const what = !event
      ? 'Start'
      : !this.isRunning
        ? 'All computed'
        : `${PHASES[event.phase]}: ${app.short(event.path)}${event.part ? ', ' + event.part : ''}`;
    write(this.text, `${this.position} of ${this.events.length} · ${what}`);
    set(this.slider, 'aria-valuetext', this.text.textContent);
    for (const [path, face] of app.faces)
      face.group.classList.toggle('now', this.isRunning && event?.path === path);
    for (const wire of app.wires.values()) {
      const isNow =
        this.isRunning &&
        event &&
        (event.phase === 'forward'
          ? wire.to === event.path
          : event.phase === 'backward' && wire.to === event.path);
      wire.shape.group.classList.toggle('now', Boolean(isNow));
    }
  }

  // The card of the event that has just happened.
  card() {
    const {app, event} = this;
    if (!event || !this.isRunning) return null;
    const kids = [
      el('header', {}, el('h2', {}, `${PHASES[event.phase]}: ${app.short(event.path)}`)),
    ];
    if (event.phase === 'seed')
      kids.push(el('p', {}, 'The gradient of a loss by itself is 1: here backward starts.'));
    else if (TOLD[event.phase].some((name) => app.hidden.has(name))) return null;
    else if (event.place !== undefined) kids.push(...this.operation(event));
    else if (event.phase === 'backward') kids.push(this.explain(event.path));
    else kids.push(facts(this.forwardFacts(event.path)));
    return el('section', {class: 'card step', 'data-card': 'step'}, ...kids);
  }

  // One step inside a block: its formula, and what it gives.
  operation({phase, path, place, part}) {
    const [name, formula, array] = this.inside.step(path, phase, place);
    const arrives = phase === 'backward' ? [['g', full(this.arriving(path))]] : [];
    return [
      soft(`Operation ${part}`),
      el('p', {class: 'formula'}, `${name} = ${formula}`),
      facts([...arrives, [`= ${name}`, full(array)]]),
    ];
  }

  forwardFacts(path) {
    const {app} = this,
      rows = app
        .wiresInto(path)
        .map((key) => [
          key.slice(key.lastIndexOf('.') + 1),
          full(app.live.port(app.wires.get(key).port)),
        ]);
    for (const port of outputs(app.faces.get(path).block))
      rows.push(['= ' + port, full(app.live.port(`${path}.${port}`))]);
    return rows.filter(([, value]) => value);
  }

  go(position) {
    this.position = Math.min(Math.max(0, position), this.events.length);
    this.app.draw();
  }

  // Go there, and stay.
  move(position) {
    this.pause();
    this.go(position);
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  // Play what nobody pressed Play for; who wants less motion sees where it ends.
  show(from, until = this.events.length) {
    if (!matchMedia('(prefers-reduced-motion: reduce)').matches) return this.play(from, until);
    this.move(until);
  }

  play(from = this.isRunning ? this.position : 0, until = this.events.length) {
    this.pause();
    this.go(from);
    this.timer = setInterval(() => {
      this.position += 1;
      if (this.position >= until) this.pause();
      this.go(this.position);
    }, 800 / this.speed);
    this.draw();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.draw();
  }

  // From the first event of a phase on.
  start(phase) {
    const first = this.events.findIndex((event) => event.phase === phase);
    return Math.max(0, first);
  }
}

// A row of such a table.
const account = (at, name, text, ...kids) =>
  el('tr', at, el('th', {scope: 'row'}, name), el('td', {class: 'num'}, text), ...kids);

// A table of numbers that add up, or lead from one to the other.
const accounts = (title, ...rows) =>
  el('table', {class: 'ledger'}, el('caption', {}, title), el('tbody', {}, ...rows));

// The share that one term has of a sum, in percent.
function share(part, total) {
  if (!part || !total || part.d.length !== 1 || !total.d[0]) return '';
  return `${number((100 * part.d[0]) / total.d[0], 3)} %`;
}
