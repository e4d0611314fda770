// What the keyboard does, and which block or wire has the focus.
class Keyboard {
  constructor(app) {
    this.app = app;
  }

  // ---- the keyboard ----
  get focused() {
    const {app} = this;
    const group = document.activeElement?.closest?.('[data-block],[data-wire]');
    return group && app.svg.contains(group) ? (group.dataset.block ?? group.dataset.wire) : null;
  }

  focusOn(key) {
    const {app} = this;
    (app.faces.get(key)?.group ?? app.wires.get(key)?.shape.group)?.focus({preventScroll: true});
  }

  key(event) {
    const {app} = this;
    const {target} = event,
      isField = target.matches?.('input, select, textarea'),
      isButton = target.matches?.('button, summary');
    if (event.ctrlKey || event.metaKey || event.altKey || isField) return;
    const isCanvas = app.svg.contains(target),
      act = this.shortcut(event, isCanvas, isButton);
    if (!act) return;
    event.preventDefault();
    act();
  }

  shortcut({key, shiftKey}, isCanvas, isButton) {
    const {app} = this;
    const {time, camera} = app,
      {focused} = this;
    const step = (by) => () => {
      if (app.hidden.has('timeline')) return;
      time.pause();
      time.go(time.position + by);
    };
    const arrow = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[
      key
    ];
    if (arrow && shiftKey) return () => camera.pan(60 * arrow[0], 60 * arrow[1]);
    if (arrow && isCanvas) return () => this.walk(arrow);
    if (arrow && !isButton && arrow[0] && !app.hidden.has('timeline')) return step(arrow[0]);
    if (key === 'Enter' && isCanvas && focused)
      return () => {
        camera.travel = 0;
        const inner = app.inside(focused);
        if (app.chosen === focused && inner) app.enter(inner);
        else app.pick(focused);
      };
    const k = app.data.paths[focused ?? app.chosen];
    const plain = {
      ' ': isButton || app.hidden.has('timeline') ? null : () => time.toggle(),
      ',': step(-1),
      '.': step(1),
      Home: step(-1e6),
      End: step(1e6),
      '+': () => camera.zoom(1.25),
      '=': () => camera.zoom(1.25),
      '-': () => camera.zoom(0.8),
      0: () => camera.fit(),
      s: k === undefined ? null : () => app.switches.flip(k),
      w: () => this.nextWire(focused ?? app.chosen),
      Escape: () => this.leave(),
    };
    return plain[key.length === 1 ? key.toLowerCase() : key] ?? null;
  }

  leave() {
    const {app} = this;
    if (app.chosen) app.choose(null);
    else if (app.use) app.enter(app.outside(app.use));
  }

  // Move the focus to the nearest block in a direction.
  walk([dx, dy]) {
    const {app} = this;
    const wire = app.wires.get(this.focused),
      here = app.faces.get(wire ? wire.to : this.focused) ?? null;
    const centre = (face) => [face.block[4] + widthOf(face.block) / 2, face.block[5] + face.height / 2];
    if (!here) {
      this.show(app.order[0]);
      return;
    }
    const from = centre(here),
      found = [...app.faces]
        .map(([path, face]) => {
          const [x, y] = centre(face),
            along = (x - from[0]) * dx + (y - from[1]) * dy,
            aside = Math.abs((x - from[0]) * dy) + Math.abs((y - from[1]) * dx);
          return [along > 8 ? along + 2.5 * aside : Infinity, path];
        })
        .sort((a, b) => a[0] - b[0]);
    if (found[0][0] < Infinity) this.show(found[0][1]);
  }

  nextWire(key) {
    const {app} = this;
    const path = app.wires.get(key)?.to ?? key,
      wires = [...app.wires.values()]
        .filter((wire) => wire.to === path || wire.from === path)
        .map((wire) => wire.key);
    if (wires.length) this.show(wires[(wires.indexOf(key) + 1) % wires.length]);
  }

  show(key) {
    const {app} = this;
    const face = app.faces.get(key);
    this.focusOn(key);
    if (face) app.camera.reveal([face.block[4], face.block[5], widthOf(face.block), face.height]);
  }
}
