// SPDX-License-Identifier: Apache-2.0
// Tables that sort; and any value as tables of its fields.
const PAGE = 100;
const FILTER_FROM = 12; // a table of more rows has a field to type words into

function cellOf(column, row) {
	const value = column.value(row);
	const missing = value === null || value === undefined;
	const words = column.show ? column.show(value, row) : shown(column.name, value);
	const attributes = { class: [column.number && 'num', missing && 'na'].filter(Boolean).join(' ') || null };
	if (!missing && typeof value !== 'object')
		attributes['data-value'] = value;
	if (column.field)
		attributes['data-field'] = column.field;
	if (column.number && num(value) !== null && /ns$/.test(column.field || ''))
		attributes.title = `${count(value)} ns`;
	const cell = el('td', attributes, column.draw ? column.draw(row) : words);
	if (WORD_FIELDS.has(column.name) && wordOf(value))
		cell.dataset.word = wordOf(value);
	if (cell.textContent.length < 36)
		cell.classList.add('short');
	return cell;
}

function compare(a, b) {
	const x = num(a), y = num(b);
	if (x !== null && y !== null)
		return x - y;
	return text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0;
}

// Unknown values come last, in either order.
function sorted(rows, column, down) {
	const known = rows.filter(r => column.value(r) !== null && column.value(r) !== undefined);
	const unknown = rows.filter(r => column.value(r) === null || column.value(r) === undefined);
	known.sort((a, b) => (down ? -1 : 1) * compare(column.value(a), column.value(b)));
	return known.concat(unknown);
}

// options: open(row), key(row), filter(row), name, empty, page (rows that are shown at first)
class Table {
	constructor(rows, columns, options) {
		Object.assign(this, { rows, columns, options: options || {}, order: rows });
		this.limit = this.options.page || PAGE;
		this.body = el('tbody');
		this.heads = columns.map(c => el('th', { scope: 'col', class: c.number ? 'num' : null },
			el('button', { type: 'button', click: () => this.sort(c) }, c.title || plain(c.name))));
		this.more = el('button', { type: 'button', class: 'more', click: () => this.extend() });
		this.words = '';
		this.search = rows.length > FILTER_FROM ? el('input', {
			type: 'search', class: 'filter', placeholder: `filter ${count(rows.length)} rows`, 'aria-label': 'Rows that have these words', input: () => this.look(),
		}) : null;
		this.node = el('div', { class: 'table', 'data-table': this.options.name || null }, [
			this.search,
			el('table', null, [el('thead', null, el('tr', null, this.heads)), this.body]), this.more,
		]);
		this.fill();
	}

	sort(column) {
		this.down = this.by === column ? !this.down : Boolean(column.number);
		this.by = column;
		this.order = sorted(this.rows, column, this.down);
		this.columns.forEach((c, i) => c === column ?
			this.heads[i].setAttribute('aria-sort', this.down ? 'descending' : 'ascending') :
			this.heads[i].removeAttribute('aria-sort'));
		this.fill();
	}

	// Rows with all of the words that are typed.
	look() {
		this.words = this.search.value.trim().toLowerCase();
		this.limit = this.options.page || PAGE;
		this.fill();
	}

	hasWords(row) {
		const all = this.columns.map(c => c.show ? c.show(c.value(row), row) : shown(c.name, c.value(row))).join(' ').replace(/[\u00a0\u202f]/g, ' ').toLowerCase();
		return this.words.split(/\s+/).every(w => all.includes(w));
	}

	filter(test) {
		this.options.filter = test;
		this.limit = this.options.page || PAGE;
		this.fill();
	}

	extend() {
		this.limit += 10 * PAGE;
		this.fill();
	}

	rowOf(row) {
		const open = this.options.open;
		const tr = el('tr', open ? {
			class: 'link', tabindex: 0, click: () => open(row),
			keydown: e => this.step(e, () => open(row)),
		} : null, this.columns.map(c => cellOf(c, row)));
		if (this.options.key)
			tr.dataset.key = this.options.key(row);
		return tr;
	}

	step(event, open) {
		const next = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
		if (next && event.currentTarget[next])
			event.currentTarget[next].focus();
		else if (event.key === 'Enter' || event.key === ' ')
			open();
		else
			return;
		event.preventDefault();
	}

