// The page: asks for the state now and then, draws it, and sends commands.
"use strict";

const at = (id) => document.getElementById(id);
const TOKEN = document.querySelector("meta[name=flashweir-token]").content;
const CURVES = [
  {title: "Throughput, requests/s", series: [
    {key: "read_iops", name: "reads", colour: "read"}, {key: "write_iops", name: "writes", colour: "copy"}]},
  {title: "Throughput, MiB/s", series: [
    {key: "read_mib_s", name: "reads", colour: "read"}, {key: "write_mib_s", name: "writes", colour: "copy"}]},
  {title: "Read latency, us", log: true, series: [
    {key: "read_p50_us", name: "median", colour: "read"}, {key: "read_p99_us", name: "p99", colour: "copy", dash: [6, 3]},
    {key: "read_p999_us", name: "p99.9", colour: "mapping", dash: [2, 2]}]},
  {title: "Write latency, us", log: true, series: [
    {key: "write_p50_us", name: "median", colour: "read"}, {key: "write_p99_us", name: "p99", colour: "copy", dash: [6, 3]},
    {key: "write_p999_us", name: "p99.9", colour: "mapping", dash: [2, 2]}]},
  {title: "Write amplification", series: [{key: "write_amplification", name: "write amplification", colour: "copy"}]},
  {title: "Time of all dies", percent: true, most: 1, series: [
    {key: "die_host", name: "host", colour: "program"}, {key: "die_collection", name: "collection", colour: "copy"},
    {key: "die_mapping", name: "mapping", colour: "mapping", dash: [2, 2]}]},
  {title: "Free blocks", series: [{key: "free_blocks", name: "free blocks", colour: "transfer"}]},
  {title: "Write buffer and SLC cache, filled", percent: true, most: 1, series: [
    {key: "buffer_share", name: "write buffer", colour: "program"}, {key: "slc_share", name: "SLC cache", colour: "copy", dash: [6, 3]}]},
];
const page = {about: null, frame: null, points: [], next: 0, ring: 0, at: 0, running: true, begun: 0, canvases: []};

async function ask(path) {
  const answer = await fetch(path, {cache: "no-store"});
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer.json();
}

