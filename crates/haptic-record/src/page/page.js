// Draws the plots of DATA: time plots share one time axis; drag zooms, wheel zooms, double click shows all.
'use strict';
const NS = 'http://www.w3.org/2000/svg';
const FONT = 'system-ui, "Segoe UI", "Noto Sans", sans-serif';
/// Least value on a logarithmic axis.
const LEAST = 1;
const timePlots = [];
const full = DATA.time.range;
let view = full.slice();

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(); }
function node(name, attributes, parent, text) {
  const element = document.createElementNS(NS, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}
function steps(low, high, count) {
  const span = high - low || 1, rough = span / count, power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough) || 10 * power;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(k * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return ticks.map(value => [value, (Math.abs(value) < step * 1e-6 ? 0 : value).toFixed(Math.min(digits, 6)).replace('-', '−')]);
}
/// Powers of ten as people write them: plain where that is short.
function power(p) {
  if (p > -4 && p < 5) return p < 0 ? (10 ** p).toFixed(-p) : String(10 ** p);
  return '10' + String(p).replace(/./g, c => c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[c]);
}
function decades(low, high) {
  const ticks = [];
  for (let p = Math.floor(low); p <= Math.ceil(high); p++) if (p >= low - 1e-9 && p <= high + 1e-9) ticks.push([p, power(p)]);
  return ticks;
}
/// A frame with axes; returns the drawing layer and the two scales.
function frame(svg, spec, xRange, yRange, size) {
  svg.replaceChildren();
  const [W, H] = size, left = 64, right = 14, top = 10, bottom = 40;
  svg.setAttribute('viewBox', `0 0 ${W} ${H}`);
  svg.setAttribute('font-family', FONT);
  svg.setAttribute('font-size', '12');
  const x = v => left + (v - xRange[0]) / (xRange[1] - xRange[0]) * (W - left - right);
  const y = v => H - bottom - (v - yRange[0]) / (yRange[1] - yRange[0]) * (H - top - bottom);
  node('rect', { x: 0, y: 0, width: W, height: H, fill: colour('paper') }, svg);
  const xTicks = spec.xLog ? decades(...xRange) : steps(xRange[0], xRange[1], W / 110);
  const yTicks = spec.yLog ? decades(...yRange) : steps(yRange[0], yRange[1], H / 55);
  for (const [value, text] of xTicks) {
    node('line', { x1: x(value), x2: x(value), y1: top, y2: H - bottom, stroke: colour('grid') }, svg);
    node('text', { x: Math.min(x(value), W - 3.6 * text.length), y: H - bottom + 17, 'text-anchor': 'middle', fill: colour('soft') }, svg, text);
  }
  for (const [value, text] of yTicks) {
    node('line', { x1: left, x2: W - right, y1: y(value), y2: y(value), stroke: Math.abs(value) < 1e-12 && !spec.yLog ? colour('line') : colour('grid') }, svg);
    node('text', { x: left - 8, y: y(value) + 4, 'text-anchor': 'end', fill: colour('soft') }, svg, text);
  }
  node('text', { x: (left + W - right) / 2, y: H - 6, 'text-anchor': 'middle', fill: colour('soft') }, svg, spec.x);
  node('text', { x: 0, y: 0, transform: `translate(14 ${(top + H - bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle', fill: colour('soft') }, svg, spec.y);
  const id = 'clip' + Math.random().toString(36).slice(2);
  const clip = node('clipPath', { id }, node('defs', {}, svg));
  node('rect', { x: left, y: top, width: W - left - right, height: H - top - bottom }, clip);
  const layer = node('g', { 'clip-path': `url(#${id})` }, svg);
  node('rect', { x: left, y: top, width: W - left - right, height: H - top - bottom, fill: 'none', stroke: colour('line') }, svg);
  return { layer, x, y, left, right: W - right, top, bottom: H - bottom };
}
function padded(low, high, share = 0.06) {
  if (!(low < high)) { const d = Math.abs(low) * 0.1 || 1; return [low - d, high + d]; }
  const room = (high - low) * share;
  return [low - room, high + room];
}
/// Index of the first time that is not before t.
function at(t) {
  let low = 0, high = DATA.time.t.length;
  while (low < high) { const middle = (low + high) >> 1; DATA.time.t[middle] < t ? low = middle + 1 : high = middle; }
  return low;
}
function drawTime(plot) {
  const { spec, svg } = plot, t = DATA.time.t;
  const from = Math.max(0, at(view[0]) - 1), to = Math.min(t.length, at(view[1]) + 1);
  let low = Infinity, high = -Infinity;
  for (const s of spec.series) for (let i = from; i < to; i++) {
    if (s.lo[i] < low) low = s.lo[i];
    const top = (s.hi || s.lo)[i];
    if (top > high) high = top;
  }
  if (!isFinite(low)) { low = 0; high = 1; }
  const shown = spec.log ? v => Math.log10(Math.max(v, LEAST)) : v => v;
  if (spec.limit) high = Math.max(high, spec.limit);
  const f = frame(svg, { x: 'time / s', y: spec.y, yLog: spec.log }, view, padded(shown(low), shown(high)), [1130, spec.height || 230]);
  if (spec.limit) node('line', { x1: f.left, x2: f.right, y1: f.y(shown(spec.limit)), y2: f.y(shown(spec.limit)), stroke: colour('soft'), 'stroke-dasharray': '6 4' }, f.layer);
  for (const event of DATA.events) if (event.level > 2 && event.t >= view[0] && event.t <= view[1]) {
    const mark = node('line', { x1: f.x(event.t), x2: f.x(event.t), y1: f.top, y2: f.bottom, stroke: colour('warn'), 'stroke-dasharray': '3 3' }, f.layer);
    node('title', {}, mark, event.text);
  }
  for (const s of spec.series) {
    let path = '';
    for (let i = from; i < to; i++) {
      const x = f.x(t[i]).toFixed(1);
      path += `${path ? 'L' : 'M'}${x} ${f.y(shown(s.lo[i])).toFixed(1)}`;
      if (s.hi && s.hi[i] !== s.lo[i]) path += `L${x} ${f.y(shown(s.hi[i])).toFixed(1)}`;
    }
    node('path', { d: path, fill: 'none', stroke: colour(s.colour), 'stroke-width': s.dash ? 1.8 : 1.2, 'stroke-linejoin': 'round', 'stroke-dasharray': s.dash ? '5 5' : 'none' }, f.layer);
  }
  plot.frame = f;
}
function redraw() { timePlots.forEach(drawTime); }
function zoomable(plot) {
  const { svg } = plot;
  const timeOf = event => {
    const box = svg.getBoundingClientRect(), f = plot.frame, scale = svg.viewBox.baseVal.width / box.width;
    const u = ((event.clientX - box.left) * scale - f.left) / (f.right - f.left);
    return view[0] + Math.min(1, Math.max(0, u)) * (view[1] - view[0]);
  };
  let start = null, band = null;
  svg.addEventListener('pointerdown', event => { start = timeOf(event); svg.setPointerCapture(event.pointerId); });
  svg.addEventListener('pointermove', event => {
    if (start === null) return;
    const now = timeOf(event), f = plot.frame;
    if (!band) band = node('rect', { y: f.top, height: f.bottom - f.top, fill: colour('a'), opacity: 0.15 }, svg);
    band.setAttribute('x', f.x(Math.min(start, now)));
    band.setAttribute('width', Math.abs(f.x(now) - f.x(start)));
  });
  svg.addEventListener('pointerup', event => {
    const now = timeOf(event), range = [Math.min(start, now), Math.max(start, now)];
    if (band && range[1] - range[0] > (full[1] - full[0]) * 1e-4) { view = range; redraw(); }
    if (band) band.remove();
    start = band = null;
  });
  svg.addEventListener('dblclick', () => { view = full.slice(); redraw(); });
  svg.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const centre = timeOf(event), factor = event.deltaY > 0 ? 1.25 : 0.8;
    view = [Math.max(full[0], centre - (centre - view[0]) * factor), Math.min(full[1], centre + (view[1] - centre) * factor)];
    redraw();
  }, { passive: false });
}
function drawScatter(svg, spec) {
  const f = frame(svg, spec, spec.xRange, spec.yRange, [560, spec.height || 400]);
  for (const line of spec.lines || []) node('path', { d: 'M' + line.points.map(p => f.x(p[0]).toFixed(1) + ' ' + f.y(p[1]).toFixed(1)).join('L'), fill: 'none', stroke: colour(line.colour), 'stroke-width': 1.5, 'stroke-dasharray': line.dash ? '6 4' : 'none' }, f.layer);
  let path = '';
  for (const [px, py] of spec.points || []) path += `M${f.x(px).toFixed(1)} ${f.y(py).toFixed(1)}h0`;
  if (path) node('path', { d: path, stroke: colour(spec.colour), 'stroke-width': 3, 'stroke-linecap': 'round', opacity: 0.35, fill: 'none' }, f.layer);
}
function drawBars(svg, spec) {
  let low = Infinity, high = -Infinity, most = 1;
  for (const s of spec.series) for (const [a, b, n] of s.bars) { low = Math.min(low, a); high = Math.max(high, b); most = Math.max(most, n); }
  const f = frame(svg, { ...spec, xLog: true, yLog: true }, [Math.floor(low), Math.ceil(high)], [-0.3, Math.log10(most) + 0.3], [560, spec.height || 300]);
  for (const s of spec.series) for (const [a, b, n] of s.bars) {
    const top = f.y(Math.log10(n));
    node('rect', { x: f.x(a), width: Math.max(0.5, f.x(b) - f.x(a) - 0.5), y: top, height: f.bottom - top, fill: colour(s.colour), opacity: 0.55 }, f.layer);
  }
}
function drawSpectrum(svg, spec) {
  const high = Math.max(...spec.points.map(p => p[1])), low = Math.max(high - 5, Math.min(...spec.points.map(p => p[1])));
  const f = frame(svg, { ...spec, xLog: true, yLog: true }, [Math.log10(0.5), Math.log10(500)], [low, high + 0.3], [560, 300]);
  node('path', { d: 'M' + spec.points.map(p => f.x(p[0]).toFixed(1) + ' ' + f.y(Math.max(p[1], low)).toFixed(1)).join('L'), fill: 'none', stroke: colour(spec.colour), 'stroke-width': 1.3 }, f.layer);
  for (const [hz, level, text] of spec.peaks) {
    node('circle', { cx: f.x(hz), cy: f.y(level), r: 3.5, fill: colour('b') }, f.layer);
    node('text', { x: f.x(hz) + 6, y: f.y(level) + 1, fill: colour('ink') }, f.layer, text);
  }
}
function drawMap(svg, spec) {
  const [W, H] = [560, 400], [x0, y0, x1, y1] = spec.bounds;
  const scale = Math.min((W - 78) / (x1 - x0), (H - 50) / (y1 - y0));
  const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2, w = (W - 78) / scale / 2, h = (H - 50) / scale / 2;
  const f = frame(svg, spec, [cx - w, cx + w], [cy - h, cy + h], [W, H]);
  const draw = (points, attributes) => node('path', { d: 'M' + points.map(p => f.x(p[0]).toFixed(1) + ' ' + f.y(p[1]).toFixed(1)).join('L') + (attributes.fill === 'none' ? '' : 'Z'), ...attributes }, f.layer);
  for (const body of spec.bodies) draw(body.points, { fill: body.colour, stroke: body.colour, 'stroke-width': 0.6, opacity: body.fixed ? 0.9 : 0.55 });
  draw(spec.hand, { fill: 'none', stroke: colour('a'), 'stroke-width': 1.1, opacity: 0.8 });
  draw(spec.tool, { fill: 'none', stroke: colour('b'), 'stroke-width': 1.1, opacity: 0.8 });
}
function legend(entries) { return entries.map(e => `<span><i class="${e.kind || ''}" style="background:var(--${e.colour})"></i>${e.name}</span>`).join(''); }
function figure(spec, draw) {
  const element = document.createElement('figure');
  if (spec.half) element.className = 'half';
  element.innerHTML = `<header><h2>${spec.title}</h2><div class="legend">${legend(spec.legend)}</div><button title="Save this plot as an SVG file">SVG</button></header><svg role="img" aria-label="${spec.title}"></svg><figcaption>${spec.caption}</figcaption>`;
  const svg = element.querySelector('svg');
  element.querySelector('button').onclick = () => save(svg, spec);
  document.querySelector('.plots').appendChild(element);
  draw(svg);
  return svg;
}
/// A file of its own: with title and legend, since they are not inside the plot on the page.
function save(svg, spec) {
  const copy = svg.cloneNode(true), [, , W, H] = svg.getAttribute('viewBox').split(' ').map(Number), room = 30;
  copy.setAttribute('xmlns', NS);
  copy.setAttribute('viewBox', `0 ${-room} ${W} ${H + room}`);
  copy.setAttribute('width', W);
  copy.setAttribute('height', H + room);
  node('rect', { x: 0, y: -room, width: W, height: room, fill: colour('paper') }, copy);
  node('text', { x: 14, y: -10, fill: colour('ink'), 'font-size': 14, 'font-weight': 600 }, copy, spec.title);
  let at = W - 14;
  for (const entry of spec.legend.slice().reverse()) {
    const name = entry.name.replace(/<[^>]*>/g, '');
    node('text', { x: at, y: -10, 'text-anchor': 'end', fill: colour('soft') }, copy, name);
    at -= name.length * 6.6 + 10;
    node('rect', { x: at - 10, y: -17, width: 12, height: 4, fill: colour(entry.colour) }, copy);
    at -= 22;
  }
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' }));
  link.download = spec.title.toLowerCase().replace(/[^a-z]+/g, '-') + '.svg';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function build() {
  document.querySelector('.plots').replaceChildren();
  timePlots.length = 0;
  for (const spec of DATA.plots) {
    if (spec.kind === 'time') {
      figure(spec, svg => { const plot = { spec, svg }; timePlots.push(plot); drawTime(plot); zoomable(plot); });
    } else {
      const draw = { scatter: drawScatter, bars: drawBars, spectrum: drawSpectrum, map: drawMap }[spec.kind];
      figure(spec, svg => draw(svg, spec));
    }
  }
}
build();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', build);
const copy = document.querySelector('#copy');
if (copy) copy.onclick = () => navigator.clipboard.writeText(document.querySelector('#paper').textContent.trim()).then(() => { copy.textContent = 'copied'; });
