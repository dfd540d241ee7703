// SPDX-License-Identifier: Apache-2.0
// From the data to the page.
const KINDS = {
	load: loadSection, watch: watchSection, record: watchSection, diagnose: diagnoseSection, conns: connsSection,
	compare: compareSection, fleet: fleetSection,
};

// A result of several, as explain makes it, is taken apart into its own.
function entriesOf(file, links) {
	const whole = object(file.document), about = object(whole.hostlat);
	const how = [], entry = (document, command) => ({
		document, command, name: text(file.name), host: text(object(document.hostlat || about).host), links, how,
	});
	const parts = Object.keys(KINDS).filter(name => isObject(whole[name]) && !KINDS[about.command]);
	if (!parts.length)
		return [entry(whole, text(about.command))];
	const rest = Object.fromEntries(Object.entries(whole).filter(([name]) => !parts.includes(name)));
	return [entry(rest, text(about.command)), ...parts.map(name =>
		entry({ hostlat: { ...about, command: name }, ...whole[name] }, name))];
}

function otherSection(entry) {
	const doc = entry.document, { hostlat, verdict, findings, limits, ...rest } = doc;
	const lines = Array.isArray(verdict) ? verdict : list(findings);
	const title = entry.command ? entry.command[0].toUpperCase() + entry.command.slice(1) : 'A result';
	const fields = members(isObject(limits) || limits === undefined ? rest : { ...rest, limits });
	return entry.command === 'explain' ? documentSection(entry, 'Limits of the connections', limitsOf(limits), [provenance({ hostlat }, []), responsibleOf(limits), fields]) :
		documentSection(entry, title, [
			verdictOf(doc), sentences(lines, Array.isArray(verdict) ? 'verdict' : 'findings'), provenance({ hostlat }, []), limitsOf(limits), responsibleOf(limits), fields,
		]);
}

// A result that is not as expected must not take the others with it.
function sectionOf(entry) {
	try {
		return (KINDS[entry.command] || otherSection)(entry);
	} catch (error) {
		console.error(error);
		return documentSection(entry, entry.command, [
			el('p', { class: 'bad' }, `This result could not be drawn (${error.message}); its fields:`), anything(entry.document),
		]);
	}
}

// In the order in which people ask: when, why, which messages, which connections.
const ORDER = ['fleet', 'compare', 'load', 'diagnose', 'conns', 'explain', 'watch', 'record'];
const rank = command => ORDER.includes(command) ? ORDER.indexOf(command) : ORDER.length;

const isComparison = g => g.entries.some(e => e.command === 'compare');

// A file is a group; a comparison stands before what it compares.
function groupsOf(data, links) {
	const groups = list(data.files).map(f => ({ entries: entriesOf(object(f), links) }));
	groups.forEach(g => g.entries.forEach(e => { e.alone = g.entries.length === 1; }));
	return joinLines(groups).sort((a, b) => isComparison(b) - isComparison(a));
}

const costsOf = e => e.command === 'diagnose' ? [...causesOf(e.document), ...records(object(e.document.requests).causes)].map(c => [text(c.cause), c.total_ns]) :
	e.command === 'compare' ? records(e.document.causes).map(c => [text(c.cause), (num(c.a_ns) || 0) + (num(c.b_ns) || 0)]) : [];

function groupNode({ entries, series }) {
	const sorted = [...entries].sort((a, b) => rank(a.command) - rank(b.command));
	const sections = [series && series.length > 1 ? seriesSection(series) : null, ...sorted.map(sectionOf)], how = entries[0].how;
	return el('article', null, [cardOf(entries), sections, how.length ? el('details', { class: 'how', id: idOf('measured') }, [
		el('summary', null, 'How it was measured'), how]) : null]);
}

// Distributions of several results in one plot.
function overlay(entries) {
	const lines = [];
	for (const e of entries) {
		const of = e.name;
		if (e.command === 'diagnose' && isObject(object(e.document.latency).all))
			lines.push({ ...e.document.latency.all, name: `${of}: messages` });
		else if (e.command === 'load' && isObject(e.document.histogram))
			lines.push({ name: `${of}: requests`, buckets: e.document.histogram.buckets });
	}
	return lines.length > 1 ? distributionPlot('overlay', 'All runs', lines.slice(0, 16).map((l, i) => ({ ...l, colour: i % 8, dash: i > 7 }))) : null;
}