async function command(name, args = {}) {
  const answer = await fetch("/command", {
    method: "POST",
    headers: {"Content-Type": "application/json", "X-Flashweir-Token": TOKEN},
    body: JSON.stringify({cmd: name, args}),
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found.result;
}

function say(text, bad = false) {
  at("message").textContent = text;
  at("message").classList.toggle("bad", bad);
}

/** Executes something that may be refused: the message says why. */
async function attempt(work) {
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  }
}

function makeCurves() {
  for (const chart of CURVES) {
    const box = document.createElement("div"), title = document.createElement("h3"), list = document.createElement("ul");
    const canvas = document.createElement("canvas");
    title.textContent = chart.title;
    list.className = "legend";
    canvas.setAttribute("role", "img");
    box.append(title, list, canvas);
    at("curves").append(box);
    page.canvases.push({chart, canvas, list, box});
  }
}

function wordOf(chart, value) {
  return value === null || value === undefined ? "–" : chart.percent ? percent(value) : short(value);
}

function drawCurves() {
  const mark = page.about.kind === "recorded" ? page.frame?.time_s ?? null : null;
  const latest = page.about.kind === "recorded" ? page.points[page.at] : page.points.at(-1);
  for (const {chart, canvas, list, box} of page.canvases) {
    const has = chart.series.some((one) => page.points.some((point) => point[one.key] !== null && point[one.key] !== undefined));
    box.hidden = !has;
    if (!has) continue;
    legend(list, chart.series.length > 1 ? chart.series.map((one) => [colour(one.colour), one.name]) : []);
    canvas.ariaLabel = `${chart.title}: ${chart.series.map((one) => `${one.name} ${wordOf(chart, latest?.[one.key])}`).join(", ")}`;
    drawChart(canvas, chart, page.points, mark);
  }
  if (at("curves-table").closest("details").open) {
    const rows = CURVES.flatMap((chart) => chart.series.map((one) => [
      chart.series.length > 1 ? `${chart.title}: ${one.name}` : chart.title, wordOf(chart, latest?.[one.key])]));
    table(at("curves-table"), ["figure", "latest"], rows, "The latest figures");
  }
}

function drawTables(frame) {
  const tenants = Object.entries(frame.tenants);
  at("tenants-section").hidden = !tenants.length;
  const parts = [["reads/s", "read_iops"], ["writes/s", "write_iops"], ["read MiB/s", "read_mib_s"],
    ["write MiB/s", "write_mib_s"], ["read p99, us", "read_p99_us"], ["write p99, us", "write_p99_us"]];
  table(at("tenants"), ["tenant", ...parts.map(([name]) => name)],
    tenants.map(([name, own]) => [name, ...parts.map(([, key]) => short(own[key]))]), "Tenants");
  at("groups-section").hidden = !frame.groups;
  if (frame.groups) {
    const rows = Object.entries(frame.groups).flatMap(([kind, groups]) => groups.map((group, number) => [
      `${kind} ${number}`, short(group.written), short(group.moved_out), short(group.erased)]));
    table(at("groups"), ["group", "pages written", "pages moved out", "blocks erased"], rows, "Groups of open blocks");
  }
  at("slc-section").hidden = !frame.slc;
  if (frame.slc) {
    const rows = [["valid pages", "valid_pages"], ["room, pages", "room_pages"], ["blocks in SLC mode", "blocks"],
      ["pages written to it", "written_pages"], ["pages past it", "direct_pages"], ["pages folded", "folded_pages"]];
    table(at("slc"), ["SLC cache", "count"], rows.map(([name, key]) => [name, short(frame.slc[key])]), "SLC cache");
  }
}

function drawFacts(frame) {
  const facts = [`${time(frame.time_s)} of simulated time`], served = frame.served;
  if (served) {
    const clock = served.clock === "paced" ? `paced, ${short(served.dilate)} x slower than simulated` : "virtual clock";
    facts.push(clock, `${served.connections} connections`, `${served.outstanding} requests outstanding`, served.verdict);
    if (served.power_cuts) facts.push(`${served.power_cuts} power cuts`);
    if (served.paused) facts.push("paused");
    at("pause").textContent = served.paused ? "Resume" : "Pause";
    at("cut").disabled = !served.can_cut_power;
    at("cut").title = served.can_cut_power ? "" : "Needs a drive that is served with --power-cuts";
  }
  at("facts").textContent = `${facts.join(" · ")}.`;
}

function draw() {
  if (!page.frame) return;
  drawFacts(page.frame);
  drawDies(page.frame);
  drawBlocks(page.frame);
  drawCurves();
  drawTables(page.frame);
}

/** Takes new points of a live drive; the page keeps as many as the server does. */
function takePoints(points) {
  if (!points.length) return;
  page.points.push(...points);
  page.points.splice(0, Math.max(0, page.points.length - page.about.resolutions[page.ring].points));
  page.next = points.at(-1).number + 1;
}

async function follow() {
  const ring = page.ring;
  try {
    const found = await ask(`/state?ring=${ring}&since=${page.next}`);
    if (ring === page.ring) takePoints(found.points);
    page.frame = found.frame ?? page.frame;
    if (at("message").dataset.gone) {
      delete at("message").dataset.gone;
      say("");
    }
    draw();
  } catch {
    at("message").dataset.gone = "1";
    say("The drive does not answer: it may have been stopped.", true);
  }
  setTimeout(follow, page.about.sample_s * 1000);
}

/** Shows picture number `number` of a recorded run. */
async function show(number) {
  page.at = number;
  const found = await ask(`/state?at=${number}`);
  if (found.at !== page.at) return;
  page.frame = found.frame;
  at("seek").value = number;
  at("seek").ariaValueText = time(found.frame.time_s);
  draw();
}

function setRunning(running) {
  page.running = running;
  at("pause").textContent = running ? "Pause" : "Play";
  page.begun = performance.now();
}

/** Plays on: as much simulated time as the speed makes of the wall time since the last step. */
async function play() {
  const times = page.about.times_s, now = performance.now();
  if (page.running) {
    page.time_s = (page.time_s ?? times[0]) + (now - page.begun) / 1000 * page.about.speed * Number(at("speed").value);
    let next = page.at;
    while (next + 1 < times.length && times[next + 1] <= page.time_s) next += 1;
    if (next !== page.at || !page.frame) await attempt(() => show(next));
    if (next + 1 === times.length) setRunning(false);
  }
  page.begun = now;
  setTimeout(play, 40);
}

function tableOfFork(found) {
  const rows = [], ops = new Set([...Object.keys(found.live.latency_us), ...Object.keys(found.fork.latency_us)]);
  for (const op of ops) {
    for (const key of ["count", "mean", "p50", "p99", "p99.9", "max"]) {
      rows.push([key === "count" ? `${op}: requests` : `${op}: ${key} latency, us`,
        short(found.live.latency_us[op]?.[key]), short(found.fork.latency_us[op]?.[key])]);
    }
  }
  for (const key of ["reads", "programs", "erases"]) {
    rows.push([`flash ${key}`, short(found.live.flash?.[key]), short(found.fork.flash?.[key])]);
  }
  const changed = Object.entries(found.changed).map(([key, value]) => `${key}=${value}`).join(", ");
  table(at("compared"), ["what if", "this drive", changed], rows, "This drive and a fork with another setting");
}

function listen() {
  at("pause").addEventListener("click", () => attempt(async () => {
    if (page.about.kind === "recorded") {
      if (!page.running && page.at + 1 === page.about.times_s.length) [page.time_s, page.at] = [page.about.times_s[0], 0];
      setRunning(!page.running);
    } else {
      const done = await command(page.frame?.served?.paused ? "resume" : "pause");
      say(done.paused ? "Paused: requests wait." : "Running.");
    }
  }));
  at("cut").addEventListener("click", () => attempt(async () => {
    const cut = await command("power-cut");
    say(`Power cut at ${time(cut.time_s)}: ${cut.outstanding} requests without an answer,` +
      ` ${cut.acknowledged_sectors_lost} acknowledged sectors lost, ${cut.flushed_sectors_lost} of them flushed;` +
      ` the map is rebuilt in ${time(cut.rebuild_s)}.`);
  }));
  at("whatif").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const [key, ...value] = at("setting").value.trim().split("=");
      say("Comparing: waiting for requests, a minute at most.");
      tableOfFork(await command("fork", {[key]: value.join("="), count: at("count").value.trim()}));
      say("Compared.");
    });
  });
  at("range").addEventListener("change", () => [page.ring, page.points, page.next] = [Number(at("range").value), [], 0]);
  at("seek").addEventListener("input", () => attempt(async () => {
    page.time_s = page.about.times_s[Number(at("seek").value)];
    await show(Number(at("seek").value));
  }));
  at("blocks-show").addEventListener("change", draw);
  document.querySelectorAll("details").forEach((one) => one.addEventListener("toggle", draw));
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    document.querySelectorAll(".legend").forEach((list) => delete list.dataset.key);
    draw();
  });
}

async function start() {
  page.about = await ask("/about");
  document.title = `${page.about.title} · flashweir`;
  at("title").textContent = page.about.title;
  const recorded = page.about.kind === "recorded";
  document.querySelectorAll(".live").forEach((one) => one.hidden = recorded);
  document.querySelectorAll(".recorded").forEach((one) => one.hidden = !recorded);
  makeCurves();
  listen();
  if (!recorded) return follow();
  page.points = page.about.points;
  at("seek").max = page.points.length - 1;
  setRunning(true);
  return play();
}

attempt(start);