	fill() {
		const some = this.options.filter ? this.order.filter(this.options.filter) : this.order;
		const all = this.words ? some.filter(r => this.hasWords(r)) : some;
		this.body.replaceChildren(...all.slice(0, this.limit).map(r => this.rowOf(r)));
		this.more.hidden = all.length <= this.limit;
		this.more.textContent = `${count(all.length - this.limit)} more rows`;
	}
}

// columns: [field, title, show] or a column; what is a number stands right.
function columnOf(spec, rows) {
	if (!Array.isArray(spec))
		return spec;
	const [field, title, show] = spec;
	const path = field.split('.');
	const value = row => path.reduce((at, name) => isObject(at) ? at[name] : undefined, row);
	return {
		name: path[path.length - 1], field, title: title || plain(path[path.length - 1]), value,
		show: show || null,
		number: rows.some(r => num(value(r)) !== null) && rows.every(r => value(r) === null ||
			value(r) === undefined || num(value(r)) !== null),
	};
}

const table = (rows, specs, options) =>
	new Table(rows, specs.map(s => columnOf(s, rows)), options).node;

// A title and its table, or one line that says there is nothing.
const titled = (title, rows, specs, options) => el('section', null, [
	el('h3', null, title),
	rows.length ? table(rows, specs, options) : el('p', { class: 'quiet' }, (options && options.empty) || 'none'),
]);

function fieldsOf(rows) {
	const names = new Set();
	for (const row of rows.slice(0, 1000))
		Object.keys(row).forEach(name => names.add(name));
	return [...names];
}

// A value in an object of times is a time, whatever it is called.
const inside = (outer, name) => /_ns$/.test(outer || '') ? `${name}_ns` : name;

// Any value; deep ones are laid out when they are opened.
function anything(value, name) {
	if (Array.isArray(value) && value.length && value.every(isObject)) {
		const columns = fieldsOf(value).map(f => ({
			name: f, title: plain(f), value: row => row[f],
			number: value.some(r => num(r[f]) !== null) && value.every(r => r[f] === null || num(r[f]) !== null),
			draw: row => typeof row[f] === 'object' && row[f] !== null ? nested(row[f], f) : shown(f, row[f]),
		}));
		return new Table(value, columns, {}).node;
	}
	if (Array.isArray(value))
		return el('ul', null, value.slice(0, 1000).map(v => el('li', null, anything(v, name))));
	if (isObject(value))
		return el('table', null, el('tbody', null, Object.entries(value).map(([key, v]) => el('tr', null, [
			el('th', { scope: 'row' }, plain(key)),
			el('td', null, typeof v === 'object' && v !== null ? nested(v, key) : shown(inside(name, key), v)),
		]))));
	return document.createTextNode(shown(name || '', value));
}

function lazily(title, make) {
	const node = el('details', null, el('summary', null, title));
	node.addEventListener('toggle', () => node.append(make()), { once: true });
	return node;
}

function nested(value, name) {
	const size = Array.isArray(value) ? value.length : Object.keys(value).length;
	if (!size)
		return 'none';
	const few = !Array.isArray(value) && size <= 6 && Object.values(value).every(v => typeof v !== 'object' || v === null);
	if (few)
		return Object.entries(value).map(([key, v]) => `${plain(key)} ${shown(inside(name, key), v)}`).join(', ');
	return lazily(`${count(size)} ${Array.isArray(value) ? 'row' : 'field'}${size === 1 ? '' : 's'}`, () => anything(value, name));
}

// A result without plots of its own: short values together, the others below, each with its title.
function members(value) {
	const long = Object.entries(value).filter(([, v]) => typeof v === 'object' && v !== null && Object.keys(v).length);
	const short = Object.fromEntries(Object.entries(value).filter(([name]) => !long.some(([n]) => n === name)));
	return [
		Object.keys(short).length ? anything(short) : null,
		long.map(([name, v]) => el('section', null, [el('h3', null, plain(name)), anything(v, name)])),
	];
}

const allFields = value => lazily('All fields of this result', () => anything(value));

// Short facts side by side: [name, value, shown, class, field]
const facts = entries => el('dl', { class: 'facts' }, entries.map(([name, value, words, style, field]) =>
	el('div', null, [
		el('dt', WORDS.has(name.split(',')[0]) ? { 'data-word': name.split(',')[0] } : null, name),
		el('dd', {
			class: style || (value === null || value === undefined ? 'quiet' : null), style: { margin: '0' },
			'data-field': field || null,
			'data-value': value === null || value === undefined || typeof value === 'object' ? null : value,
		}, words === undefined ? shown(field || name, value) : words),
	])));
