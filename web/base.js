// SPDX-License-Identifier: Apache-2.0
// Elements, numbers and words. Text of the data only ever becomes text of a node.
const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (typeof value === 'function')
			node.addEventListener(name, value);
		else if (name === 'style')
			Object.assign(node.style, value);
		else
			node.setAttribute(name, value === true ? '' : value);
	}
	for (const child of [children].flat(Infinity))
		if (child !== null && child !== undefined && child !== false)
			node.append(child);
	return node;
}

const el = (tag, attributes, children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Numbers: whole ones that a double can't hold come as strings of their digits.
function num(value) {
	if (typeof value === 'number')
		return Number.isFinite(value) ? value : null;
	if (typeof value === 'string' && /^-?\d{16,39}$/.test(value))
		return Number(value);
	return null;
}

const list = value => Array.isArray(value) ? value : [];
const isObject = value => value !== null && typeof value === 'object' && !Array.isArray(value);
const object = value => isObject(value) ? value : {};
const records = value => list(value).filter(isObject);
const text = value => value === null || value === undefined ? '' : typeof value === 'object' ?
	JSON.stringify(value) : String(value);
const NA = 'n/a';

// Three digits, as people compare them.
function digits(x) {
	const size = Math.abs(x);
	if (size >= 99.95 || x === 0)
		return String(Math.round(x));
	if (size < 0.995)
		return String(+x.toPrecision(3));
	return x.toFixed(size >= 9.995 ? 1 : 2);
}

// A group of three digits from the next, as hostlat's own tables have it.
const grouped = whole => /^-?\d+$/.test(whole) ? whole.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f') : whole;

function count(value) {
	if (typeof value === 'string' && num(value) !== null)
		return grouped(value);
	const x = num(value);
	return x === null ? NA : grouped(Number.isInteger(x) ? String(x) : digits(x));
}

const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s']];

// A value that would be rounded up to a thousand of a unit is shown as one of the next.
function duration(value) {
	const ns = num(value);
	if (ns === null)
		return NA;
	if (ns < 0)
		return `\u2212${duration(-ns)}`;
	for (const [size, unit] of UNITS)
		if (Math.abs(ns) >= size * 0.9995)
			return `${Math.abs(ns) >= 1e12 ? grouped(digits(ns / size)) : digits(ns / size)}\u00a0${unit}`;
	return `${Number.isInteger(ns) ? ns : digits(ns)}\u00a0ns`;
}

// On an axis, where the last zeros say nothing.
const tickTime = value => duration(value).replace(/(\.\d*?)0+(?=\D)/, '$1').replace(/\.(?=\D)/, '');

const signed = (value, show) => num(value) === null ? NA :
	(num(value) > 0 ? '+' : num(value) < 0 ? '\u2212' : '') + show(Math.abs(num(value)));

function percent(value) {
	const x = num(value);
	if (x === null)
		return NA;
	const size = Math.abs(x * 100);
	// 99.97 % is not 100 %, and a little is not nothing.
	if (size > 99 && size < 100)
		return `${Math.min(size, 99.999).toFixed(size > 99.9 ? 3 : 2)}\u00a0%`;
	return `${size && size < 0.01 ? '<\u00a00.01' : size < 10 ? +size.toFixed(2) : +size.toFixed(1)}\u00a0%`;
}

const quantile = q => num(q) === null ? NA : `p${+(num(q) * 100).toFixed(6)}`;

function instant(value) {
	const ns = num(value);
	if (ns === null || ns < 0 || ns > 8e18)
		return NA;
	return new Date(ns / 1e6).toISOString().replace('T', ' ').replace(/\.\d+Z/, ' UTC');
}

// How the fields of a result are shown, by their names' last words.
function shown(name, value) {
	if (value === null || value === undefined)
		return NA;
	if (typeof value === 'boolean')
		return value ? 'yes' : 'no';
	if (num(value) === null)
		return text(value);
	if (/(^|_)(started|realtime)_ns$/.test(name) && num(value) > 1e17)
		return instant(value);
	if (/_ns$|^ns$/.test(name))
		return duration(value);
	if (/fraction$|^share$|^coverage$/.test(name))
		return percent(value);
	return /(^|_)(pid|tid|port|schema|core|cpu|seed|netns|id|cookie)$/.test(name) ? text(value) : count(value);
}

const plain = name => name.replace(/_ns$/, '').replace(/_/g, ' ');

const HOSTLAT_PARTS = new Map([
	['recorder', 'hostlat\u2019s recorder'], ['load-generator', 'hostlat\u2019s load generator'],
	['connections-recorder', 'hostlat\u2019s recorder of connections'],
]);

// Where a culprit ran, as the text has it: ", cron.service", ", mostly /batch/job".
function placeOf(culprit) {
	const name = text(culprit.unit) || (culprit.cgroup === '/' ? '' : text(culprit.cgroup));
	return name ? `, ${num(culprit.place_share) < 0.9 ? 'mostly ' : ''}${name}` : '';
}

// Names a task or a command: "nginx (pid 4690)", "gzip (6 processes, cron.service)", "hostlat's recorder".
function who(task) {
	const t = object(task);
	if (HOSTLAT_PARTS.has(t.hostlat))
		return HOSTLAT_PARTS.get(t.hostlat);
	if (num(t.processes) > 1)
		return `${text(t.command)} (${count(t.processes)} processes${placeOf(t)})`;
	const id = t.pid === null || t.pid === undefined ? t.tid : t.pid;
	const name = text(t.comm);
	const tid = t.tid !== null && t.tid !== undefined && t.tid !== id ? `, thread ${text(t.tid)}` : '', word = id === t.pid ? 'pid' : 'thread';
	const known = id === null || id === undefined ? '' : name ? ` (${word} ${text(id)}${tid}${placeOf(t)})` : `${word} ${text(id)}${tid}`;
	const message = t.message === null || t.message === undefined ? '' : `message ${text(t.message)}`;
	// The activity, where nobody is known by name.
	const what = name || message ? '' : text(t.what);
	return [what || name + known, message].filter(Boolean).join(', ') || NA;
}

// The culprits of a cause have numbers of their own: in how many messages they were.
const culpritWords = c => who(c) + (num(c.ns) === null ? '' : ` ${duration(c.ns)}`) +
	(num(c.messages) === null ? '' : ` in ${count(c.messages)}`);

const culprits = (all, most, wordsOf = culpritWords) => {
	const some = records(all);
	const words = some.slice(0, most).map(wordsOf);
	return words.join('; ') + (some.length > most ? `; ${some.length - most} more` : '');
};

// Causes: the eight that cost most have a colour and a shape of their own, the same on the whole page.
const SHAPES = ['circle', 'square', 'diamond', 'up', 'down', 'cross', 'bar', 'plus'];
const PLACES = { application: 'A', receive: 'R', transmit: 'T' };
const DULL = ['blind', 'expected', 'offset'];
const causeKey = c => `${text(c.cause)}|${text(c.where)}`;
const causeName = c => PLACES[c.where] ? `${text(c.cause)} (${PLACES[c.where]})` :
	text(c.cause) + (c.where ? ` (${text(c.where)})` : '');
const causeStyles = new Map();

// rows: [cause, ns]
function styleCauses(rows) {
	const sums = new Map();
	for (const [cause, ns] of rows)
		sums.set(cause, (sums.get(cause) || 0) + (num(ns) || 0));
	for (const [cause] of [...sums].sort((a, b) => b[1] - a[1]))
		if (!DULL.includes(cause) && cause !== 'unexplained' && causeStyles.size < SHAPES.length)
			causeStyles.set(cause, { colour: causeStyles.size, shape: SHAPES[causeStyles.size] });
}

const styleOf = c => causeStyles.get(text(c.cause)) || { colour: DULL.includes(c.cause) ? 9 : 8, shape: 'circle' };

const colour = n => typeof n === 'number' ? `var(--c${n})` : n;
// Parts and limits, which are no causes, have a range of their own.
const partColours = n => `var(--p${n % 7})`;
// Lines of percentiles have colours that no cause has.
const MEDIAN = 'var(--ink)', TAIL = 'var(--bad)';
const computed = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function shapePath(shape, x, y, r) {
	const s = r * 0.89, d = r * 1.2, t = r * 0.42;
	switch (shape) {
	case 'square': return `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`;
	case 'diamond': return `M${x} ${y - d}L${x + d} ${y}L${x} ${y + d}L${x - d} ${y}z`;
	case 'up': return `M${x} ${y - d}L${x + d} ${y + s}H${x - d}z`;
	case 'down': return `M${x} ${y + d}L${x + d} ${y - s}H${x - d}z`;
	case 'cross': return `M${x - s} ${y - s + t}l${t} ${-t}L${x} ${y - t}L${x + s - t} ${y - s}l${t} ${t}L${x + t} ${y}` +
		`L${x + s} ${y + s - t}l${-t} ${t}L${x} ${y + t}L${x - s + t} ${y + s}l${-t} ${-t}L${x - t} ${y}z`;
	case 'bar': return `M${x - d} ${y - t}h${2 * d}v${2 * t}h${-2 * d}z`;
	case 'plus': return `M${x - t} ${y - d}h${2 * t}v${d - t}h${d - t}v${2 * t}h${t - d}v${d - t}h${-2 * t}v${t - d}h${t - d}v${-2 * t}h${d - t}z`;
	default: return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
	}
}

const swatch = style => svg('svg', { viewBox: '0 0 12 12', 'aria-hidden': 'true' },
	svg('path', { d: shapePath(style.shape, 6, 6, 4.5), fill: colour(style.colour) }));

// `explained`: the names are words of the glossary.
const legend = (items, explained) => el('div', { class: 'legend' },
	items.map(i => el('span', explained && wordOf(i.name) ? { 'data-word': wordOf(i.name) } : null, [swatch(i), i.name])));

// A legend whose names switch their series off and on: `hidden` holds those that are off.
const switches = (items, hidden, changed) => el('div', { class: 'legend' }, items.map(i => {
	const button = el('button', { type: 'button', 'aria-pressed': 'true', 'data-series': i.name, click: () => {
		if (!hidden.delete(i.name))
			hidden.add(i.name);
		button.setAttribute('aria-pressed', String(!hidden.has(i.name)));
		changed();
	} }, [swatch(i), i.label || i.name]);
	return button;
}));
