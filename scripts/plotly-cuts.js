// Finds the parts of plotly.js that no figure of a report needs, and writes python/flashweir/reports/plotly_cuts.json.
//
//   node --expose-internals scripts/plotly-cuts.js path/to/site-packages/plotly/package_data/plotly.min.js
//
// plotly.min.js is one function with a declaration for each module. The list of registered modules loses the traces and
// components that are not in KEPT, and every declaration that nothing reaches any more is cut.
"use strict";
const crypto = require("crypto");
const fs = require("fs");
const path = require("path");
// The parser of Node itself: no package is needed.
const acorn = require("internal/deps/acorn/acorn/dist/acorn");
const walk = require("internal/deps/acorn/acorn-walk/dist/walk");

const KEPT = new Set(["trace:scatter", "trace:bar", "trace:heatmap", "trace:scatter3d"]);
const source = fs.readFileSync(process.argv[2], "utf8");
let body = null;
walk.simple(acorn.parse(source, { ecmaVersion: "latest" }), {
  VariableDeclarator({ id, init }) {
    if (id.name === "Plotly" && init && init.type === "CallExpression" && !body) body = init.callee.body.body;
  },
});

const modules = new Map();
for (const statement of body) {
  if (statement.type === "FunctionDeclaration") modules.set(statement.id.name, { node: statement });
  for (const node of statement.declarations || []) modules.set(node.id.name, { node });
}
const text = ({ start, end }) => source.slice(start, end);
function references(node) {
  const found = new Set();
  walk.full(node, (inner) => { if (inner.type === "Identifier" && modules.has(inner.name)) found.add(inner.name); });
  return found;
}
for (const module of modules.values()) module.references = references(module.node);

let [list, entry] = [null, null];
for (const [name, { node }] of modules) {
  walk.simple(node, {
    CallExpression({ callee, arguments: [first] }) {
      const registers = callee.property && callee.property.name === "register";
      if (registers && first && first.type === "ArrayExpression" && first.elements.length > 20) [list, entry] = [first, name];
    },
  });
}

// The kind and name of a registered module, which its first lines or those of a short module that it stands for have.
function kind(name, depth = 0) {
  const found = text(modules.get(name).node).match(/moduleType:"(\w+)",name:"(\w+)"/);
  if (found) return `${found[1]}:${found[2]}`;
  if (depth > 2 || text(modules.get(name).node).length > 300) return "";
  return [...modules.get(name).references].filter((other) => other !== name).map((other) => kind(other, depth + 1)).find(Boolean) || "";
}

const cuts = [];
const dropped = new Set();
list.elements.forEach((element, at) => {
  const { name } = element.callee;
  if (KEPT.has(kind(name)) || !/^(trace:|component:calendars)/.test(kind(name))) return;
  const next = list.elements[at + 1];
  dropped.add(name);
  cuts.push([element.start, next ? next.start : element.end]);
});
const reached = new Set();
const waiting = body.filter(({ type }) => !/Declaration$/.test(type)).flatMap((statement) => [...references(statement)]);
while (waiting.length) {
  const name = waiting.pop();
  if (reached.has(name)) continue;
  reached.add(name);
  for (const other of modules.get(name).references) if (name !== entry || !dropped.has(other)) waiting.push(other);
}
for (const statement of body) {
  if (!/Declaration$/.test(statement.type)) continue;
  const declared = statement.declarations || [statement];
  const gone = declared.filter(({ id }) => !reached.has(id.name));
  if (gone.length === declared.length) cuts.push([statement.start, statement.end]);
  else for (const { id, init, end } of gone) if (init) cuts.push([id.end, end]);
}
const merged = [];
for (const [start, end] of cuts.sort((left, right) => left[0] - right[0])) {
  const last = merged.at(-1);
  if (last && start <= last[1]) last[1] = Math.max(last[1], end);
  else merged.push([start, end]);
}
const sha256 = crypto.createHash("sha256").update(fs.readFileSync(process.argv[2])).digest("hex");
const target = path.join(__dirname, "..", "python", "flashweir", "reports", "plotly_cuts.json");
fs.writeFileSync(target, `${JSON.stringify({ sha256, cuts: merged })}\n`);
