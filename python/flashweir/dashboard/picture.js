// The moving picture of a drive: what each die does, and what its blocks hold.
"use strict";

const WORK = {
  read: ["read", "host reads"],
  program: ["program", "host programs, destaging"],
  copy: ["copy", "collection moves pages"],
  erase: ["erase", "erases"],
  mapping: ["mapping", "mapping"],
  transfer: ["transfer", "data on the bus"],
  host: ["program", "host"],
  collection: ["copy", "collection"],
  idle: ["idle", "idle"],
};
// Cividis of Nunez, Anderton and Renslow (2018), from low to high.
const HEAT = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];

const percent = (share) => `${Math.round(share * 100)} %`;

function heat(share) {
  const place = Math.min(Math.max(share, 0), 1) * (HEAT.length - 1), at = Math.min(Math.floor(place), HEAT.length - 2);
  const mix = (part) => Math.round(HEAT[at][part] + (HEAT[at + 1][part] - HEAT[at][part]) * (place - at));
  return `rgb(${mix(0)}, ${mix(1)}, ${mix(2)})`;
}

function legend(list, entries) {
  const key = JSON.stringify(entries);
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  list.replaceChildren(...entries.map(([paint, words, wide]) => {
    const item = document.createElement("li"), box = document.createElement("i");
    box.style.background = paint;
    if (wide) item.className = "wide";
    item.append(box, words);
    return item;
  }));
}

/** A table of figures: heads, and rows whose first cell is a head. */
function table(place, heads, rows, caption) {
  const found = document.createElement("table"), top = document.createElement("tr");
  const cell = (kind, text, scope) => {
    const one = document.createElement(kind);
    one.textContent = text;
    if (scope) one.scope = scope;
    return one;
  };
  found.ariaLabel = caption;
  top.append(...heads.map((head) => cell("th", head, "col")));
  found.createTHead().append(top);
  const body = found.createTBody();
  for (const [head, ...cells] of rows) {
    const row = body.insertRow();
    row.append(cell("th", head, "row"), ...cells.map((text) => cell("td", text)));
  }
  place.replaceChildren(found);
}

/** Mean shares of some dies, by kind of work. */
function mean(rows, kinds) {
  return kinds.map((_, at) => rows.reduce((sum, row) => sum + row[at], 0) / Math.max(rows.length, 1));
}

/** Rows of dies, channel by channel: one list where dies of several channels are joined. */
function channelsOf(frame) {
  const {channels, per_channel: dies, dies_per_row: joined, shares} = frame.dies;
  if (joined > 1) return [{name: "all channels", rows: shares, bus: null}];
  return Array.from({length: channels}, (_, at) => (
    {name: `channel ${at}`, rows: shares.slice(at * dies, (at + 1) * dies), bus: frame.buses[at] ?? 0}));
}

function drawDies(frame) {
  const canvas = document.getElementById("dies"), groups = channelsOf(frame), kinds = frame.dies.work;
  const most = Math.max(...groups.map((group) => group.rows.length), 1);
  const width = canvas.clientWidth, columns = Math.max(1, Math.min(groups.length, Math.floor(width / 150)));
  const box = width / columns, perLine = Math.max(1, Math.min(most, Math.floor((box - 12) / 12)));
  const lines = Math.ceil(most / perLine), high = most > 64 ? 18 : 44, line = high + 4;
  const block = 20 + lines * line + 12;
  const {pen} = sized(canvas, Math.ceil(groups.length / columns) * block);
  const paints = kinds.map((kind) => colour(WORK[kind][0])), idle = colour("idle");
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "top";
  groups.forEach((group, at) => {
    const left = (at % columns) * box, top = Math.floor(at / columns) * block;
    pen.fillStyle = colour("quiet");
    pen.fillText(group.name, left, top + 2);
    const wide = (box - 12) / perLine;
    group.rows.forEach((shares, die) => {
      const x = left + (die % perLine) * wide, y = top + 20 + Math.floor(die / perLine) * line;
      pen.fillStyle = idle;
      pen.fillRect(x, y, wide - 2, high);
      let base = y + high;
      shares.forEach((share, kind) => {
        pen.fillStyle = paints[kind];
        pen.fillRect(x, base - share * high, wide - 2, share * high);
        base -= share * high;
      });
    });
    if (group.bus !== null) {
      pen.fillStyle = idle;
      pen.fillRect(left, top + 20 + lines * line, box - 14, 5);
      pen.fillStyle = colour("transfer");
      pen.fillRect(left, top + 20 + lines * line, (box - 14) * group.bus, 5);
    }
  });
  wordDies(frame, groups, kinds);
}

