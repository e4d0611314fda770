// Zoom and pan of the canvas: wheel, one or two fingers, keys and buttons.
const isEmbedded = (() => {
  try {
    return window.self !== window.top;
  } catch {
    return true;
  }
})();

class Camera {
  constructor(svg, bounds) {
    this.svg = svg;
    this.bounds = bounds;
    this.box = [...bounds];
    this.pointers = new Map();
    this.isFitted = true;
    svg.classList.toggle('embedded', isEmbedded);
    svg.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    svg.addEventListener('pointerdown', (event) => this.down(event));
    svg.addEventListener('pointermove', (event) => this.move(event));
    for (const kind of ['pointerup', 'pointercancel', 'pointerleave'])
      svg.addEventListener(kind, (event) => this.up(event));
    if (globalThis.ResizeObserver)
      new ResizeObserver(() => this.isFitted && this.fit()).observe(svg);
  }

  // Show all of the page; a small page is not drawn larger than 125 %.
  fit() {
    const {clientWidth: w, clientHeight: h} = this.svg;
    if (!w || !h) return;
    // On a phone the page begins at its left, large enough to read.
    const [x, y, wide, high] = this.bounds,
      whole = Math.max(wide / w, high / h, 0.8);
    const scale = w < 600 ? Math.min(whole, 1.6) : whole;
    this.box = [
      x - Math.max(0, w * scale - wide) / 2,
      y - (h * scale - high) / 2,
      w * scale,
      h * scale,
    ];
    this.isFitted = true;
    this.show();
  }

  show() {
    set(this.svg, 'viewBox', this.box.map((side) => side.toFixed(2)).join(' '));
    this.svg.style.setProperty('--zoom', this.scale);
  }

  get scale() {
    return this.svg.clientWidth / this.box[2] || 1;
  }

  point(event) {
    const frame = this.svg.getBoundingClientRect();
    return [
      this.box[0] + (event.clientX - frame.left) / this.scale,
      this.box[1] + (event.clientY - frame.top) / this.scale,
    ];
  }

  zoom(by, around = [this.box[0] + this.box[2] / 2, this.box[1] + this.box[3] / 2]) {
    const factor = Math.min(Math.max(by, 0.15 / this.scale), 4 / this.scale);
    this.box = [
      around[0] + (this.box[0] - around[0]) / factor,
      around[1] + (this.box[1] - around[1]) / factor,
      this.box[2] / factor,
      this.box[3] / factor,
    ];
    this.isFitted = false;
    this.show();
  }

  pan(dx, dy) {
    this.box[0] += dx / this.scale;
    this.box[1] += dy / this.scale;
    this.isFitted = false;
    this.show();
  }

  // Bring a rectangle of the page into view.
  reveal([x, y, w, h]) {
    const [left, top, wide, high] = this.box,
      pad = 24;
    const dx = x - pad < left ? x - pad - left : Math.max(0, x + w + pad - left - wide);
    const dy = y - pad < top ? y - pad - top : Math.max(0, y + h + pad - top - high);
    if (dx || dy) this.pan(dx * this.scale, dy * this.scale);
  }

  // In a frame of another page the wheel scrolls that page, unless Ctrl is held or the canvas has the focus.
  wheel(event) {
    if (isEmbedded && !event.ctrlKey && !this.svg.contains(document.activeElement)) return;
    event.preventDefault();
    if (event.shiftKey) this.pan(event.deltaY || event.deltaX, 0);
    else
      this.zoom(
        Math.exp(-(event.deltaMode ? 20 : 1) * event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)),
        this.point(event),
      );
  }

  down(event) {
    if (event.button > 0 || event.defaultPrevented) return;
    this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
    this.travel = 0;
  }

  move(event) {
    const old = this.pointers.get(event.pointerId);
    if (!old) return;
    const now = [event.clientX, event.clientY],
      others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    if (others.length) {
      const [, other] = others[0],
        centre = {clientX: (now[0] + other[0]) / 2, clientY: (now[1] + other[1]) / 2};
      this.zoom(distance(now, other) / Math.max(1, distance(old, other)), this.point(centre));
      this.pan((old[0] - now[0]) / 2, (old[1] - now[1]) / 2);
      this.travel = 99;
    } else {
      this.travel += distance(old, now);
      if (this.travel > 5) {
        this.svg.setPointerCapture?.(event.pointerId);
        this.pan(old[0] - now[0], old[1] - now[1]);
      } else return;
    }
    this.pointers.set(event.pointerId, now);
  }

  up(event) {
    if (event.type !== 'pointerleave' || !this.svg.hasPointerCapture?.(event.pointerId))
      this.pointers.delete(event.pointerId);
  }

  // Whether the click that follows ends a drag.
  get hasMoved() {
    return this.travel > 5;
  }
}
