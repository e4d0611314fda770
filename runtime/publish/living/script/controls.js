// Numbers to change and switches to throw, in the panel and on the faces.
class Numbers {
  constructor(app) {
    this.app = app;
    this.unfolded = new Set();
  }

  // Whether a reader may change a source now.
  isFree(path) {
    const {app} = this,
      leaf = app.data.leaves[path];
    return (
      leaf &&
      leaf.kind !== 'literal' &&
      leaf.kind !== 'constant' &&
      (app.lesson?.allows(path) ?? true)
    );
  }

  card() {
    const {app} = this,
      found = Object.keys(app.data.leaves).filter((path) => this.isFree(path)),
      isTrained = (path) => (app.data.leaves[path].trained ? 0 : 1),
      paths = found.sort((a, b) => isTrained(a) - isTrained(b));
    if (!paths.length || app.hidden.has('values')) return null;
    const at = {'data-card': 'numbers', open: this.isOpen ?? paths.length <= 12};
    return folding(this, 'isOpen', 'numbers', at, 'Numbers', ...paths.map((path) => this.row(path)));
  }

  // The numbers of a source; behind a fold if they are many.
  fields(path, values) {
    const made = () =>
      el('span', {class: 'fields'}, ...Array.from(values, (_, i) => this.field(path, i)));
    if (values.length <= 4) return made();
    const isOpen = this.unfolded.has(path);
    const toggle = (event) => {
      if (event.target.open === this.unfolded.has(path)) return;
      if (event.target.open) this.unfolded.add(path);
      else this.unfolded.delete(path);
      this.app.draw();
    };
    const summary = el('summary', {'data-key': `fold ${path}`}, this.described(path));
    return el('details', {open: isOpen, ontoggle: toggle}, summary, isOpen && made());
  }

  described(path) {
    const {shape, dtype} = this.app.data.leaves[path];
    const size = `rms ${number(rms(this.app.live.values[path]))}`;
    return el('span', {class: 'soft num'}, `${shapeText(shape)}, ${isFloat(dtype) ? size : dtype}`);
  }

  // A source with its numbers and its gradient.
  row(path) {
    const {app} = this,
      leaf = app.data.leaves[path],
      values = app.live.values[path];
    const isSmall = values.length <= 16 && this.isFree(path);
    const name = el(
      'span',
      {class: isSmall && leaf.dtype !== 'bool' ? 'scrub' : '', title: 'Drag sideways to change'},
      app.short(path),
    );
    if (isSmall) this.scrub(name, path);
    const about = {class: 'grad num', 'data-gradient': path};
    const gradient =
      leaf.trained &&
      app.showsGradient(path) &&
      el('span', about, `∇ ${brief(app.live.gradient(path))}`);
    const shown = isSmall ? this.fields(path, values) : this.described(path);
    return el('div', {class: 'number', 'data-number': path}, name, shown, gradient);
  }

  field(path, i) {
    const {app} = this,
      leaf = app.data.leaves[path],
      isWhole = !isFloat(leaf.dtype);
    const value = app.live.values[path][i],
      name = leaf.shape.length ? `${app.short(path)}, number ${i + 1}` : app.short(path);
    return el('input', {
      type: 'number',
      step: isWhole ? 1 : 'any',
      inputmode: 'decimal',
      value: leaf.dtype === 'float32' ? +value.toPrecision(7) : value,
      'aria-label': name,
      'data-leaf': path,
      'data-at': i,
      'data-key': `field ${path} ${i}`,
      onchange: (event) => this.enter(path, i, event.target),
      onkeydown: (event) => {
        const by = {ArrowUp: 1, ArrowDown: -1}[event.key];
        if (!by) return;
        event.preventDefault();
        this.change(path, i, app.live.values[path][i] + by * this.step(path, i, event));
      },
    });
  }

  // A tenth of the magnitude, at most 1; Shift makes it ten times larger.
  step(path, i, event) {
    if (!isFloat(this.app.data.leaves[path].dtype)) return 1;
    const size = Math.abs(this.app.live.values[path][i]) || 1;
    return 10 ** Math.min(0, Math.floor(Math.log10(size)) - 1 + (event.shiftKey ? 1 : 0));
  }

