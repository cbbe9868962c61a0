"use strict";
// Figures as data: what the page holds of each, and its numbers as a table, which is made when a reader opens it.
window.flashweir = window.flashweir || {};
(() => {
  flashweir.figure = (plot) => {
    const held = document.getElementById(`${plot.id}-data`);
    return JSON.parse(held.dataset.size ? flashweir.unpacked(held) : held.textContent);
  };
  // The same without its values, where those are packed.
  flashweir.outline = (plot) => {
    const { outline } = document.getElementById(`${plot.id}-data`).dataset;
    return outline ? JSON.parse(outline) : flashweir.figure(plot);
  };
  flashweir.values = values;

  function values(plot) {
    const details = document.createElement("details");
    details.className = "values";
    const summary = document.createElement("summary");
    summary.textContent = "Values";
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector("table")) details.append(tabled(plot));
    }, { once: true });
    plot.after(details);
  }

  const ROWS = 500;
  function tabled(plot) {
    const { data, layout } = flashweir.figure(plot);
    const table = document.createElement("table");
    table.createCaption().textContent = plot.getAttribute("aria-label");
    const row = (cells, tag) => {
      const line = table.insertRow();
      for (const cell of cells) {
        const made = document.createElement(tag);
        if (tag === "th") made.scope = "col";
        made.textContent = plain(cell);
        line.append(made);
      }
    };
    const called = (axis) => (axis ? plain(axis.title.text) : "");
    const place = (axis, value) => {
      const at = axis && axis.ticktext ? axis.tickvals.findIndex((tick) => Math.abs(tick - value) < 0.5 && Number.isInteger(tick)) : -1;
      return at < 0 || layout.meta.ticks.length === 0 ? value : axis.ticktext[at];
    };
    const { xaxis, yaxis } = layout;
    if (data[0] && data[0].type === "heatmap") {
      row(["", ...(xaxis.ticktext || data[0].x || [])], "th");
      data[0].z.slice(0, ROWS).forEach((line, at) => row([yaxis.ticktext[at],
        ...line.map((value, column) => (data[0].customdata?.[at]?.[column]?.[2] ?? value))], "td"));
      return table;
    }
    const three = !!layout.scene;
    const axes = three ? [layout.scene.xaxis, layout.scene.yaxis, layout.scene.zaxis] : [xaxis, yaxis];
    row(["", ...axes.map(called)], "th");
    let left = ROWS;
    for (const trace of data) {
      if (trace.hoverinfo === "skip" || !trace.x) continue;
      trace.x.slice(0, Math.max(0, left)).forEach((x, at) => {
        const y = trace.y[at];
        row([trace.name || "", place(xaxis, x), place(yaxis, y), ...(three ? [trace.z[at]] : [])], "td");
      });
      left -= trace.x.length;
    }
    if (left < 0) row([`The first ${ROWS} of ${ROWS - left} values.`], "td");
    return table;
  }

  // A text as plotly has it, without its entities.
  function plain(value) {
    if (value === null || value === undefined) return "-";
    const holder = new DOMParser().parseFromString(String(value).replaceAll("<br>", " "), "text/html");
    return holder.body.textContent;
  }
})();
