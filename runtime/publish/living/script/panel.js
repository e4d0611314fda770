// The cards of the panel beside the canvas.
const KEYS = [
  ['Space', 'play or pause'],
  [', .', 'step back, step forward'],
  ['Home End', 'start, end of the timeline'],
  ['Arrows', 'move from block to block'],
  ['W', 'next wire of the block'],
  ['Enter', 'reason of a block or wire; enter a page'],
  ['S', 'open or close a stop'],
  ['+ − 0', 'zoom in, out, fit'],
  ['Shift + arrows', 'pan'],
  ['Esc', 'close the reason, leave a page'],
];

class Panel {
  constructor(app) {
    this.app = app;
  }

  drawPanel(hidden) {
    const {app} = this;
    const free = !app.lesson && !app.ask,
      kids = [];
    if (app.lesson) kids.push(app.lesson.card());
    else if (app.ask) {
      const head = closable('Predict', () => app.predict(null), 'close ask');
      kids.push(el('section', {class: 'card', 'data-card': 'prediction'}, head, app.ask.card()));
    }
    kids.push(
      hidden.has('timeline') ? null : app.time.card(),
      app.chosen ? app.why.card(app.chosen) : null,
    );
    if (free && app.data.text && !app.chosen && !app.time.isRunning)
      kids.push(el('section', {class: 'card about'}, ...prose(app.data.text)));
    kids.push(app.switches.card(), app.numbers.card());
    if (free) kids.push(this.predictCard());
    const reset = button('Reset numbers and stops', () => app.reset());
    kids.push(this.legend(hidden), this.outline(), this.keys(), row(reset));
    swap(app.panel, ...kids);
  }

  predictCard() {
    const {app} = this;
    const paths = app.trained;
    if (!paths.length) return null;
    const at = {'aria-label': 'Variable', 'data-key': 'predicted'};
    const select = choice(at, paths.map((path) => [path, path]));
    const wires = [...app.wires.keys()].filter((key) => key in app.live.states()).slice(0, 8);
    const ask = () => {
      const answer = sizeOf(app.data.leaves[select.value].shape) > 4 ? 'sign' : 'number';
      app.predict({gradient: select.value, answer});
    };
    return folding(
      this,
      'isPredicting',
      'predict',
      {'data-card': 'predict'},
      'Predict, then look',
      soft('The gradients hide until you have committed to an answer.'),
      row(select, button('Its gradient', ask)),
      row(button('Paint the states of wires', () => app.predict({wires}))),
    );
  }

  legend(hidden) {
    const {app} = this;
    if (hidden.has('states')) return null;
    const drawn = [...app.wires.keys()].filter((key) => !app.isBare(key));
    const found = [...new Set(drawn.map((key) => app.state(key)))].filter(
      (state) => app.data.states[state].form !== 'none' || app.data.states[state].glyph,
    );
    const line = (row) => {
      const shape = new WireShape('', [[0, 0], [44, 0]], () => {});
      shape.line = [[44, 8], [0, 8]];
      shape.redraw(row, 2.2);
      return el(
        '.svg',
        {class: 'key', viewBox: '-4 0 52 16', width: 52, height: 16, 'aria-hidden': 'true'},
        shape.lane,
        shape.inner,
        shape.heads,
        shape.mark,
      );
    };
    const at = {class: 'card legend', open: this.hasLegend ?? true};
    const rows = found.map((state) => app.data.states[state]);
    const lines = rows.map((each) => row(line(each), el('span', {}, each.title)));
    return folding(this, 'hasLegend', 'legend', at, 'Lanes beside wires', ...lines);
  }

  // Every block and wire in words; each is a way to its reason.
  outline() {
    const {app} = this;
    const item = (key, {group}, ...kids) => {
      const at = {class: 'link', 'data-key': `outline ${key}`};
      return el('li', {}, button(group.getAttribute('aria-label'), () => app.choose(key), at), ...kids);
    };
    const wires = (path) => app.wiresInto(path).map((key) => item(key, app.wires.get(key).shape));
    const block = (path) => item(path, app.faces.get(path), el('ul', {}, ...wires(path)));
    const list = this.hasOutline && el('ul', {class: 'outline'}, ...app.order.map(block));
    const made = folding(this, 'hasOutline', 'outline', {'data-card': 'outline'}, 'Outline', list);
    if (!list) made.addEventListener('toggle', () => this.hasOutline && app.draw());
    return made;
  }

  keys() {
    const rows = KEYS.map(([key, what]) => [el('kbd', {}, key), what]);
    return folding(this, 'hasKeys', 'keys', {}, 'Keys', facts(rows));
  }
}
