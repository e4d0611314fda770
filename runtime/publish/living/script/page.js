const SIDES = [
  [-1, '←', 'Previous step'],
  [1, '→', 'Next step'],
];

const NUMBERS = ['values', 'gradients', 'states'];

// What a lesson in another language doesn't write itself.
const ENGLISH = {lang: 'en', dir: 'ltr'};

// The page: the canvas, the panel beside it, the timeline below, and what the keyboard does.
class App {
  constructor(data, root) {
    this.data = data;
    this.uses = Object.fromEntries(
      Object.entries(data.uses).map(([path, page]) => [path && `${path}/`, page]),
    );
    this.live = new Live(data).compute();
    this.conditions = new Conditions(this);
    this.numbers = new Numbers(this);
    this.switches = new Switches(this);
    this.why = new Why(this);
    this.drawing = new Drawing(this);
    this.cards = new Panel(this);
    this.keyboard = new Keyboard(this);
    this.use = '';
    this.chosen = null;
    this.ask = null;
    this.faces = new Map();
    this.wires = new Map();
    this.start = this.snapshot();
    this.time = new Timeline(this);
    this.build(root);
    this.enter('', false);
    if (data.lesson?.steps.some((step) => step.do !== 'build')) {
      this.lesson = new Lesson(this);
      this.lesson.enter(this.lesson.index);
    }
    addEventListener('keydown', (event) => this.keyboard.key(event));
  }

  // ---- reading the diagram ----
  short(path) {
    return path.startsWith(this.use) ? path.slice(this.use.length) : path;
  }

  isBlock(key) {
    return this.faces.has(key);
  }

  // The use that a block opens: that of its page, or the first step of a Scan.
  inside(path) {
    return [`${path}/`, `${path}/0/`].find((use) => this.uses[use] !== undefined);
  }

  // The use around one.
  outside(use) {
    const outer = use.replace(/[^/]+\/$/, '');
    return this.uses[outer] === undefined ? this.outside(outer) : outer;
  }

  stateRow(key) {
    return (
      this.data.states[this.live.states()[(this.data.trees[key] ?? [key])[0]]] ??
      this.data.states.UNKNOWN
    );
  }

  state(key) {
    return (
      this.live.states()[key] ?? this.live.states()[(this.data.trees[key] ?? [key])[0]] ?? 'UNKNOWN'
    );
  }

  gradientOf(key) {
    return this.live.contribution((this.data.trees[key] ?? [key])[0]);
  }

  // Whether a wire has no lane, as it leads to nothing but views.
  isBare(key) {
    return this.state(key) === 'OFF ROUTE' && this.data.shown.includes(key);
  }

  isLoss(path) {
    return this.data.heads.some((head, k) => this.live.heads[k] && blockOf(head) === path);
  }

  isStopped(path) {
    const k = this.data.paths[path];
    return k !== undefined && !this.live.open[k];
  }

  wiresInto(path) {
    return [...this.wires.values()].filter((wire) => wire.to === path).map((wire) => wire.key);
  }

  // A port by its path, or by that of a block with one output.
  portNamed(path) {
    if (this.live.port(path)) return path;
    const known = [...Object.keys(this.live.ready.tape.ports), ...Object.keys(this.data.aliases)];
    return known.find((port) => port.slice(0, port.lastIndexOf('.')) === path) ?? path;
  }

  // What is hidden, with what would say the same in another way.
  get hidden() {
    const hidden = new Set([...(this.lesson?.hides ?? []), ...(this.ask?.hides ?? [])]);
    if (NUMBERS.some((name) => hidden.has(name))) hidden.add('why').add('derivative');
    return hidden;
  }

  showsValue(port) {
    const path = port.slice(0, port.lastIndexOf('.'));
    if (path in this.data.leaves) return true;
    return !this.hidden.has('values') && this.time.hasForward(path);
  }

  showsGradient(name) {
    const wire = this.wires.get(name);
    return !this.hidden.has('gradients') && this.time.hasBackward(wire ? wire.to : name);
  }

  showsArriving(path) {
    return !this.hidden.has('gradients') && (!this.time.isRunning || this.time.hasBackward(path));
  }

  // What f reads with only these losses chosen, or with all as they are; ``anew`` computes in any case.
  withLosses(losses, f, anew = false) {
    const old = [...this.live.heads],
      isAll = !losses || !losses.length;
    if (isAll && !anew) return f();
    if (!isAll)
      this.live.heads = this.data.heads.map(
        (head) => losses.includes(head) || losses.includes(blockOf(head)),
      );
    try {
      this.live.compute();
      return f();
    } finally {
      this.live.heads = old;
      this.live.compute();
    }
  }

  snapshot() {
    return {
      values: Object.fromEntries(
        Object.entries(this.live.values).map(([path, v]) => [path, v.slice()]),
      ),
      open: [...this.live.open],
      heads: [...this.live.heads],
    };
  }

  restore({values, open, heads}) {
    for (const path of Object.keys(values)) this.live.values[path].set(values[path]);
    this.live.open = [...open];
    this.live.heads = [...heads];
  }

  summary() {
    return this.trained
      .filter((path) => this.showsGradient(path))
      .slice(0, 4)
      .map((path) => `Gradient of ${path}: ${brief(this.live.gradient(path))}.`)
      .join(' ');
  }

  get trained() {
    return Object.keys(this.data.leaves).filter((path) => this.data.leaves[path].trained);
  }