function wordDies(frame, groups, kinds) {
  legend(document.getElementById("dies-legend"),
    [...kinds, "idle"].map((kind) => [colour(WORK[kind][0]), WORK[kind][1]]));
  const all = mean(frame.dies.shares, kinds), busy = all.reduce((sum, share) => sum + share, 0);
  const parts = kinds.map((kind, at) => `${WORK[kind][1]} ${percent(all[at])}`).join(", ");
  document.getElementById("dies-words").textContent =
    `All dies, over ${time(frame.elapsed_s)} of simulated time: ${parts}, idle ${percent(Math.max(0, 1 - busy))}.`;
  if (document.getElementById("dies-table").closest("details").open) {
    const rows = groups.map((group, at) => {
      const shares = mean(group.rows, kinds), left = 1 - shares.reduce((sum, share) => sum + share, 0);
      const free = group.bus === null ? null : frame.free_blocks[at];
      return [group.name, ...shares.map(percent), percent(Math.max(0, left)), group.bus === null ? "–" : percent(group.bus), short(free)];
    });
    const heads = ["channel", ...kinds.map((kind) => WORK[kind][1]), "idle", "bus", "free blocks"];
    table(document.getElementById("dies-table"), heads, rows, "Shares of the time of dies by channel");
  }
}

/** Contents of the map of blocks: a share of each cell (null: erased), and words for it. */
function cellsOf(blocks, wear) {
  if (!wear && blocks.valid) {
    return {rows: blocks.valid.map((row) => row.map((valid) => valid < 0 ? null : valid / 1000)), low: "stale", high: "all pages valid"};
  }
  if (!wear) {
    return {rows: blocks.used.map((row) => row.map((used) => used ? used / blocks.blocks_per_cell : null)), low: "", high: "used"};
  }
  const all = blocks.erases.flat(), least = Math.min(...all), most = Math.max(...all);
  const rows = blocks.erases.map((row) => row.map((erases) => most > least ? (erases - least) / (most - least) : 0));
  return {rows, low: `${short(least)} erases`, high: `${short(most)} erases`};
}

/** Columns of rows of cells, and the size of a cell: as large as cells can be where all of them are seen at once. */
function gridOf(rows, longest, width) {
  const fitted = (cell) => {
    const columns = Math.max(1, Math.min(rows, Math.floor(width / (longest * cell + 8)))), box = width / columns;
    const wide = Math.min(cell, (box - 8) / longest), tall = Math.max(6, Math.min(18, wide));
    return {columns, box, wide, tall, height: Math.ceil(rows / columns) * (tall + 3)};
  };
  return [24, 18, 14, 10].map(fitted).find((grid) => grid.height <= 260) ?? fitted(7);
}

function drawBlocks(frame) {
  const section = document.getElementById("blocks-section"), blocks = frame.blocks;
  section.hidden = !blocks || !blocks.erases.length;
  if (section.hidden) return;
  const wear = document.getElementById("blocks-show").value === "erases";
  const {rows, low, high} = cellsOf(blocks, wear), canvas = document.getElementById("blocks");
  const longest = Math.max(...rows.map((row) => row.length)), width = canvas.clientWidth;
  const {columns, box, wide, tall} = gridOf(rows.length, longest, width);
  const {pen} = sized(canvas, Math.ceil(rows.length / columns) * (tall + 3) + 2);
  const [free, open, line] = [colour("free"), colour("open"), colour("line")];
  rows.forEach((row, at) => {
    const left = (at % columns) * box, top = Math.floor(at / columns) * (tall + 3) + 1;
    row.forEach((share, cell) => {
      const x = left + cell * wide;
      pen.fillStyle = share === null ? free : heat(share);
      pen.fillRect(x, top, wide - 1, tall);
      if (share === null) {
        pen.strokeStyle = line;
        pen.strokeRect(x + .5, top + .5, wide - 2, tall - 1);
      }
    });
    pen.strokeStyle = open;
    pen.lineWidth = 2;
    if (!wear) blocks.open[at].forEach((cell) => pen.strokeRect(left + cell * wide + 1, top + 1, wide - 3, tall - 2));
    pen.lineWidth = 1;
  });
  wordBlocks(frame, wear, low, high);
}

function wordBlocks(frame, wear, low, high) {
  const blocks = frame.blocks, bar = `linear-gradient(to right, ${[0, .2, .4, .6, .8, 1].map(heat).join(", ")})`;
  const scale = [bar, `${low} to ${high}`, true];
  const others = [[colour("free"), "erased"], [colour("open"), "being written or collected"]];
  legend(document.getElementById("blocks-legend"), wear ? [scale] : [scale, ...others]);
  const free = blocks.free.reduce((sum, count) => sum + count, 0), full = blocks.full_by_valid;
  const counted = blocks.valid ? ` ${full[0]} full blocks have under 10 % valid pages.` : "";
  document.getElementById("blocks-words").textContent =
    `A cell is ${blocks.blocks_per_cell * blocks.units_per_row === 1 ? "a block" : `up to ${blocks.blocks_per_cell * blocks.units_per_row} blocks`};` +
    ` a row is a unit, which collects garbage by itself. ${free} blocks are erased.${counted}`;
  if (document.getElementById("valid-table").closest("details").open) {
    const rows = full.map((count, at) => [at === 9 ? "90 to 100 %" : `${at * 10} to under ${at * 10 + 10} %`, String(count)]);
    table(document.getElementById("valid-table"), ["valid pages", "full blocks"], rows, "Full blocks by their share of valid pages");
  }
}
