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
    else if (app.ask)
      kids.push(
        el(
          'section',
          {class: 'card', 'data-card': 'prediction'},
          el(
            'header',
            {},
            el('h2', {}, 'Predict'),
            button('×', () => app.predict(null), {
              class: 'quiet close',
              'aria-label': 'Close',
              'data-key': 'close ask',
            }),
          ),
          app.ask.card(),
        ),
      );
    kids.push(
      hidden.has('timeline') ? null : app.time.card(),
      app.chosen ? app.why.card(app.chosen) : null,
    );
    if (!app.lesson && !app.ask && app.data.text && !app.chosen && !app.time.isRunning)
      kids.push(el('section', {class: 'card about'}, ...prose(app.data.text)));
    kids.push(app.switches.card(), app.numbers.card());
    if (free) kids.push(this.predictCard());
    kids.push(
      this.legend(hidden),
      this.outline(),
      this.keys(),
      el(
        'div',
        {class: 'row'},
        button('Reset numbers and stops', () => app.reset()),
      ),
    );
    swap(app.panel, ...kids);
  }

  predictCard() {
    const {app} = this;
    const paths = Object.keys(app.data.leaves).filter((path) => app.data.leaves[path].trained);
    if (!paths.length) return null;
    const select = el(
      'select',
      {'aria-label': 'Variable', 'data-key': 'predicted'},
      ...paths.map((path) => el('option', {value: path}, path)),
    );
    const wires = [...app.wires.keys()].filter((key) => key in app.live.states()).slice(0, 8);
    return el(
      'details',
      {
        class: 'card',
        'data-card': 'predict',
        open: this.isPredicting,
        ontoggle: (event) => {
          this.isPredicting = event.target.open;
        },
      },
      el('summary', {'data-key': 'predict'}, 'Predict, then look'),
      el('p', {class: 'soft'}, 'The gradients hide until you have committed to an answer.'),
      el(
        'div',
        {class: 'row'},
        select,
        button('Its gradient', () =>
          app.predict({
            gradient: select.value,
            answer:
              app.data.leaves[select.value].shape.reduce((a, b) => a * b, 1) > 4
                ? 'sign'
                : 'number',
          }),
        ),
      ),
      el(
        'div',
        {class: 'row'},
        button('Paint the states of wires', () => app.predict({wires})),
      ),
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
      const shape = new WireShape(
        '',
        [
          [0, 0],
          [44, 0],
        ],
        () => {},
      );
      shape.line = [
        [44, 8],
        [0, 8],
      ];
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
    return el(
      'details',
      {
        class: 'card legend',
        open: this.hasLegend ?? true,
        ontoggle: (event) => {
          this.hasLegend = event.target.open;
        },
      },
      el('summary', {'data-key': 'legend'}, 'Lanes beside wires'),
      ...found.map((state) =>
        el(
          'div',
          {class: 'row'},
          line(app.data.states[state]),
          el('span', {}, app.data.states[state].title),
        ),
      ),
    );
  }

  // Every block and wire in words; each is a way to its reason.
  outline() {
    const {app} = this;
    if (!this.hasOutline)
      return el(
        'details',
        {
          class: 'card',
          'data-card': 'outline',
          ontoggle: (event) => {
            if (event.target.open) {
              this.hasOutline = true;
              app.draw();
            }
          },
        },
        el('summary', {'data-key': 'outline'}, 'Outline'),
      );
    const item = (key, text) =>
      el(
        'li',
        {},
        button(text, () => app.choose(key), {class: 'link', 'data-key': `outline ${key}`}),
      );
    return el(
      'details',
      {
        class: 'card',
        'data-card': 'outline',
        open: true,
        ontoggle: (event) => {
          this.hasOutline = event.target.open;
        },
      },
      el('summary', {'data-key': 'outline'}, 'Outline'),
      el(
        'ul',
        {class: 'outline'},
        ...app.order.map((path) =>
          el(
            'li',
            {},
            button(app.faces.get(path).group.getAttribute('aria-label'), () => app.choose(path), {
              class: 'link',
              'data-key': `outline ${path}`,
            }),
            el(
              'ul',
              {},
              ...app
                .wiresInto(path)
                .map((key) => item(key, app.wires.get(key).shape.group.getAttribute('aria-label'))),
            ),
          ),
        ),
      ),
    );
  }

  keys() {
    return el(
      'details',
      {
        class: 'card',
        open: this.hasKeys,
        ontoggle: (event) => {
          this.hasKeys = event.target.open;
        },
      },
      el('summary', {'data-key': 'keys'}, 'Keys'),
      facts(KEYS.map(([key, what]) => [el('kbd', {}, key), what])),
    );
  }
}
