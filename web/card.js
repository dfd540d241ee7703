// SPDX-License-Identifier: Apache-2.0
// The top of a result: the verdict, how far it can be trusted, what to do; and what was measured where.
const CONFIDENCE = { sound: 'good', indicative: 'warn', unusable: 'bad' };
const OF_VERDICT = { ok: 'sound', sound: 'sound', partial: 'indicative', 'n/a': 'unusable' };
const LEADING = ['fleet', 'explain', 'compare', 'diagnose', 'load', 'conns', 'watch', 'record'];
const TODO_MAX = 3;
const STAGES_FROM = ['watch', 'record']; // results whose number is a stage's

const part = (entries, command) => object((entries.find(e => e.command === command) || {}).document);
const leading = entries => LEADING.map(name => entries.find(e => e.command === name)).find(Boolean) || entries[0];

// The load generator says it; the others only have a verdict.
function confidenceOf(entries) {
	const lead = leading(entries).document, own = entries.map(e => e.document.confidence).find(c => CONFIDENCE[c]);
	const word = lead.command !== 'compare' && own ? own : OF_VERDICT[lead.verdict];
	return word || OF_VERDICT[part(entries, 'diagnose').verdict] || null;
}

// The first reason why the result is not sound.
const whyOf = entries => text(object(entries.flatMap(e => records(e.document.reasons)).find(r => r.message)).message);

const quantileOf = (rows, q) => records(rows).find(r => num(r.q) === q);

// The row with the most messages, of the last stage: the headline is about it.
const lastStage = rows => rows.reduce((last, r) => last && last.stage === r.stage && num(last.count) >= num(r.count) ? last : r, null);

// The number that people ask about: [what, value, its interval]
function numberOf(entries) {
	const lead = leading(entries), doc = lead.document, latency = object(part(entries, 'load').latency);
	if (lead.command === 'compare') {
		const ofRequests = quantileOf(object(doc.load).quantiles, 0.99), row = ofRequests || quantileOf(doc.quantiles, 0.99);
		return row && known(row.a_ns) && known(row.b_ns) ? [`p99 of the ${ofRequests ? 'requests' : 'messages'}, A \u2192 B${row.significant ? '' : ' (may be chance)'}`, `${duration(row.a_ns)} \u2192 ${duration(row.b_ns)}`,
			known(row.lo_ns) && known(row.hi_ns) ? `by ${signed(row.difference_ns, duration)} [${signed(row.lo_ns, duration)}, ${signed(row.hi_ns, duration)}]` : ''] : null;
	}
	for (const [what, rows] of [['requests', object(latency.intended || latency.actual).quantiles], ['messages', object(object(part(entries, 'diagnose').latency).all).quantiles]]) {
		const row = quantileOf(rows, 0.99);
		if (row && known(row.ns))
			return [`p99 of the ${what}`, duration(row.ns), interval(row).trim()];
	}
	const runs = records(doc.runs).filter(r => r.verdict === 'ok' && known(r.ns) && known(r.rate)).sort((a, b) => num(b.rate) - num(a.rate));
	if (runs.length)
		return [`${quantile(runs[0].q)} at ${count(runs[0].rate)}/s, the highest rate with a sound one`, duration(runs[0].ns), interval(runs[0]).trim()];
	const stage = STAGES_FROM.includes(lead.command) ? lastStage(stageRows(doc).filter(r => r.direction !== 'egress' && num(r.count) > 0)) : null;
	const slow = stage && quantileOf(stage.quantiles, 0.99);
	if (slow && known(slow.ns))
		return [`p99 to ${stageName(stage)}, the last stage`, duration(slow.ns), ''];
	const totals = object(doc.totals);
	return lead.command === 'conns' && known(totals.with_problems) ? ['connections with problems', `${count(totals.with_problems)} of ${count(totals.connections)}`, ''] : null;
}

// Causes of what people ask about: of the slow requests, where they were joined to messages, else of the slow messages.
function costlyOf(entries) {
	const doc = part(entries, 'diagnose'), joined = records(object(doc.requests).causes);
	return joined.length ? joined : records(doc.causes);
}

const ADVICE = /^To do: /;

function findingsOf(doc) {
	const own = [...(Array.isArray(doc.verdict) ? doc.verdict : []), ...list(doc.findings)];
	return (own.length ? own : [doc.headline]).filter(Boolean).map(l => isObject(l) ? text(l.message || l.text) || text(l) : text(l));
}