function leftOut(files) {
	return files.length ? el('ul', { class: 'lead bad' }, files.map(f => el('li', null,
		`${text(f.name)} is missing here, it is damaged: line ${count(f.line)}, column ${count(f.column)}: ${text(f.what)}`))) : null;
}

const dark = matchMedia('(prefers-color-scheme: dark)');
let chosen = null;

function applyTheme(theme) {
	document.documentElement.dataset.theme = theme;
	updateAll();
}

const theme = () => chosen || (dark.matches ? 'dark' : 'light');

function head(title, links) {
	const button = el('button', { type: 'button', class: 'tools', 'aria-label': 'Light or dark', click: () => {
		chosen = theme() === 'dark' ? 'light' : 'dark';
		name();
		applyTheme(chosen);
	} });
	const name = () => { button.textContent = theme() === 'dark' ? 'light' : 'dark'; };
	name();
	dark.addEventListener('change', () => { name(); applyTheme(theme()); });
	const twice = words => links.filter(l => l[1] === words).length > 1;
	document.getElementById('top').append(el('h1', null, title),
		el('nav', { 'aria-label': 'Results' }, links.map(([id, words, of]) =>
			el('a', { href: `#${id}` }, twice(words) ? `${words} of ${of}` : words))), button);
}

// Goes to what the page's address names: a section, also a folded one, or a message.
function visit() {
	const name = decodeURIComponent(location.hash.slice(1)), at = name.lastIndexOf('/');
	const diagnosis = diagnoses.find(d => d.entry.id === name.slice(0, at));
	const message = diagnosis && diagnosis.examples.find(m => text(m.id) === name.slice(at + 1)), section = document.getElementById(name);
	if (message)
		return diagnosis.open(message);
	for (let node = section; node; node = node.parentElement)
		if (node.tagName === 'DETAILS')
			node.open = true;
	if (section)
		section.scrollIntoView();
}

function follow() {
	addEventListener('hashchange', visit);
	let width = innerWidth, waiting = null;
	addEventListener('resize', () => {
		clearTimeout(waiting);
		waiting = setTimeout(() => {
			if (innerWidth !== width && !printing) {
				width = innerWidth;
				updateAll();
			}
		}, 120);
	});
	// Plots take their room when it is there.
	document.addEventListener('toggle', e => {
		const inside = plots.filter(p => e.target.contains(p.node));
		if (e.target.open && inside.length)
			inside.forEach(p => p.update());
	}, true);
	// Paper is white, and as wide as it is: plots are drawn for it before the browser lays it out.
	const paper = on => {
		printing = on;
		document.documentElement.toggleAttribute('data-paper', on);
		for (const d of document.querySelectorAll('details.evidence'))
			d.open = on;
		applyTheme(on ? 'light' : theme());
	};
	addEventListener('beforeprint', () => paper(true));
	addEventListener('afterprint', () => paper(false));
}

function start() {
	const data = JSON.parse(document.getElementById('data').textContent);
	document.documentElement.dataset.theme = theme();
	readWords(data.words);
	const links = [], groups = groupsOf(data, links), entries = groups.flatMap(g => g.entries);
	styleCauses(entries.flatMap(costsOf));
	const nodes = groups.map(groupNode), all = overlay(entries), main = document.getElementById('main');
	// Beside a comparison, or below everything: who reads one result has no use for it.
	const place = all && groups.length > 1 ? [together([all])] : [], compared = groups.some(isComparison) ? 1 : nodes.length;
	main.append(...[leftOut(list(data.left_out)), ...nodes.slice(0, compared), ...place, ...nodes.slice(compared)].filter(Boolean));
	const title = text(data.title) || titleOf(groups);
	document.title = title;
	head(title, links);
	explainWords();
	updateAll();
	follow();
	visit();
	// When the screen is full, for whoever wants to know how long that took.
	requestAnimationFrame(() => requestAnimationFrame(() => {
		performance.mark('drawn');
		document.documentElement.dataset.drawn = Math.round(performance.now());
	}));
}

start();
