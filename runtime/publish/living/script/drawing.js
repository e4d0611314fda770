// Builds the picture of the page in view, and gives every wire and block what it shows now.
class Drawing {
  constructor(app) {
    this.app = app;
    this.facts = new Conditions(app);
    this.asking = [];
  }

  picture() {
    const {app} = this;
    const page = app.data.pages[app.uses[app.use]],
      {use} = app;
    app.faces = new Map(
      page.blocks.map((block) => [
        use + block[0],
        new FaceShape(block, use + block[0], this.acts(block)),
      ]),
    );
    app.wires = new Map(
      page.wires.map(([from, out, to, input, course]) => {
        const [source, target] = [page.blocks[from], page.blocks[to]],
          key = `${use}${target[0]}.${inputName(target[7][input])}`;
        const shape = new WireShape(
          key,
          corners(portAt(source, false, out), portAt(target, true, input), course),
          (each) => app.pick(each),
        );
        return [
          key,
          {
            key,
            from: use + source[0],
            to: use + target[0],
            port: `${use}${source[0]}.${outputs(source)[out]}`,
            shape,
          },
        ];
      }),
    );
    spread([...app.wires.values()].map((wire) => wire.shape));
    app.order = sorted([...app.faces.keys()], [...app.wires.values()]);
    const shapes = [...app.wires.values()].map((wire) => wire.shape.group);
    app.svg.replaceChildren(
      this.notesOf(page),
      el('.g', {}, ...shapes),
      el('.g', {}, ...[...app.faces.values()].map((face) => face.group)),
    );
    const boxes = [
      ...page.blocks.map((b) => [b[4], b[5], widthOf(b), b[6]]),
      ...page.notes.map(([, x, y, w, h, isFrame]) => [
        x,
        isFrame ? y - 18 : y,
        w,
        isFrame ? h + 18 : h,
      ]),
    ];
    const points = [...app.wires.values()].flatMap((wire) => wire.shape.points);
    const xs = [...boxes.map((b) => b[0]), ...points.map((p) => p[0])],
      ys = [...boxes.map((b) => b[1]), ...points.map((p) => p[1])];
    const right = Math.max(...boxes.map((b) => b[0] + b[2]), ...points.map((p) => p[0])),
      bottom = Math.max(...boxes.map((b) => b[1] + b[3]), ...points.map((p) => p[1] + 16));
    const [x, y] = [Math.min(...xs) - 24, Math.min(...ys) - 24],
      bounds = [x, y, right + 24 - x, bottom + 24 - y];
    if (app.camera) app.camera.bounds = bounds;
    else app.camera = new Camera(app.svg, bounds);
  }

  // Notes, and those of them that have expressions.
  notesOf(page) {
    const written = ([text, ...rest]) => [typeof text === 'string' ? text : '', ...rest];
    const shapes = page.notes.map((note) => noteShape(written(note)));
    this.asking = page.notes.flatMap((note, k) =>
      typeof note[0] === 'string' ? [] : [{note, shape: shapes[k], text: ''}],
    );
    return el('.g', {}, ...shapes);
  }

  // The numbers of notes as they are now; ? while there is something to be found out.
  drawNotes(hidden) {
    const isHidden = NUMBERS.some((name) => hidden.has(name));
    for (const each of this.asking) {
      const [parts, ...rest] = each.note;
      const text = this.facts.text(isHidden ? parts.map((x) => (Array.isArray(x) ? '?' : x)) : parts);
      if (text === each.text) continue;
      const shape = noteShape([text, ...rest]);
      each.shape.replaceWith(shape);
      Object.assign(each, {shape, text});
    }
  }

  acts(block) {
    const {app} = this;
    const path = app.use + block[0],
      k = app.data.paths[path],
      inner = app.inside(path);
    return {
      name: block[0],
      pick: (each, event) => app.pick(each, event),
      enter: inner ? () => app.enter(inner) : null,
      toggle: k === undefined ? null : () => app.switches.flip(k),
      scrub:
        app.data.leaves[path] && app.data.leaves[path].kind !== 'constant'
          ? (element) => app.numbers.scrub(element, path)
          : null,
    };
  }

