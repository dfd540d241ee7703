// SPDX-License-Identifier: Apache-2.0
// Two runs: which causes shrank or grew, and what else was different.
// In the words of the text.
const significance = r => r.significant === true ? 'yes' : r.significant === false ? r.why === 'least-effect' ? 'too little' : 'no' : NA;
const DIFFERS = { name: 'significant', title: 'differs', field: 'significant', value: r => r.significant, show: (v, r) => significance(r) };
// As the text has it, so that both say the same.
function adjusted(value) {
	const size = num(value) === null ? null : num(value) * 100;
	if (size === null)
		return NA;
	return `${size > 0 && size < 0.05 ? '<0.1' : size > 0 && size < 0.95 ? size.toFixed(1) : size.toFixed(0)}\u00a0%`;
}
const DIFFERENCE_COLUMNS = [
	['a_ns', 'A'], ['b_ns', 'B'],
	['difference_ns', 'B \u2212 A', v => signed(v, duration)], ['lo_ns', 'interval from', v => signed(v, duration)], ['hi_ns', 'to', v => signed(v, duration)],
	['adjusted_p', 'adjusted p', adjusted], DIFFERS,
];
// p50 and p99 of each stage, as in the text.
const stageAt = (r, q) => object(quantileOf(r.quantiles, q));
const stageColumn = (q, field, title, show) => ({ name: `${field} of ${quantile(q)}`, title, field: `${field}_${quantile(q)}`, number: true, value: r => stageAt(r, q)[field], show: show || duration });
const STAGE_COLUMNS = [
	['stage'], ['direction'], ['protocol'], ['origin', 'from'], stageColumn(0.5, 'a_ns', 'p50 in A'), stageColumn(0.5, 'b_ns', 'in B'),
	stageColumn(0.99, 'a_ns', 'p99 in A'), stageColumn(0.99, 'b_ns', 'in B'), stageColumn(0.99, 'difference_ns', 'B \u2212 A', v => signed(v, duration)),
	stageColumn(0.99, 'adjusted_p', 'adjusted p', adjusted), { ...DIFFERS, value: r => stageAt(r, 0.99).significant, show: (v, r) => significance(stageAt(r, 0.99)) },
];

function differencePlot(name, title, rows, label) {
	const tone = r => r.significant !== true || !known(r.difference_ns) ? 'var(--c8)' : num(r.difference_ns) > 0 ? 'var(--bad)' : 'var(--good)';
	return rowsPlot({
		name, title, rows, label, key: label, axis: 'time', note: 'open: A, full: B; in colour where the difference is significant',
		aside: r => signed(r.difference_ns, duration), asideTitle: 'B \u2212 A', x: timeScale(r => [r.a_ns, r.b_ns]),
		words: r => `${label(r)}: A ${duration(r.a_ns)}, B ${duration(r.b_ns)}\nB \u2212 A ${signed(r.difference_ns, duration)} ` +
			`[${signed(r.lo_ns, duration)}, ${signed(r.hi_ns, duration)}], significant: ${significance(r)}`,
		paint: (r, x, y) => stepMarks(r.a_ns, r.b_ns, x, y, tone(r)),
	});
}

function compareSection(entry) {
	const doc = entry.document;
	const rows = field => records(doc[field]).filter(isObject);
	const requests = records(object(doc.load).quantiles).filter(isObject);
	const quantiles = rows('quantiles'), causes = rows('causes'), listed = rows('facts');
	const behind = some => culprits(some, 2, c => `${who(c)} ${duration(c.ns)}`);
	const changed = listed.filter(f => text(f.a) !== text(f.b));
	return documentSection(entry, 'Comparison', [
		together([
			...overlaidPlots('compare-curve-requests', 'Requests', records(object(doc.load).curve)),
			...overlaidPlots('compare-curve', requests.length ? 'Messages' : 'Latency', rows('curve')),
			differencePlot('compare-requests', 'Requests of the load generator', requests, r => quantile(r.q)),
			differencePlot('compare-quantiles', requests.length ? 'Messages' : 'Quantiles', quantiles, r => quantile(r.q)),
			differencePlot('compare-causes', 'Causes', causes, causeName),
		]),
		requests.length ? titled('Requests of the load generator', requests,
			[['q', 'quantile', v => quantile(v)], ...DIFFERENCE_COLUMNS], { name: 'compare-requests' }) : null,
		titled(requests.length ? 'Messages' : 'Quantiles', quantiles, [['q', 'quantile', v => quantile(v)], ...DIFFERENCE_COLUMNS], { name: 'compare-quantiles' }),
		titled('Causes', causes, [{ name: 'cause', value: causeName }, ...DIFFERENCE_COLUMNS,
			{ name: 'culprits_a', title: 'behind it in A', value: c => behind(c.culprits_a) },
			{ name: 'culprits_b', title: 'behind it in B', value: c => behind(c.culprits_b) }], { name: 'compare-causes' }),
		...[['New', 'new'], ['Gone', 'gone']].map(([word, key]) => rows(`${key}_commands`).length ?
			titled(`${word} in B: had CPUs that messages waited for`, rows(`${key}_commands`),
				[['command'], ['processes'], ['unit'], ['cgroup'], ['messages'], ['ns', 'time'], ['median_ns'], ['share']], { name: `${key}-commands` }) : null),
		rows('stages').length ? titled('Stages', rows('stages'), STAGE_COLUMNS, { name: 'compare-stages' }) : null,
		limitsCompared(doc.limits),
		titled(listed.length && !changed.length ? 'Set-up: nothing changed' : 'Set-up that changed', changed.length || !listed.length ? changed : listed,
			[['name'], ['a', 'A'], ['b', 'B']], { name: 'facts', empty: 'not known' }),
	], [
		verdictOf(doc), reasonsOf(doc), provenance(doc, []),
		el('div', { class: 'plots' }, [['A', doc.a], ['B', doc.b]].filter(([, v]) => isObject(v)).map(([name, v]) =>
			el('div', null, [el('h3', null, name), anything(v)]))),
		allFields(doc),
	]);
}
