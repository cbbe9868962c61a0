"use strict";
// Draws each figure when it comes near the window, again when colours change, and all of them for printing.
(() => {
  const PRINT_WIDTH = 680; // A4 and Letter less margins, in CSS pixels
  const NARROW = 520;
  const BESIDE = 90; // of a figure's height: what is above and below its plot, without a legend
  const SLACK = 16; // of a plot's height: it grows when legend and marks take more than this of it
  const root = document.documentElement;
  const darkMode = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)");
  const plots = [...document.querySelectorAll(".plot")];
  const drawn = new Map(); // plot -> its figure as it came, with heights as drawn

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  // Layout of every figure: fonts and colours, which change between light and dark.
  function template() {
    const [text, quiet, line, grid, page, raised] = ["text", "quiet", "line", "grid", "page", "raised"].map(colour);
    const { fontFamily: family } = getComputedStyle(document.body);
    const title = { font: { size: 13, color: quiet }, standoff: 8 };
    const axis = {
      gridcolor: grid, linecolor: line, zerolinecolor: line, tickcolor: line, showline: true, ticks: "outside",
      ticklen: 4, tickfont: { size: 12, color: text }, title, automargin: true, separatethousands: true,
      exponentformat: "SI", minexponent: 6, zerolinewidth: 1,
    };
    const spatial = { ...axis, showline: false, ticks: "", backgroundcolor: page, automargin: undefined,
      tickfont: { size: 11, color: text }, title: { font: { size: 12, color: quiet } } };
    const bar = { tickfont: { size: 12, color: text }, outlinewidth: 0, title, separatethousands: true };
    return {
      data: { heatmap: [{ colorbar: bar }] },
      layout: {
        font: { family, size: 13, color: text },
        paper_bgcolor: page, plot_bgcolor: page, xaxis: axis, yaxis: axis,
        scene: { bgcolor: page, xaxis: spatial, yaxis: spatial, zaxis: spatial },
        legend: { font: { size: 13, color: text }, bgcolor: "rgba(0,0,0,0)" },
        hoverlabel: { bgcolor: raised, bordercolor: line, align: "left", font: { family, size: 13, color: text } },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: quiet, activecolor: text },
      },
    };
  }

  // Names that would run into one another: every second, third, ... is left out.
  function thin(axis, room, each) {
    const every = Math.ceil((axis.tickvals.length * each) / room);
    if (every > 1) {
      axis.tickvals = axis.tickvals.filter((_, index) => index % every === 0);
      axis.ticktext = axis.ticktext.filter((_, index) => index % every === 0);
    }
  }

  // The figure of a plot for its width and for the colours of now.
  function prepared(plot, width, { data, layout } = flashweir.figure(plot)) {
    // Idle time is as quiet as the page is light or dark.
    for (const { marker = {}, colorscale = [] } of data) {
      if (marker.color === plot.dataset.idle) marker.color = colour("idle");
      for (const step of colorscale) if (step[1] === plot.dataset.idle) step[1] = colour("idle");
    }
    const narrow = width < NARROW;
    const title = layout.title;
    delete layout.title;
    Object.assign(layout, {
      template: template(), width, uirevision: "keep", hovermode: "closest",
      dragmode: coarse.matches ? false : "zoom",
      margin: { l: 12, r: 12, t: 30, b: 12 },
    });
    layout.legend = { ...layout.legend, orientation: "h", xref: "container", x: 0, xanchor: "left", yref: "container", y: 0,
      yanchor: "bottom", maxheight: 4000, itemsizing: "trace" };
    for (const name of (layout.meta || {}).ticks || []) {
      if (name === "xaxis") thin(layout.xaxis, width - 90, 20);
      else thin(layout.yaxis, layout.height - 110, 15);
    }
    if (layout.scene) {
      // Three dimensions have no axes at their sides. On a narrow page the eye steps back, so that all of it is seen.
      if (narrow) for (const along of ["x", "y", "z"]) layout.scene.camera.eye[along] *= 1.6;
      layout.height = Math.min(layout.height, Math.max(360, width));
      layout.margin = { l: 0, r: 0, t: 30, b: 0 };
      return { data, layout, title };
    }
    for (const axis of [layout.xaxis, layout.yaxis]) {
      if (!narrow || !axis.ticktext) continue;
      const texts = axis.ticktext.map((text) => shortened(text, 16));
      if (new Set(texts).size === new Set(axis.ticktext).size) axis.ticktext = texts;
    }
    layout.xaxis.title.text = broken(layout.xaxis.title.text, Math.floor((width - 90) / 7), " ");
    layout.yaxis.title.text = broken(layout.yaxis.title.text, Math.floor((layout.height - 90) / 7), " ");
    for (const trace of data) if (trace.name) trace.name = broken(trace.name, Math.floor((width - 80) / 8));
    const heat = data.find((trace) => trace.colorbar);
    if (heat) {
      const columns = heat.z.length ? heat.z[0].length : 1;
      if ((width - 150) / columns < 40) data.splice(1);
      if (narrow) {
        layout.xaxis.title.text += `<br>${broken(`colour: ${heat.colorbar.title.text}`, Math.floor((width - 90) / 7), " ")}`;
        Object.assign(heat.colorbar, { orientation: "h", x: 0.5, xanchor: "center", len: 1, xpad: 0,
          yref: "container", y: 0, yanchor: "bottom", title: { text: "" } });
      }
    }
    return { data, layout, title };
  }

  const characters = (text) => text.match(/&(?:#\d+|\w+);|[^]/gu) || [];

  // The whole name in lines, broken behind commas where there are any: a part of it might be another one's too.
  function broken(text, longest, separator = ", ") {
    const lines = [[]];
    for (const part of text.split(separator).map((part, at, all) => part + (at < all.length - 1 ? separator : ""))) {
      let rest = characters(part);
      if (lines.at(-1).length + rest.length > longest + 1 && lines.at(-1).length) lines.push([]);
      for (; rest.length > longest + 1; rest = rest.slice(longest)) lines.splice(-1, 1, rest.slice(0, longest), []);
      lines.at(-1).push(...rest);
    }
    return lines.map((line) => line.join("")).join("<br>");
  }

  // Leaves out what comes before the last characters; an entity counts as the one character that it stands for.
  function shortened(text, longest) {
    const all = characters(text);
    if (all.length <= longest) return text;
    const end = Math.floor(longest / 3);
    return `${all.slice(0, Math.max(1, Math.floor(longest) - end - 1)).join("")}…${all.slice(-end).join("")}`;
  }

  function save(plot, format) {
    const { title, layout } = drawn.get(plot);
    const data = plot.data;
    const size = { width: layout.width, height: plot.layout.height + 30 };
    const titled = { ...plot.layout, title: { ...title, font: { size: 16 } }, ...size };
    titled.margin = { ...titled.margin, t: 64 };
    Plotly.downloadImage({ data, layout: titled }, { format, filename: plot.parentElement.id, scale: 2, ...size });
  }

  function config(plot) {
    const icon = Plotly.Icons.camera;
    const own = ["png", "svg"].map((format) => ({ name: format, title: `Save as ${format.toUpperCase()}`,
      icon: format === "svg" ? Plotly.Icons.disk : icon, click: () => save(plot, format) }));
    const zoom = coarse.matches ? ["zoomIn2d", "zoomOut2d", "resetScale2d"] : ["zoom2d", "pan2d", "resetScale2d"];
    const spatial = ["orbitRotation", "zoom3d", "pan3d", "resetCameraDefault3d"];
    return { displaylogo: false, responsive: false, scrollZoom: false, showAxisDragHandles: false, typesetMath: false,
      showTips: false, doubleClick: "reset", displayModeBar: coarse.matches ? true : "hover",
      modeBarButtons: [drawn.get(plot).layout.scene ? spatial : zoom, own] };
  }

  // Draws or draws again. Legend, names and marks may take more room than was guessed: the figure then grows by it.
  function draw(plot, width = plot.clientWidth) {
    try {
      attempt(plot, width);
    } catch (error) {
      // One figure that fails keeps no other from being drawn.
      console.error(error);
      unable(plot, `This figure could not be drawn: ${error.message}`);
    }
  }

  // A figure that can't be drawn leaves the picture that the page has of it.
  function unable(plot, reason) {
    if (plot.querySelector(".unable")) return;
    const said = document.createElement("p");
    said.className = "note unable";
    said.textContent = reason;
    plot.append(said);
    Object.assign(plot.style, { height: "", minHeight: "0" });
  }

  let spatial = null;
  function webgl() {
    if (spatial === null) spatial = !!document.createElement("canvas").getContext("webgl");
    return spatial;
  }

  // Buttons and names in the legend can be reached and pressed by keys.
  function reachable(plot) {
    const pressed = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      const { clientX, clientY } = event;
      for (const type of ["mousedown", "mouseup", "click"]) {
        event.currentTarget.dispatchEvent(new MouseEvent(type, { bubbles: true, clientX, clientY }));
      }
    };
    // The group around them has the description; of the drawings only the buttons are announced.
    for (const drawing of plot.querySelectorAll("svg")) drawing.setAttribute("role", "presentation");
    document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
    for (const button of plot.querySelectorAll(".modebar-btn, .legendtoggle")) {
      if (button.getAttribute("role") === "button" && button.tabIndex === 0) continue;
      const name = button.dataset.title || button.parentElement.querySelector(".legendtext")?.textContent;
      button.setAttribute("role", "button");
      button.setAttribute("tabindex", "0");
      button.setAttribute("aria-label", button.dataset.title ? name : `Show or hide ${name}`);
      button.addEventListener("keydown", pressed);
    }
  }

  function attempt(plot, width) {
    const figure = prepared(plot, width);
    if (figure.layout.scene && !webgl()) {
      drawn.delete(plot);
      unable(plot, "This browser has no WebGL, so the points can't be turned round.");
      return;
    }
    const still = plot.querySelector(".still");
    if (still) still.remove();
    const height = figure.layout.height;
    figure.layout.height = needed(figure, width);
    (plot.data || []).forEach((trace, index) => {
      if (trace.visible !== undefined && figure.data[index]) figure.data[index].visible = trace.visible;
    });
    drawn.set(plot, figure);
    Plotly.react(plot, figure.data, figure.layout, config(plot));
    const missing = Math.round(height - BESIDE - plot._fullLayout._size.h);
    if (missing > SLACK) Plotly.relayout(plot, { height: figure.layout.height + missing });
    Object.assign(plot.style, { height: "", minHeight: "0" });
    marks(plot);
    if (!plot.dataset.drawn) {
      plot.on("plotly_relayout", () => marks(plot));
      plot.on("plotly_afterplot", () => reachable(plot));
    }
    reachable(plot);
    plot.dataset.drawn = "yes";
  }

  // Marks that were chosen for all of a log axis are wrong for a part of it: plotly chooses them there.
  function marks(plot) {
    for (const name of (plot.layout.meta || {}).log || []) {
      const { autorange, range } = plot.layout[name];
      const ends = (plot.layout.meta.whole || {})[name];
      const whole = ends ? ends.every((end, at) => Math.abs(end - range[at]) < 1e-6) : autorange !== false;
      const mode = whole ? "array" : "auto";
      if (plot.layout[name].tickmode !== mode) Plotly.relayout(plot, { [`${name}.tickmode`]: mode, [`${name}.dtick`]: null });
    }
  }

  // Height of a figure with its legend, turned marks and the further lines of a title, known before it is drawn.
  function needed({ data, layout }, width) {
    const { height, xaxis, yaxis } = layout;
    if (layout.scene) return height;
    const longest = (axis) => Math.max(0, ...(axis.ticktext || []).map((text) => characters(text).length));
    const room = width - 60 - 7 * longest(yaxis);
    const each = room / (xaxis.ticktext || [0]).length;
    const marks = longest(xaxis);
    const turned = 7 * marks + 8 < each ? 0 : each > 28 ? 3.5 * marks : 7 * marks - 12;
    const lines = xaxis.title.text.split("<br>").length - 1;
    const bar = data.some((trace) => trace.colorbar?.orientation === "h") ? 42 : 0;
    return Math.ceil(height + legendGuess(data, layout, room) + turned + 17 * lines + bar);
  }

  // Takes the room of a figure that is not drawn yet: what lies below it stays where it is.
  function reserve(plot) {
    const width = plot.clientWidth;
    if (!width || drawn.has(plot)) return;
    try {
      const figure = prepared(plot, width, flashweir.outline(plot));
      if (!figure.layout.scene || webgl()) {
        Object.assign(plot.style, { height: `${needed(figure, width)}px`, minHeight: "0" });
      }
    } catch {
      // Drawing it will say why.
    }
  }

  // No less than what the legend will need: plotly refuses a plot of which the legend leaves nothing.
  function legendGuess(data, layout, room) {
    if (!layout.showlegend) return 0;
    const names = data.filter((trace) => trace.showlegend !== false && trace.name).map((trace) => trace.name.split("<br>"));
    const columns = Math.max(1, Math.floor(room / (50 + 8 * Math.max(0, ...names.flat().map((line) => line.length)))));
    let height = 4;
    for (let at = 0; at < names.length; at += columns) {
      height += 20 * Math.max(...names.slice(at, at + columns).map((lines) => lines.length));
    }
    return height;
  }

  const redraw = (width) => drawn.forEach((_, plot) => draw(plot, width));

  // Figures: when they come near, when colours change, when the window's width does, and for printing.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      if (!drawn.has(entry.target)) draw(entry.target);
    }
  }, { rootMargin: "600px 0px" });
  darkMode.addEventListener("change", () => redraw());

  let printing = false;
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (printing) return;
      plots.forEach(reserve);
      drawn.forEach((figure, plot) => { if (figure.layout.width !== plot.clientWidth) draw(plot); });
    }, 150);
  });
  addEventListener("beforeprint", () => {
    printing = true;
    root.setAttribute("data-print", "");
    plots.forEach((plot) => draw(plot, PRINT_WIDTH));
  });
  addEventListener("afterprint", () => {
    printing = false;
    root.removeAttribute("data-print");
    redraw();
  });

  // Figures of one group take one place: a list chooses the one that is shown. Paper has them all.
  const groups = new Map();
  for (const figure of document.querySelectorAll("figure[data-group]")) {
    const { group } = figure.dataset;
    groups.set(group, [...(groups.get(group) || []), figure]);
  }
  for (const figures of groups.values()) {
    const choose = (at) => {
      figures.forEach((figure, place) => { figure.hidden = place !== at; });
      reserve(figures[at].querySelector(".plot"));
      figures[at].querySelector("select").focus();
    };
    figures.forEach((figure, at) => {
      const label = document.createElement("label");
      label.className = "choice";
      const select = document.createElement("select");
      for (const [place, other] of figures.entries()) select.add(new Option(other.dataset.facet, place, false, place === at));
      select.addEventListener("change", () => { const to = Number(select.value); select.value = at; choose(to); });
      label.append("Shown: ", select);
      figure.querySelector("figcaption").after(label);
      figure.hidden = at > 0;
    });
  }

  plots.forEach((plot) => { flashweir.values(plot); reserve(plot); near.observe(plot); });

  // Rows that are shown as blocks are still rows for those who hear them.
  const cards = matchMedia("(max-width: 640px)");
  function roles() {
    for (const table of document.querySelectorAll(".cards table")) {
      const set = (element, role) => (cards.matches ? element.setAttribute("role", role) : element.removeAttribute("role"));
      set(table, "table");
      for (const body of [table.tHead, ...table.tBodies]) set(body, "rowgroup");
      for (const row of table.rows) {
        set(row, "row");
        const head = row.parentElement === table.tHead;
        [...row.cells].forEach((cell, at) => set(cell, head ? "columnheader" : at ? "cell" : "rowheader"));
      }
    }
  }
  cards.addEventListener("change", roles);
  if (cards.matches) roles();

  // Tables: a click on a heading sorts, another one turns the order round; what is empty stays at the end.
  const SHOWN = 200;
  const key = (cell) => {
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.textContent.trim();
  };
  const empty = (value) => value === "" || value === "-" || Number.isNaN(value);
  function compare(left, right) {
    if (typeof left === "number" && typeof right === "number") return left - right;
    return String(left).localeCompare(String(right), "en", { numeric: true });
  }
  function sort(heading) {
    const table = heading.closest("table");
    const descending = heading.getAttribute("aria-sort") === "ascending";
    const bodies = [...table.tBodies];
    const rows = bodies.flatMap((body) => [...body.rows]);
    const keyed = rows.map((row) => ({ row, value: key(row.cells[heading.cellIndex]) }));
    keyed.sort((left, right) => {
      if (empty(left.value) || empty(right.value)) return Number(empty(left.value)) - Number(empty(right.value));
      return descending ? compare(right.value, left.value) : compare(left.value, right.value);
    });
    for (const other of heading.parentElement.cells) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    keyed.forEach(({ row }, index) => bodies[bodies.length > 1 && index >= SHOWN ? 1 : 0].append(row));
  }
  for (const button of document.querySelectorAll("th button")) {
    button.addEventListener("click", () => sort(button.closest("th")));
  }
  for (const button of document.querySelectorAll("button.more")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const rest = document.getElementById(button.getAttribute("aria-controls"));
      rest.hidden = !rest.hidden;
      button.setAttribute("aria-expanded", String(!rest.hidden));
      button.textContent = rest.hidden ? button.dataset.all : button.dataset.few;
    });
  }
})();