  // ---- building ----
  build(root) {
    this.svg = el('.svg', {
      class: 'canvas',
      role: 'group',
      tabindex: 0,
      'aria-label': 'Diagram. Arrow keys move from block to block.',
      'aria-roledescription': 'diagram',
      ...ENGLISH,
    });
    this.crumbs = el('nav', {class: 'crumbs', 'aria-label': 'Pages'});
    this.panel = el('aside', {'aria-label': 'Details'});
    this.status = el('div', {class: 'spoken', role: 'status', 'aria-live': 'polite'});
    const tools = el(
      'div',
      {class: 'tools', role: 'group', 'aria-label': 'View', ...ENGLISH},
      iconButton('minus', () => this.camera.zoom(0.8), 'Zoom out (−)'),
      iconButton('plus', () => this.camera.zoom(1.25), 'Zoom in (+)'),
      iconButton('fit', () => this.camera.fit(), 'Fit (0)'),
    );
    this.theme = iconButton('theme', () => this.nextTheme(), 'Light or dark');
    root.replaceChildren(
      el(
        'header',
        {class: 'top'},
        el('h1', {}, this.data.title || 'Gradwire'),
        this.crumbs,
        this.theme,
      ),
      el('div', {class: 'stage'}, this.svg, tools),
      this.time.bar,
      this.panel,
      this.status,
    );
  }

  // Show the page of a use.
  enter(use, isSpoken = true) {
    const isWithin = [this.svg, this.crumbs].some((part) => part.contains(document.activeElement));
    this.use = use;
    this.chosen = null;
    this.drawing.picture();
    this.time.position = undefined;
    this.draw();
    this.camera.fit();
    this.crumbs.replaceChildren(...(use ? this.links(use) : []));
    if (isWithin && document.activeElement === document.body) this.svg.focus();
    if (isSpoken) this.say(use ? `Page ${use.slice(0, -1)}` : 'Main page');
  }

  // Buttons for the pages on the way to a use, and for the steps beside that of a Scan.
  links(use) {
    const parts = use.split('/').slice(0, -1),
      path = (names) => names.map((name) => `${name}/`).join(''),
      link = (text, to, label) =>
        button(text, () => this.enter(to), {
          'aria-label': label,
          'aria-current': to === use ? 'page' : null,
        });
    const links = [link('main', '')];
    parts.forEach((name, i) => {
      const to = path(parts.slice(0, i + 1)),
        isStep = this.uses[path(parts.slice(0, i))] === undefined;
      if (this.uses[to] === undefined) return;
      links.push(link(isStep ? `${parts[i - 1]}, step ${name}` : name, to));
      for (const [by, sign, label] of isStep ? SIDES : []) {
        const beside = path([...parts.slice(0, i), +name + by, ...parts.slice(i + 1)]);
        if (this.uses[beside] !== undefined) links.push(link(sign, beside, label));
      }
    });
    return links;
  }

  // ---- acting ----
  pick(key) {
    if (this.camera.hasMoved || this.numbers.isDragging) return;
    if (!this.ask?.paint(key)) this.choose(this.chosen === key ? null : key);
    this.keyboard.focusOn(key);
  }

  // Show the reason of a wire or block.
  choose(key, isSpoken = true) {
    this.chosen = key;
    this.draw();
    if (!key) return;
    const face = this.faces.get(key),
      told = this.why.of(key);
    if (face) this.camera.reveal([face.block[4], face.block[5], widthOf(face.block), face.height]);
    this.panel.scrollTop = 0;
    if (isSpoken && !this.hidden.has('why')) this.say(`${this.short(key)}. ${told.sentence}`);
  }

  get isAsPublished() {
    return JSON.stringify(this.snapshot()) === JSON.stringify(this.start);
  }

  // Something that is computed from has changed.
  changed() {
    this.live.compute();
    this.time.pause();
    this.draw();
    this.lesson?.changed();
    if (this.lesson?.here.isDone) this.draw();
  }

  answered(ask) {
    this.lesson?.answered(ask);
    this.draw();
    this.time.show(ask.firstDisagreement());
  }

  say(text) {
    this.status.textContent = unmarked(text);
  }

  nextTheme() {
    const root = document.documentElement,
      isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme =
      (root.dataset.theme ?? (isDark ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark';
    this.say(`${root.dataset.theme} colours`);
  }

  // ---- drawing ----
  draw() {
    const {hidden} = this;
    this.time.refresh();
    this.states = this.live.states();
    const sizes = new Map([...this.wires.keys()].map((key) => [key, this.live.size(key)]));
    const largest = Math.max(
      0,
      ...[...sizes.values()].map((size) => (size && Number.isFinite(size.rms) ? size.rms : 0)),
    );
    for (const wire of this.wires.values())
      this.drawing.drawWire(wire, sizes.get(wire.key), largest, hidden);
    for (const [path, face] of this.faces) this.drawing.drawFace(path, face);
    this.drawing.drawNotes(hidden);
    this.why.draw(this.chosen);
    this.time.draw();
    this.cards.drawPanel(hidden);
    this.time.bar.hidden = hidden.has('timeline');
    this.svg.classList.toggle('asking', Boolean(this.ask && !this.ask.outcome));
  }

  reset() {
    this.restore(this.lesson ? this.lesson.here.before : this.start);
    this.changed('');
    this.say('Everything is as in the file.');
  }

  // Ask for one gradient or for the states of all wires; null ends it.
  predict(what) {
    this.ask = what && new Ask(this, what);
    this.chosen = null;
    this.time.position = undefined;
    this.draw();
  }
}

if (typeof document !== 'undefined')
  globalThis.living = new App(
    restored(
      JSON.parse(document.getElementById('data').textContent),
      [...document.querySelectorAll('.still image')].map((image) => image.getAttribute('href')),
    ),
    document.getElementById('app'),
  );
