// SPDX-License-Identifier: GPL-2.0-only
// Sorts tables, and says the value of what is pointed at or reached by the keyboard.
'use strict';

for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.querySelectorAll('thead th')];
  const body = table.tBodies[0];
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent.trim().replaceAll(',', '');
    const number = Number.parseFloat(text);
    return Number.isNaN(number) ? text : number;
  };
  const compare = (one, other) => {
    if (typeof one !== typeof other) return typeof one === 'number' ? -1 : 1;
    return typeof one === 'number' ? one - other : one.localeCompare(other);
  };
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const rows = [...body.rows];
      rows.sort((one, other) => compare(key(one, column), key(other, column)) * (down ? -1 : 1));
      body.append(...rows);
    });
  });
}

// In each picture one value can be reached by Tab, the others from there by the arrow keys.
for (const figure of document.querySelectorAll('figure.chart')) {
  const output = figure.querySelector('output');
  for (const svg of figure.querySelectorAll(':scope > div > svg')) {
    const values = [...svg.querySelectorAll('.value')];
    values.forEach((value, at) => {
      const words = value.querySelector('title').textContent;
      const say = () => { output.textContent = words; };
      const go = (to) => {
        const next = values[Math.max(0, Math.min(values.length - 1, to))];
        value.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      };
      const keys = {
        ArrowRight: () => go(at + 1), ArrowDown: () => go(at + 1),
        ArrowLeft: () => go(at - 1), ArrowUp: () => go(at - 1),
        Home: () => go(0), End: () => go(values.length - 1),
      };
      value.tabIndex = at === 0 ? 0 : -1;
      value.setAttribute('role', 'img');
      value.setAttribute('aria-label', words);
      value.addEventListener('focus', say);
      value.addEventListener('pointerenter', say);
      value.addEventListener('keydown', (event) => {
        const action = keys[event.key];
        if (action) {
          event.preventDefault();
          action();
        }
      });
    });
  }
}
