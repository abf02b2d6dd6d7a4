// SPDX-License-Identifier: GPL-2.0-only
// Appended to a copy of a page: looks at it as a reader would, and writes what it finds into it.
'use strict';

const found = [];
const width = document.documentElement.clientWidth;
const brief = (text) => text.trim().replaceAll(/\s+/g, ' ').slice(0, 60);

// All of it, also what is shown when it is asked for.
for (const details of document.querySelectorAll('details')) details.open = true;

// Rectangles of all text that is seen, each with its element.
const texts = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const holder = node.parentElement;
  if (!node.data.trim() || holder.closest('script, style, title, .skip')) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const box of range.getClientRects()) {
    if (box.width > 0 && box.height > 0) texts.push({ box, holder, words: brief(node.data) });
  }
}

// Nothing is beyond the page's edges, but for what can be scrolled.
if (document.documentElement.scrollWidth > width) {
  found.push(`the page is ${document.documentElement.scrollWidth} wide, the window ${width}`);
}
for (const { box, holder, words } of texts) {
  if (holder.closest('.scroll')) continue;
  if (box.left < -1 || box.right > width + 1) found.push(`beyond the edge: ${words}`);
}

// Nothing is beyond its picture, and no element cuts its text off.
for (const { box, holder, words } of texts) {
  const svg = holder.closest('svg')?.getBoundingClientRect();
  if (svg && (box.left < svg.left - 1 || box.right > svg.right + 1
              || box.top < svg.top - 1 || box.bottom > svg.bottom + 1)) {
    found.push(`beyond its picture: ${words}`);
  }
}
for (const element of document.querySelectorAll('body *')) {
  if (element.closest('svg') || element.matches('.scroll, .skip')) continue;
  const { overflowX, display } = getComputedStyle(element);
  if (overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1
      && display !== 'inline') {
    found.push(`cut off: ${brief(element.textContent)}`);
  }
}

// No text covers another.
texts.sort((one, other) => one.box.top - other.box.top);
texts.forEach((one, at) => {
  for (const other of texts.slice(at + 1)) {
    if (other.box.top > one.box.bottom) break;
    const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const down = Math.min(one.box.bottom, other.box.bottom) - other.box.top;
    if (across > 2 && down > 3) found.push(`covered: ${one.words} | ${other.words}`);
  }
});

// Every text stands out from its ground (WCAG 2.2, 1.4.3).
const luminance = (colour) => {
  const [red, green, blue] = colour.match(/[\d.]+/g).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!colour.startsWith('rgba(0, 0, 0, 0')) return colour;
  }
  return 'rgb(255, 255, 255)';
};
for (const { holder, words } of texts) {
  if (holder.closest('.anchor')) continue;
  const style = getComputedStyle(holder);
  const colour = holder.closest('svg') ? style.fill : style.color;
  const [dark, light] = [luminance(colour), luminance(ground(holder))].sort((a, b) => a - b);
  if ((light + 0.05) / (dark + 0.05) < 4.5) found.push(`faint: ${words} ${colour}`);
}

// Links within the page lead somewhere; no id is there twice.
for (const link of document.querySelectorAll('a[href^="#"]')) {
  if (!document.getElementById(link.hash.slice(1))) found.push(`leads nowhere: ${link.hash}`);
}
const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
if (new Set(ids).size !== ids.length) found.push('an id is there twice');

// Tables sort, both ways.
for (const table of document.querySelectorAll('table.sortable')) {
  const column = [...table.querySelectorAll('thead th')].length - 1;
  const button = table.querySelectorAll('thead button')[column];
  const values = () => [...table.tBodies[0].rows].map((row) => {
    const cell = row.cells[column];
    return Number.parseFloat(cell.dataset.value ?? cell.textContent.replaceAll(',', ''));
  }).filter((value) => !Number.isNaN(value));
  for (const sign of [1, -1]) {
    button.click();
    const all = values();
    if (all.some((value, at) => at > 0 && sign * (value - all[at - 1]) < 0)) {
      found.push(`not sorted: ${brief(table.textContent)}`);
    }
  }
}

// The keyboard reaches every value of each picture, and the page says it.
let values = 0;
for (const figure of document.querySelectorAll('figure.chart')) {
  const svg = [...figure.querySelectorAll(':scope > div > svg')]
    .find((one) => one.getBoundingClientRect().width > 0);
  if (!svg) { found.push('a picture is not seen'); continue; }
  const all = [...svg.querySelectorAll('.value')];
  if (all.filter((value) => value.tabIndex === 0).length !== 1) found.push('no way into a picture');
  all[0].focus();
  for (const value of all) {
    values += 1;
    if (document.activeElement !== value) found.push('the arrow keys miss a value');
    if (figure.querySelector('output').textContent !== value.querySelector('title').textContent) {
      found.push('a value is not said');
    }
    value.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
  }
}

// Nothing was asked of anybody.
for (const entry of performance.getEntriesByType('resource')) found.push(`asked for ${entry.name}`);

const result = document.createElement('pre');
result.id = 'findings';
result.textContent = JSON.stringify({
  width, values,
  texts: texts.length,
  pictures: document.querySelectorAll('figure.chart').length,
  dark: luminance(ground(document.body)) < 0.2,
  found: [...new Set(found)],
});
document.body.append(result);