  drawWire({key, to, shape}, size, largest, hidden) {
    const {app} = this;
    const painted = app.ask?.painted.get(key),
      isAsked = app.ask?.kind === 'paint' && app.ask.what.wires.includes(key);
    const isHidden = hidden.has('states') || !app.time.hasBackward(to);
    const state = app.state(key),
      shown = painted && !app.ask.outcome ? painted : isHidden ? null : state;
    const isBare = !painted && app.isBare(key);
    const row = shown && !isBare
      ? app.data.states[shown]
      : {form: 'none', role: 'plain', glyph: isAsked && isHidden ? '?' : ''};
    const width =
      size && largest && !hidden.has('gradients')
        ? 1.4 + 1.8 * Math.max(0, 1 + Math.log10(size.rms / largest || 1e-9) / 4)
        : 1.8;
    const gradient = app.gradientOf(key),
      hasNumber = gradient && app.showsGradient(key) && !hidden.has('gradients') && !isHidden;
    const percent = size && size.total ? percentOf(size.zeros / size.total) : '';
    const rms = size ? number(size.rms, 2) : '';
    const note =
      shown === 'NONFINITE' && size
        ? size.wild
        : (row.label ?? '').replace('{zeros}', percent).replace('{rms}', rms);
    const isWrong = app.ask?.outcome?.wrong?.includes(key);
    const text = isWrong
      ? `you: ${app.data.states[painted].title}`
      : !hasNumber
        ? ''
        : gradient.d.length === 1
          ? `∇ ${brief(gradient)}`
          : note.trim();
    shape.draw(
      shown ?? 'hidden',
      row,
      Math.round(width * 10) / 10,
      text,
      this.spoken(key, shown, hasNumber ? gradient : undefined),
    );
    shape.group.classList.toggle('asked', Boolean(isAsked && !app.ask.outcome));
    shape.group.classList.toggle('disagrees', Boolean(isWrong));
  }

  // What a screen reader says about a wire: "w to mul1.a, stopped by sg1, gradient 8".
  spoken(key, state, gradient) {
    const {app} = this;
    const wire = app.wires.get(key),
      row = state && app.data.states[state];
    const cutters = state === 'STOPPED' ? app.why.of(key).cutters : [];
    const by = cutters.length
      ? ` by ${cutters.map((each) => app.short(each).split('.')[0]).join(', ')}`
      : '';
    const parts = [`wire ${app.short(wire.from)} to ${app.short(key)}`];
    if (row) parts.push(row.spoken + by);
    if (gradient) parts.push(`gradient ${brief(gradient)}`);
    return parts.join(', ');
  }

  drawFace(path, face) {
    const {app} = this;
    const {block} = face,
      port = `${path}.${outputs(block)[0]}`,
      k = app.data.paths[path],
      leaf = app.data.leaves[path];
    const hasValue = app.showsValue(port),
      value = app.live.port(port);
    const gradient = leaf?.trained
      ? app.showsGradient(path)
        ? brief(app.live.gradient(path), 3)
        : '?'
      : undefined;
    const isOpen = k !== undefined && app.live.open[k];
    const what = [
      `${block[1]} ${block[0]}`,
      hasValue && value && outputs(block).length === 1 ? `value ${brief(value)}` : '',
      gradient && gradient !== '?' ? `gradient ${gradient}` : '',
      k !== undefined ? (isOpen ? 'open' : 'stops the gradient') : '',
    ];
    face.view?.classList.toggle('hidden', app.hidden.has('values'));
    face.draw({value, gradient, isOpen, hasValue, spoken: what.filter(Boolean).join(', ')});
  }
}

// Blocks in the order in which they compute.
function sorted(paths, wires) {
  const waiting = new Map(
      paths.map((path) => [path, wires.filter((wire) => wire.to === path).length]),
    ),
    found = [];
  const ready = paths.filter((path) => !waiting.get(path));
  for (const path of ready) {
    found.push(path);
    for (const wire of wires) {
      if (wire.from !== path) continue;
      waiting.set(wire.to, waiting.get(wire.to) - 1);
      if (!waiting.get(wire.to)) ready.push(wire.to);
    }
  }
  return [...found, ...paths.filter((path) => !found.includes(path))];
}