  enter(path, i, field) {
    const number = Number(field.value.replace(',', '.')),
      trouble = field.value === '' || !Number.isFinite(number) ? 'That is not a number.' : '';
    if (trouble) {
      this.app.say(trouble);
      field.value = this.app.live.values[path][i];
    } else this.change(path, i, number);
  }

  change(path, i, number) {
    const trouble = this.app.live.set(path, i, +number.toPrecision(12));
    if (trouble) this.app.say(trouble);
    this.app.changed(path);
  }

  // Drag an element sideways to change all numbers of a source alike. The window listens, since
  // the panel is drawn anew with every change.
  scrub(element, path) {
    element.addEventListener('pointerdown', (event) => {
      if (event.button || !this.isFree(path)) return;
      event.preventDefault();
      event.stopPropagation();
      const from = Array.from(this.app.live.values[path]);
      const unit = Math.min(...from.map((_, i) => this.step(path, i, event)));
      const move = ({clientX}) =>
        this.slide(path, from, Math.round((clientX - event.clientX) / 4), unit);
      const end = () => {
        removeEventListener('pointermove', move);
        for (const kind of ['pointerup', 'pointercancel']) removeEventListener(kind, end);
        setTimeout(() => (this.isDragging = false));
      };
      addEventListener('pointermove', move);
      for (const kind of ['pointerup', 'pointercancel']) addEventListener(kind, end);
    });
  }

  slide(path, from, steps, unit) {
    if (!steps && !this.isDragging) return;
    this.isDragging = true;
    from.forEach((x, i) => this.app.live.set(path, i, +(x + steps * unit).toPrecision(12)));
    this.app.changed(path);
  }
}

class Switches {
  constructor(app) {
    this.app = app;
  }

  card() {
    const {app} = this,
      stops = [...app.data.switches.keys()],
      heads = app.data.heads;
    const rows = [
      ...stops.map((k) => this.stop(k)),
      ...(heads.length > 1 ? heads.map((_, k) => this.loss(k)) : []),
    ];
    if (!rows.length || app.hidden.has('what_if')) return null;
    const title = el('h2', {}, heads.length > 1 ? 'Stops and losses' : 'Stops');
    return el('section', {class: 'card', 'data-card': 'switches'}, title, ...rows);
  }

  toggle(text, isOn, act, key, more = {}) {
    const at = {type: 'button', role: 'switch', 'aria-checked': String(isOn), class: 'toggle'};
    const acts = {onclick: act, 'data-key': key, ...more};
    return el('button', {...at, ...acts}, el('i', {}), el('span', {}, text));
  }

  stop(k) {
    const {app} = this,
      {page, name, locked} = app.data.switches[k],
      isOpen = app.live.open[k];
    const isFree = !locked && this.isFree(k);
    const path = Object.keys(app.data.paths).find((each) => app.data.paths[each] === k) ?? name;
    const text = `${page === 'main' ? name : path} ${isOpen ? 'is open' : 'stops the gradient'}`;
    const made = this.toggle(text, !isOpen, () => this.flip(k), `stop ${k}`, {
      'data-stop': name,
      disabled: !isFree,
    });
    return locked ? el('div', {}, made, soft(locked)) : made;
  }

  loss(k) {
    const {app} = this,
      name = blockOf(app.data.heads[k]);
    return this.toggle(`${name} is counted`, app.live.heads[k], () => this.count(k), `loss ${k}`, {
      'data-loss': name,
    });
  }

  // Whether a lesson leaves a stop to the reader now.
  isFree(k) {
    const {data, lesson} = this.app;
    const paths = Object.keys(data.paths).filter((path) => data.paths[path] === k);
    return !lesson || paths.some((path) => lesson.allows(path));
  }

  // Open or close a stop.
  flip(k) {
    const {app} = this,
      name = app.data.switches[k].name;
    if (!this.isFree(k)) {
      app.say(`This step leaves ${name} as it is.`);
      return;
    }
    const trouble = app.live.toggle(k);
    app.changed(name);
    app.say(
      trouble || `${name} ${app.live.open[k] ? 'is open' : 'stops the gradient'}. ${app.summary()}`,
    );
  }

  count(k) {
    const {app} = this;
    app.live.heads[k] = !app.live.heads[k];
    app.changed('');
    app.say(
      `${blockOf(app.data.heads[k])} ${app.live.heads[k] ? 'counts' : 'does not count'}. ${app.summary()}`,
    );
  }
}
