// Convolutions, and the windows of an image.

// Calls visit(place in the image, in the weights, in the result) for every product of a convolution.
function convolve(image, weights, result, {geometry: g, groups}, visit) {
  const [batch, channels, height, width] = image, [, filters, rowCount, columnCount] = result;
  const each = channels / groups, perGroup = filters / groups;
  for (let n = 0; n < batch; n++) for (let f = 0; f < filters; f++) {
    for (let r = 0; r < rowCount; r++) for (let s = 0; s < columnCount; s++) {
      for (let c = 0; c < each; c++) for (let i = 0; i < g.window[0]; i++) {
        const h = r * g.stride[0] - g.padding[0][0] + i * g.dilation[0];
        if (h < 0 || h >= height) continue;
        for (let j = 0; j < g.window[1]; j++) {
          const w = s * g.stride[1] - g.padding[1][0] + j * g.dilation[1];
          if (w < 0 || w >= width) continue;
          visit(
            ((n * channels + Math.floor(f / perGroup) * each + c) * height + h) * width + w,
            ((f * each + c) * g.window[0] + i) * g.window[1] + j,
            ((n * filters + f) * rowCount + r) * columnCount + s,
          );
        }
      }
    }
  }
}

// Adds up in double precision, and rounds once.
function accumulated(out, add) {
  const sums = new Float64Array(out.d.length);
  return () => {
    sums.fill(0);
    add(sums);
    out.d.set(sums);
  };
}

KERNELS.conv2d = (out, [x, w], how) => accumulated(out, (sums) =>
  convolve(x.s, w.s, out.s, how, (a, b, c) => { sums[c] += x.d[a] * w.d[b]; }));
KERNELS.conv2d_x = (out, [g, w], how) => accumulated(out, (sums) =>
  convolve(out.s, w.s, g.s, how, (a, b, c) => { sums[a] += g.d[c] * w.d[b]; }));
KERNELS.conv2d_w = (out, [x, g], how) => accumulated(out, (sums) =>
  convolve(x.s, out.s, g.s, how, (a, b, c) => { sums[b] += x.d[a] * g.d[c]; }));

// Calls visit(place in the image or −1, place in the windows) for every element of all windows.
function visitWindows(image, {geometry: g}, windows, visit) {
  const [batch, channels, height, width] = image, [rowsOf, columnsOf, , , down, across] = windows;
  let k = 0;
  for (let i = 0; i < rowsOf; i++) for (let j = 0; j < columnsOf; j++) {
    for (let m = 0; m < batch * channels; m++) {
      for (let r = 0; r < down; r++) for (let s = 0; s < across; s++, k++) {
        const h = r * g.stride[0] - g.padding[0][0] + i * g.dilation[0];
        const w = s * g.stride[1] - g.padding[1][0] + j * g.dilation[1];
        const outside = h < 0 || h >= height || w < 0 || w >= width;
        visit(outside ? -1 : (m * height + h) * width + w, k);
      }
    }
  }
}

KERNELS.windows = (out, [x], how) => () =>
  visitWindows(x.s, how, out.s, (place, k) => { out.d[k] = place < 0 ? +how.fill : x.d[place]; });
KERNELS.fold = (out, [patches], how) => () => {
  out.d.fill(0);
  visitWindows(out.s, how, patches.s, (place, k) => { if (place >= 0) out.d[place] += patches.d[k]; });
};
