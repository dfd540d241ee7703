// SPDX-License-Identifier: Apache-2.0
// The host's stages, always measured: watch, and record, which prints the same.
const groupName = group => isObject(group) ? Object.entries(group).map(([k, v]) => `${k} ${shown(k, v)}`).join(', ') : '';
const stageName = s => [text(s.stage), text(s.protocol), s.origin ? `from ${text(s.origin)}` : '', groupName(s.group)].filter(Boolean).join(' ');
const LINES_MAX = 16;

// A distribution has a row's own fields; step, youngest and hol are rows of their own beside it.
function stageRows(doc) {
	const rows = list(doc.stages).filter(isObject);
	return rows.map(r => ({ ...r, of: groupName(r.group), step_p99: stepQuantile(r.step, 0.99) }));
}

function stepQuantile(step, q) {
	const found = list(object(step).quantiles).find(x => num(object(x).q) === q);
	return found ? found.ns : null;
}

function watchPlots(rows) {
	const plots = [];
	for (const direction of [...new Set(rows.map(r => r.direction))]) {
		const some = rows.filter(r => r.direction === direction && num(r.count) > 0);
		const lines = some.slice(0, LINES_MAX).map((r, i) => ({ ...r, name: stageName(r), colour: i % 8, dash: i >= 8 }));
		const note = some.length > LINES_MAX ? `${count(some.length - LINES_MAX)} more rows are in the table` : '';
		const way = direction === 'egress' ? 'sent' : 'received';
		plots.push(distributionPlot(`stages-${text(direction)}`, `Latency to each stage, ${way}`, lines, note));
		const steps = lines.filter(r => isObject(r.step)).map(r => ({ ...r.step, name: `step to ${r.name}`, colour: r.colour, dash: r.dash }));
		if (steps.length)
			plots.push(distributionPlot(`steps-${text(direction)}`, `Time since the stage before, ${way}`, steps, note));
	}
	return together(plots);
}

const SLOW_COLUMNS = [
	['read_ns', 'read at'], ['protocol'], ['total_ns'], ['wait_ns'], ['stopped_ns'],
	{ name: 'culprit', value: r => isObject(r.culprit) ? who(r.culprit) : null },
	{ name: 'reader', value: r => who(r) }, ['local'], ['remote'], ['packets'],
	{ name: 'steps', value: r => r.steps, show: v => Object.entries(object(v)).map(([k, n]) => `${k} ${duration(n)}`).join(', ') },
];

function slowOf(doc) {
	const slow = object(doc.slow);
	if (!records(slow.messages).length)
		return null;
	return titled(`Messages slower than ${duration(slow.threshold_ns)}: ${count(slow.count)}, ${count(slow.suppressed)} of them not kept`,
		records(slow.messages), SLOW_COLUMNS, { name: 'slow' });
}

function watchSection(entry) {
	const doc = entry.document, rows = stageRows(doc), time = object(doc.interval), clock = object(doc.clock);
	const stages = titled('Stages', rows, [
		['stage'], ['direction'], ['protocol'], ['origin', 'from'], ...(rows.some(r => r.of) ? [['of', 'group']] : []),
		['count'], ['min_ns'], ...QUANTILE_COLUMNS(rows), ['max_ns'], ['step_p99', 'step p99', v => duration(v)],
	], { name: 'stages', empty: 'no stage was measured' });
	const main = [watchPlots(rows), stages, culpritsOf(doc), slowOf(doc)];
	// Of a run of explain, this is how the diagnosis came about.
	const alone = entry.alone;
	return documentSection(entry, entry.command === 'record' ? 'Record' : 'Watch', alone ? main : null, [
		sentences(list(doc.findings), 'findings'), verdictOf(doc), reasonsOf(doc),
		provenance(doc, [
			['duration', time.duration_ns, undefined, null, 'duration_ns'],
			lossesOf(doc.losses, 'losses'), lossesOf(doc.drops, 'drops'), ownCost(doc),
			['sampled', doc.sample === null ? 'no' : doc.sample, doc.sample === null ? 'every packet' : shownEvidence(doc.sample)],
			['clock error', clock.error_ns, undefined, null, 'error_ns'], ['clock steps', clock.steps, undefined, num(clock.steps) ? 'warn' : null],
		]),
		alone ? null : main, oddities(doc),
		titled('Bindings', records(doc.bindings), [['stage'], ['direction'], ['protocol'], ['hook'], ['kind'], ['bound'], ['why']], { name: 'bindings' }),
		allFields(doc),
	]);
}

const culpritsOf = doc => records(doc.culprits).length ? titled('Who had the CPU', records(doc.culprits), [
	{ name: 'who', value: r => who(r) }, ...fieldsOf(records(doc.culprits)).filter(f => !['pid', 'tid', 'comm'].includes(f) &&
		records(doc.culprits).every(r => typeof r[f] !== 'object' || r[f] === null)).map(f => [f]),
], { name: 'watch-culprits' }) : null;

// Packets that were not measured, and why.
function oddities(doc) {
	const kinds = [['Drops', 'drops'], ['Losses', 'losses'], ['Excluded', 'excluded'], ['Uncovered', 'uncovered']];
	const found = kinds.filter(([, field]) => records(doc[field]).length);
	const words = doc.uncovered === null && doc.uncovered_why ? el('p', { class: 'quiet' }, `Uncovered: n/a, ${text(doc.uncovered_why)}.`) : null;
	return [el('div', { class: 'plots' }, found.map(([title, field]) => el('div', null, titled(title, records(doc[field]),
		fieldsOf(records(doc[field])).map(f => [f]), { name: field })))), words];
}
