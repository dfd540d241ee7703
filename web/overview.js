// SPDX-License-Identifier: Apache-2.0
// The top of each result: what was found, how far it can be trusted, where it is from.
const VERDICTS = { ok: 'good', sound: 'good', 'n/a': 'bad', partial: 'warn' };

function verdictOf(doc) {
	if (typeof doc.verdict !== 'string')
		return null;
	return el('p', { 'data-field': 'verdict', 'data-value': doc.verdict },
		['Verdict: ', el('b', { class: VERDICTS[doc.verdict] || null }, doc.verdict)]);
}

// Sentences are printed as hostlat wrote them.
const sentences = (lines, field) => lines.length ?
	el('ul', { class: 'lead', 'data-field': field }, lines.map(l => el('li', null, isObject(l) ? text(l.message || l.text) || text(l) : text(l)))) : null;

const REASON_COLUMNS = ['code', 'message', ['evidence', 'evidence', shownEvidence]];

function shownEvidence(value) {
	if (!isObject(value))
		return shown('', value);
	return Object.entries(value).map(([name, v]) => `${plain(name)} ${shown(name, v)}`).join(', ');
}

const reasonsOf = doc => records(doc.reasons).length ? titled('Reasons', records(doc.reasons), REASON_COLUMNS.map(c =>
	Array.isArray(c) ? c : [c]), { name: 'reasons' }) : null;

function provenance(doc, extra) {
	const h = object(doc.hostlat);
	return facts([
		['host', h.host], ['measured', h.started_ns, instant(h.started_ns), null, 'started_ns'],
		['by', h.version, `hostlat ${text(h.version) || NA}, ${text(h.command) || NA}, schema ${text(h.schema) || NA}`],
		...extra,
	]);
}

// Rows of {reason, count}: nothing lost is worth a word, too.
function lossesOf(rows, what) {
	if (!Array.isArray(rows))
		return [what, null, NA];
	const lost = records(rows).filter(r => num(r.count) !== 0);
	const sum = lost.reduce((n, r) => n + (num(r.count) || 0), 0);
	return [what, sum, lost.length ? `${count(sum)} (${lost.map(r => text(r.reason || r.stage)).join(', ')})` : '0',
		sum ? 'warn' : null, what];
}

function ownCost(doc) {
	const own = object(doc.own_cost);
	return ['own cost', own.fraction === undefined ? null : own.fraction, known(own.fraction) ? percent(own.fraction) :
		`${NA}${own.why ? `: ${text(own.why)}` : ''}`, null, 'own_cost'];
}

const QUANTILE_COLUMNS = rows => {
	const qs = [...new Set(rows.flatMap(r => list(r.quantiles).map(x => num(object(x).q))))].filter(q => q !== null).sort((a, b) => a - b);
	return qs.map(q => ({
		name: quantile(q), field: `q${q}_ns`, number: true,
		value: row => {
			const found = list(row.quantiles).find(x => num(object(x).q) === q);
			return found ? found.ns : undefined;
		},
		show: (value, row) => duration(value) + interval(list(row.quantiles).find(x => num(object(x).q) === q)),
	}));
};

// The interval, where there is one that says more than the value.
function interval(q) {
	if (!q || !known(q.hi_ns) || q.lo_ns === q.hi_ns)
		return '';
	const bounds = known(q.lo_ns) ? `[${duration(q.lo_ns)}, ${duration(q.hi_ns)}]` : `at most ${duration(q.hi_ns)}`;
	return ` ${bounds}${q.scope === 'run' ? ' in this run only' : ''}`;
}

// Names for links: of a second section of the same kind with its number.
const names = new Map();

function idOf(name) {
	const plainName = name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'result';
	names.set(plainName, (names.get(plainName) || 0) + 1);
	return names.get(plainName) > 1 ? `${plainName}-${names.get(plainName)}` : plainName;
}

// A title for links, and what belongs to it; `how` it was measured is folded, with that of the others.
function documentSection(entry, title, children, how) {
	const id = idOf(title), some = [children].flat(Infinity).filter(Boolean);
	if (how)
		entry.how.push(el('section', { 'data-how': entry.command, id: idOf(`how ${title}`) }, [el('h3', { class: 'of' }, title), how]));
	entry.id = id;
	if (!some.length)
		return null;
	entry.links.push([id, title, entry.name]);
	return el('section', { id, 'data-command': entry.command }, [
		el('h2', null, [el('a', { href: `#${id}` }, title), el('small', null, [entry.name, entry.host].filter(Boolean).join(' \u00b7 '))]), some,
	]);
}

const together = all => {
	const some = all.filter(Boolean);
	return some.length ? el('div', { class: 'plots' }, some.map(p => p.node)) : null;
};