// The headline first, as hostlat wrote it; without what is to be done, which has a place of its own.
function sentencesOf(entries) {
	const lead = leading(entries), own = text(lead.document.headline);
	const all = findingsOf(lead.document).filter(s => s && !ADVICE.test(s));
	if (own)
		return [own, ...all.filter(s => s !== own)];
	// A result of an older hostlat: what explains the tail is the sentence; how long it is, is the number.
	const costliest = [costlyOf(entries)[0], records(part(entries, 'diagnose').causes)[0]].filter(Boolean);
	const phrases = costliest.flatMap(c => (WORDS.get(c.cause) || []).map(w => w.phrase).filter(Boolean));
	const first = lead.command === 'explain' && phrases.map(p => all.find(s => s.includes(p))).find(Boolean) || all[0];
	return first ? [first, ...all.filter(s => s !== first)] : [];
}

// [word, remedy] of what was found: advice of the result, then of the causes that cost most, then of the reasons.
function todoOf(entries) {
	const found = new Map(), put = (word, words) => words && !found.has(word || words) && found.set(word || words, [word, words]);
	const told = new Set(['expected', 'offset', 'application', 'unexplained']);
	for (const s of findingsOf(leading(entries).document).filter(s => ADVICE.test(s)))
		put('', sentence(s.replace(ADVICE, '')));
	for (const g of records(part(entries, 'fleet').groups))
		put(text(g.problem), text(g.advice));
	for (const p of records(part(entries, 'conns').problems).filter(p => p.harmful === true))
		put(text(p.class), text(p.advice) || remedy(text(p.class)));
	for (const c of [...costlyOf(entries), ...records(part(entries, 'diagnose').causes)].filter(c => num(c.share) >= 0.2 && !told.has(c.cause)))
		put(text(c.cause), remedy(text(c.cause)));
	for (const e of entries)
		for (const r of records(e.document.reasons))
			put(text(r.code), remedy(text(r.code)));
	return [...found.values()].slice(0, TODO_MAX);
}

function copyButton(words, what, give) {
	const button = el('button', { type: 'button', class: 'copy', 'data-copy': what, click: async () => {
		await copyText(give());
		button.textContent = 'copied';
		setTimeout(() => { button.textContent = words; }, 1500);
	} }, words);
	return button;
}

