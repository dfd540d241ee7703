// SPDX-License-Identifier: Apache-2.0
// From the data to the page.
const KINDS = {
	load: loadSection, watch: watchSection, record: watchSection, diagnose: diagnoseSection, conns: connsSection,
	compare: compareSection,
};

// A result of several, as explain makes it, is taken apart into its own.
function entriesOf(file, links) {
	const whole = object(file.document), about = object(whole.hostlat);
	const entry = (document, command) => ({
		document, command, name: text(file.name), host: text(object(document.hostlat || about).host), links,
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
	return documentSection(entry, title, [
		verdictOf(doc), sentences(lines, Array.isArray(verdict) ? 'verdict' : 'findings'), provenance({ hostlat }, []),
		limitsOf(limits), members(isObject(limits) || limits === undefined ? rest : { ...rest, limits }),
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

function follow() {
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
	// Paper is white.
	addEventListener('beforeprint', () => { printing = true; applyTheme('light'); });
	addEventListener('afterprint', () => { printing = false; applyTheme(theme()); });
}

function start() {
	const data = JSON.parse(document.getElementById('data').textContent);
	document.documentElement.dataset.theme = theme();
	const links = [], entries = list(data.files).flatMap(f => entriesOf(object(f), links));
	const main = document.getElementById('main');
	const nodes = entries.map(sectionOf), all = overlay(entries);
	main.append(...[leftOut(list(data.left_out)), all && together([all]), ...nodes].filter(Boolean));
	head(text(data.title), links);
	updateAll();
	follow();
	// When the screen is full, for whoever wants to know how long that took.
	requestAnimationFrame(() => requestAnimationFrame(() => {
		performance.mark('drawn');
		document.documentElement.dataset.drawn = Math.round(performance.now());
	}));
}

start();
