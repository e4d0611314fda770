// Why a wire or a block gets gradient or not: its sentence, the route from the loss, what cuts it.
class Why {
  constructor(app) {
    this.app = app;
  }

  // The reason for the chosen wire or block on the page in view: {sentence, route, cutters}.
  of(chosen) {
    const {app} = this,
      {live} = app;
    const name = app.isBlock(chosen)
      ? this.subject(chosen)
      : chosen;
    if (!name) return {sentence: '', cure: '', route: [], cutters: []};
    const told = live.told(name);
    const found = {route: this.onPage(told.route), cutters: this.cutWires(told.cutters)};
    return {...told, sentence: told.sentence || app.stateRow(name).title + '.', ...found};
  }

  // What a block's verdict is about: the variable itself, or the wire into its first input.
  subject(path) {
    const {app} = this;
    if (app.data.leaves[path]?.trained) return path;
    const wires = app.wiresInto(path);
    return wires.length ? (app.data.trees[wires[0]] ?? wires)[0] : null;
  }

  // The blocks of the page in view that a route of the whole diagram passes, from the loss on.
  onPage(route) {
    const {use} = this.app,
      names = route
        .filter((path) => path.startsWith(use))
        .map((path) => use + path.slice(use.length).split('/')[0]);
    return names.filter((name, i) => name !== names[i - 1]);
  }

  // The wires of the page in view that are cut, or into the page inside which one is.
  cutWires(wires) {
    const {app} = this, here = new Set(wires.filter((wire) => app.wires.has(wire)));
    for (const path of this.onPage(wires.filter((wire) => !here.has(wire)).map(blockOf)))
      for (const key of app.wiresInto(path)) if (!app.stateRow(key).passes) here.add(key);
    return [...here];
  }

  // Which rows of a data set the page has; null for other blocks.
  rows(path) {
    const {leaves} = this.app.data, ports = outputs(this.app.faces.get(path).block);
    const leaf = ports.map((port) => leaves[`${path}.${port}`]).find((each) => each?.rows);
    if (!leaf) return null;
    const [count] = leaf.shape, rest = count < leaf.rows ? ': the page does not have the others' : '';
    return soft(`These are the first ${count} of ${leaf.rows} rows${rest}.`);
  }

  // The card of the chosen wire or block.
  card(chosen) {
    const {app} = this,
      isBlock = app.isBlock(chosen),
      kids = [];
    const wire = app.wires.get(chosen),
      face = app.faces.get(chosen);
    if (!wire && !face) return null;
    const told = this.of(chosen);
    const title = isBlock ? app.short(chosen) : `${app.short(wire.from)} → ${app.short(chosen)}`;
    kids.push(closable(title, () => app.choose(null), 'close why'));
    if (isBlock) {
      const [, kind, , , , , , , , note] = face.block;
      kids.push(soft(kind + (note && note !== kind ? ` · ${note}` : '')), this.rows(chosen));
    } else if (!app.hidden.has('states')) kids.push(this.chip(chosen));
    if (told.sentence && !app.hidden.has('why'))
      kids.push(
        el('p', {class: 'verdict'}, told.sentence),
        told.cure && el('p', {class: 'cure'}, told.cure),
      );
    kids.push(...(isBlock ? this.blockRows(chosen, face) : this.wireRows(wire)));
    if (!app.hidden.has('why')) kids.push(...this.routeRows(told));
    return el('section', {class: 'card', 'data-card': 'why', 'aria-label': 'Reason'}, ...kids);
  }

  chip(key) {
    const {role, glyph, title} = this.app.stateRow(key);
    return el('p', {}, el('span', {class: `chip role-${role}`}, `${glyph || '●'} ${title}`));
  }

  wireRows(wire) {
    const {app} = this,
      rows = [],
      value = app.live.port(wire.port);
    if (value && app.showsValue(wire.port)) rows.push(['value', full(value)]);
    if (app.showsGradient(wire.key)) rows.push(['∇', full(app.gradientOf(wire.key))]);
    return [facts(rows)];
  }

  blockRows(path, face) {
    const {app} = this,
      rows = [],
      kids = [],
      leaf = app.data.leaves[path];
    for (const port of outputs(face.block)) {
      const value = app.live.port(`${path}.${port}`);
      if (value && app.showsValue(`${path}.${port}`))
        rows.push([outputs(face.block).length > 1 ? port : 'value', full(value)]);
    }
    if (leaf?.trained && app.showsGradient(path)) rows.push(['∇', full(app.live.gradient(path))]);
    kids.push(facts(rows), leaf ? app.numbers.row(path) : null);
    if (path in app.data.paths) kids.push(app.switches.stop(app.data.paths[path]));
    const inner = app.inside(path);
    if (inner) kids.push(button('Enter this page', () => app.enter(inner), {'data-key': 'enter'}));
    const local = app.hidden.has('derivative') ? null : app.time.explain(path);
    return [...kids, local];
  }

  routeRows({route, cutters}) {
    const {app} = this,
      kids = [];
    const item = (path, sign, key) => {
      const at = {class: 'link', 'data-key': `route ${key}`};
      return el('li', {}, sign, button(app.short(path), () => app.choose(key), at));
    };
    const passed = route.map((path) => item(path, '', path));
    const cut = cutters.map((key) => item(key, '⊣ ', app.wires.has(key) ? key : blockOf(key)));
    if (route.length > 1)
      kids.push(el('h3', {}, 'Route from the loss'), el('ol', {class: 'route'}, ...passed));
    if (cut.length) kids.push(el('h3', {}, 'Cut at'), el('ul', {class: 'route'}, ...cut));
    return kids;
  }

  // Draw the numbered route on the canvas; what is not on it recedes.
  draw(chosen) {
    const {app} = this,
      isShown =
        chosen && !app.time.isRunning && !app.hidden.has('why');
    const {route, cutters} = isShown ? this.of(chosen) : {route: [], cutters: []};
    const isOn = route.length > 1,
      lit = app.lesson?.lit ?? null;
    for (const [path, face] of app.faces) {
      const place = route.indexOf(path),
        isEnd = path === chosen || path === app.wires.get(chosen)?.from,
        isDim = isOn ? place < 0 && !isEnd : lit && !lit.blocks.has(path);
      face.group.classList.toggle('dim', Boolean(isDim));
      face.group.classList.toggle('chosen', path === chosen);
      face.badge.replaceChildren(...(isOn && place >= 0 ? this.number(face, place + 1) : []));
    }
    for (const wire of app.wires.values()) {
      const isRoute =
        isOn && route.some((path, i) => path === wire.to && route[i + 1] === wire.from);
      wire.shape.group.classList.toggle(
        'dim',
        Boolean(isOn ? !isRoute && wire.key !== chosen : lit && !lit.wires.has(wire.key)),
      );
      wire.shape.group.classList.toggle('route', isRoute);
      wire.shape.group.classList.toggle('chosen', wire.key === chosen);
      wire.shape.group.classList.toggle('cutter', cutters.includes(wire.key));
    }
  }

  number(face, place) {
    const [x, y] = [face.block[4], face.block[5]];
    return [el('.circle', {cx: x, cy: y, r: 9}), el('.text', {x, y: y + 4}, place)];
  }
}

// The head of a card that can be closed.
function closable(title, act, key) {
  const at = {class: 'quiet close', 'aria-label': 'Close', 'data-key': key};
  return el('header', {}, el('h2', {}, title), button('×', act, at));
}

// A list of names and what they are.
function facts(rows) {
  if (!rows.length) return null;
  return el(
    'dl',
    {},
    ...rows.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
  );
}