// A page from a file may not have the clipboard's interface.
async function copyText(words) {
	try {
		await navigator.clipboard.writeText(words);
	} catch {
		const area = el('textarea', { class: 'copied', 'aria-hidden': 'true' }, words);
		document.body.append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
	document.documentElement.dataset.copied = words;
}

function cardWords(card, markdown) {
	const bold = markdown ? s => `**${s}**` : s => s, item = markdown ? '- ' : '* ';
	return [
		bold(card.sentences[0] || card.title), '',
		...(card.number ? [`${card.number[0]}: ${bold(card.number[1])} ${card.number[2]}`.trim()] : []),
		...(card.confidence ? [`Confidence: ${card.confidence}`] : []),
		...card.sentences.slice(1).map(s => item + s),
		...(card.todo.length ? ['', 'To do:', ...card.todo.map(([word, words]) => `${item}${word ? `${word}: ` : ''}${words}`)] : []),
		'', card.strip.filter(f => f.value !== NA).map(f => `${f.name} ${markdown && f.command ? `\`${f.value}\`` : f.value}`).join(', '), '',
	].join('\n').replace(/\u00a0|\u202f/g, ' ');
}

// A number stays with its unit.
const kept = words => words.replace(/(\d) (?=(?:%|ns|\u00b5s|ms|s)(?![\w]))/g, '$1\u00a0');
const todoList = todo => todo.length ? el('ul', { class: 'todo' }, todo.map(([word, words]) => el('li', null, word ? [term(word), `: ${words}`] : words))) : null;

// One sentence, and below it a line each: the number, how far it can be trusted, what to do. All else is folded.
function cardNode(card) {
	const [first, ...more] = card.sentences, [todo, ...others] = card.todo;
	const line = (name, value) => el('div', null, [el('dt', null, name), el('dd', null, value)]);
	const folded = [more.length ? `${more.length} finding${more.length > 1 ? 's' : ''}` : '', others.length ? `${others.length} more to do` : ''].filter(Boolean).join(', ');
	return el('div', { class: 'card', 'data-card': card.command }, [
		el('p', { class: 'first' }, kept(first || `${card.title} This result has no findings.`)),
		el('dl', null, [
			card.number ? line(card.number[0], [el('span', { 'data-field': 'number' }, card.number[1]), card.number[2] ? ` ${card.number[2]}` : '']) : null,
			card.confidence ? line('confidence', [el('span', { class: CONFIDENCE[card.confidence], 'data-field': 'confidence' }, term(card.confidence)),
				card.why ? `: ${card.why}` : '']) : null,
			todo ? line('what to do', todoList([todo])) : null,
		]),
		folded ? el('details', { class: 'evidence' }, [el('summary', null, folded),
			more.length ? el('ul', { class: 'lead', 'data-field': 'findings' }, more.map(s => el('li', null, s))) : null,
			others.length ? [el('p', { class: 'quiet' }, 'Also to do:'), todoList(others)] : null]) : null,
		el('p', { class: 'tools' }, [copyButton('copy as text', 'text', () => cardWords(card, false)),
			copyButton('copy as Markdown', 'markdown', () => cardWords(card, true))]),
	]);
}

// ---- what was measured ----

// Options that explain does not have: it sets them itself.
const OF_LOAD = new Set(['timestamps', 'priority']);

const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`;

// The command that measures so again, of the options that hostlat wrote into the result: its secrets are in none.
function commandOf(entries) {
	const lead = leading(entries), options = records(object(part(entries, 'load').setup).options);
	if (lead.command === 'compare') {
		const sides = ['a', 'b'].map(side => object(lead.document[side])).map(s => s.file ? [text(s.file)] : records(s.recordings).map(r => text(r.file)));
		const several = sides.some(files => files.length > 1);
		return sides.every(files => files.length) ? ['hostlat', 'compare', ...sides.flatMap((files, i) => [...(several ? [i ? '--b' : '--a'] : []), ...files])].map(quoted).join(' ') : null;
	}
	const own = options.filter(o => lead.command !== 'explain' || !OF_LOAD.has(o.name));
	return own.length ? ['hostlat', lead.command === 'explain' ? 'explain' : 'load',
		...own.flatMap(o => [...(o.name ? [`--${text(o.name)}`] : []), ...(o.value === null || o.value === undefined ? [] : [text(o.value)])])].map(quoted).join(' ') : null;
}

function targetOf(entries) {
	const targets = list(object(part(entries, 'load').setup).targets).map(text);
	const files = entries.filter(e => e === leading(entries) && e.command === 'compare').flatMap(e => ['a', 'b'].map(side => text(object(e.document[side]).file))).filter(Boolean);
	return files.join(' and ') || targets.join(', ') || null;
}

function stripOf(entries) {
	const lead = leading(entries).document, load = part(entries, 'load'), setup = object(load.setup), rate = object(load.rate);
	const h = object(lead.hostlat), whole = entries.map(e => e.document).find(d => known(object(d.interval).duration_ns) || known(object(d.recording).duration_ns)) || {};
	const time = entries[0].span ? entries[0].span : known(setup.max_time_ns) ? object(load.method).elapsed_ns : object(whole.interval).duration_ns || object(whole.recording).duration_ns;
	const fleet = object(part(entries, 'fleet').fleet), hosts = known(fleet.hosts) ? `${count(fleet.hosts)} hosts` : null;
	const kernel = entries.map(e => e.document.kernel).find(Boolean);
	const connections = known(object(part(entries, 'fleet').fleet).connections) ? object(part(entries, 'fleet').fleet).connections :
		setup.connections !== undefined ? setup.connections : object(part(entries, 'conns').totals).connections;
	const facts = [
		['target', targetOf(entries)], ['rate', known(rate.achieved) ? `${count(rate.achieved)}/s` : null],
		['connections', known(connections) ? count(connections) : null], ['duration', known(time) ? duration(time) : known(fleet.to_ns) ? duration(num(fleet.to_ns) - num(fleet.from_ns)) : null],
		['host', hosts || h.host], ['kernel', kernel], ['measured', known(h.started_ns) ? instant(h.started_ns) : null],
		['by', h.version ? `hostlat ${text(h.version)}` : null],
	].map(([name, value]) => ({ name, value: value === null || value === undefined ? NA : text(value) }));
	const command = commandOf(entries);
	return command ? [...facts, { name: 'command', value: command, command: true }] : facts;
}

const stripNode = facts => el('dl', { class: 'strip' }, facts.filter(f => f.value !== NA || f.name === 'host').map(f => el('div', { 'data-fact': f.name }, [
	el('dt', null, f.name), el('dd', null, f.command ? [el('code', null, f.value), ' ', copyButton('copy', 'command', () => f.value)] : f.value)])));

function cardOf(entries) {
	const lead = leading(entries);
	const card = {
		command: lead.command, title: lead.command ? sentence(lead.command) : 'A result', number: numberOf(entries), confidence: confidenceOf(entries),
		why: whyOf(entries), sentences: sentencesOf(entries), todo: todoOf(entries), strip: stripOf(entries),
	};
	return [cardNode(card), stripNode(card.strip)];
}

// A page without a name is called by what was measured, and when.
function titleOf(groups) {
	const entries = groups.length ? groups[0].entries : [], lead = entries.length ? leading(entries) : null;
	const started = lead && object(lead.document.hostlat).started_ns;
	return lead ? [targetOf(entries) || text(object(lead.document.hostlat).host) || lead.name, known(started) ? instant(started).replace(/:\d\d UTC$/, ' UTC') : '',
		`hostlat ${lead.command}`].filter(Boolean).join(' \u00b7 ') : 'hostlat report';
}
