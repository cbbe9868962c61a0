// Curves on a canvas: a few series over simulated time, drawn anew for each set of points.
"use strict";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A canvas whose pixels are those of the screen: its context, width and height in CSS pixels. */
function sized(canvas, height) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.style.height = `${height}px`;
    [canvas.width, canvas.height] = [wide, high];
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return {pen, width, height};
}

/** A number in three digits, with a suffix of thousands. */
function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  for (const [size, suffix] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(value) >= size) return `${Number((value / (suffix === "k" ? 1e3 : size)).toPrecision(3))}${suffix}`;
  }
  return String(Number(value.toPrecision(3)));
}

/** A simulated time in seconds, in the unit that suits it. */
function time(seconds) {
  if (seconds < 1e-3) return `${short(seconds * 1e6)} us`;
  if (seconds < 1) return `${short(seconds * 1e3)} ms`;
  if (seconds < 600) return `${Number(seconds.toFixed(3))} s`;
  return seconds < 36000 ? `${short(seconds / 60)} min` : `${short(seconds / 3600)} h`;
}

/** Places of lines behind a curve, from 0 or over decades. */
function ticks(low, high, log) {
  if (log) {
    const found = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); decade += 1) {
      found.push(10 ** decade);
    }
    return found.filter((tick) => tick >= low && tick <= high);
  }
  const step = 10 ** Math.floor(Math.log10((high - low) || 1));
  const width = [0.2, 0.5, 1, 2].map((part) => part * step).find((part) => (high - low) / part <= 5) ?? step;
  return Array.from({length: Math.floor((high - low) / width + 1e-9) + 1}, (_, at) => low + at * width);
}

/** Range of all values that a chart shows. */
function span(chart, points) {
  const values = points.flatMap((point) => chart.series.map((one) => point[one.key]))
    .filter((value) => value !== null && value !== undefined && (!chart.log || value > 0));
  if (!values.length) return chart.log ? [1, 10] : [0, 1];
  const high = values.reduce((most, value) => Math.max(most, value)), low = values.reduce((least, value) => Math.min(least, value));
  if (chart.log) return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high * 1.01))];
  return [0, chart.most ?? (high > 0 ? high * 1.08 : 1)];
}

function drawAxes(area, chart, low, high, y) {
  const {pen, left, right, bottom} = area;
  pen.strokeStyle = colour("line");
  pen.fillStyle = colour("quiet");
  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const tick of ticks(low, high, chart.log)) {
    pen.beginPath();
    pen.moveTo(left, y(tick));
    pen.lineTo(right, y(tick));
    pen.stroke();
    pen.fillText(chart.percent ? `${Math.round(tick * 100)} %` : short(tick), left - 6, y(tick));
  }
  pen.textBaseline = "top";
  pen.textAlign = "left";
  pen.fillText(time(area.from), left, bottom + 5);
  pen.textAlign = "right";
  pen.fillText(time(area.to), right, bottom + 5);
}

/** Draws a chart; `at` marks a time. */
function drawChart(canvas, chart, points, at = null) {
  const {pen, width, height} = sized(canvas, 150);
  const [left, right, top, bottom] = [54, width - 6, 8, height - 22];
  const first = points[0], last = points.at(-1);
  const from = first ? first.time_s - first.elapsed_s : 0, to = last ? last.time_s : 1;
  const [low, high] = span(chart, points);
  const part = (value) => chart.log ? Math.log10(value / low) / Math.log10(high / low) : (value - low) / (high - low);
  const y = (value) => bottom - (bottom - top) * part(value);
  const x = (seconds) => left + (right - left) * (seconds - from) / ((to - from) || 1);
  drawAxes({pen, left, right, bottom, from, to}, chart, low, high, y);
  for (const one of chart.series) {
    pen.strokeStyle = pen.fillStyle = colour(one.colour);
    pen.lineWidth = 1.6;
    pen.setLineDash(one.dash ?? []);
    pen.beginPath();
    let open = false;
    for (const point of points) {
      const value = point[one.key];
      if (value === null || value === undefined || (chart.log && value <= 0)) {
        open = false;
        continue;
      }
      const place = [x(point.time_s - point.elapsed_s / 2), y(value)];
      if (open) pen.lineTo(...place); else pen.moveTo(...place);
      if (points.length < 3) pen.fillRect(place[0] - 2, place[1] - 2, 4, 4);
      open = true;
    }
    pen.stroke();
  }
  pen.setLineDash([]);
  pen.lineWidth = 1;
  if (at !== null) {
    pen.strokeStyle = colour("text");
    pen.beginPath();
    pen.moveTo(x(at), top);
    pen.lineTo(x(at), bottom);
    pen.stroke();
  }
}
