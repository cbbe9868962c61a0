"use strict";
// Unpacks plotly.js, which is in the page as raw DEFLATE (RFC 1951) in base64, and runs it; in one go, so that it is there
// when the page is printed at once. Large figures are packed in the same way.
window.flashweir = window.flashweir || {};
flashweir.unpacked = (holder) => {
  const packed = atob(holder.textContent.trim());
  const bytes = new Uint8Array(packed.length);
  for (let place = 0; place < packed.length; place += 1) bytes[place] = packed.charCodeAt(place);
  const out = new Uint8Array(Number(holder.dataset.size));
  const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
  const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  let [at, hold, held, end] = [0, 0, 0, 0];

  function bits(count) {
    while (held < count) {
      hold |= bytes[at++] << held;
      held += 8;
    }
    const value = hold & ((1 << count) - 1);
    hold >>>= count;
    held -= count;
    return value;
  }

  // A Huffman code: how many codes each length has, the symbols in the order of their codes, and a table of those that
  // are not longer than QUICK: what the next bits begin with, as 16 x symbol + length of its code (0: a longer code).
  const QUICK = 10;
  function code(lengths) {
    const counts = new Uint16Array(16);
    for (const length of lengths) counts[length] += 1;
    counts[0] = 0;
    const next = new Uint16Array(16);
    const codes = new Uint16Array(16);
    for (let length = 1; length < 15; length += 1) {
      next[length + 1] = next[length] + counts[length];
      codes[length + 1] = (codes[length] + counts[length]) << 1;
    }
    const symbols = new Uint16Array(lengths.length);
    const quick = new Uint16Array(1 << QUICK);
    lengths.forEach((length, symbol) => {
      if (!length) return;
      symbols[next[length]++] = symbol;
      let first = 0;
      for (let bit = 0, found = codes[length]++; bit < length; bit += 1, found >>= 1) first = (first << 1) | (found & 1);
      if (length > QUICK) return;
      for (let place = first; place < 1 << QUICK; place += 1 << length) quick[place] = (symbol << 4) | length;
    });
    return { counts, symbols, quick };
  }

  function symbol({ counts, symbols, quick }) {
    while (held < QUICK) {
      hold |= bytes[at++] << held;
      held += 8;
    }
    const known = quick[hold & ((1 << QUICK) - 1)];
    if (known) {
      hold >>>= known & 15;
      held -= known & 15;
      return known >> 4;
    }
    let [found, first, index] = [0, 0, 0];
    for (let length = 1; length < 16; length += 1) {
      found |= bits(1);
      const count = counts[length];
      if (found - count < first) return symbols[index + found - first];
      index += count;
      first = (first + count) << 1;
      found <<= 1;
    }
    throw new Error("damaged");
  }

  function codes() {
    const [literals, distances, count] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
    const lengths = new Array(19).fill(0);
    for (let place = 0; place < count; place += 1) lengths[ORDER[place]] = bits(3);
    const outer = code(lengths);
    const all = [];
    while (all.length < literals + distances) {
      const found = symbol(outer);
      if (found < 16) all.push(found);
      else if (found === 16) all.push(...new Array(3 + bits(2)).fill(all.at(-1)));
      else all.push(...new Array(found === 17 ? 3 + bits(3) : 11 + bits(7)).fill(0));
    }
    return [code(all.slice(0, literals)), code(all.slice(literals))];
  }

  function block(literal, distance) {
    for (;;) {
      const found = symbol(literal);
      if (found === 256) return;
      if (found < 256) out[end++] = found;
      else {
        const length = LENGTHS[found - 257] + bits(LENGTH_BITS[found - 257]);
        const far = symbol(distance);
        const extra = far < 4 ? 0 : (far >> 1) - 1;
        const back = far < 4 ? far + 1 : ((2 + (far & 1)) << extra) + 1 + bits(extra);
        for (let copied = 0; copied < length; copied += 1, end += 1) out[end] = out[end - back];
      }
    }
  }

  function stored() {
    at -= held >> 3; // Whole bytes that a symbol has looked at ahead.
    [hold, held] = [0, 0];
    const length = bytes[at] | (bytes[at + 1] << 8);
    out.set(bytes.subarray(at + 4, at + 4 + length), end);
    at += 4 + length;
    end += length;
  }

  const fixed = () => [code(Array.from({ length: 288 }, (_, at) => (at < 144 ? 8 : at < 256 ? 9 : at < 280 ? 7 : 8))),
    code(new Array(30).fill(5))];
  for (let last = 0; !last;) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) stored();
    else if (kind < 3) block(...(kind === 1 ? fixed() : codes()));
    else throw new Error("damaged");
  }
  return new TextDecoder().decode(out);
};
{
  const script = document.createElement("script");
  script.textContent = flashweir.unpacked(document.getElementById("plotly-packed"));
  document.head.append(script);
}
