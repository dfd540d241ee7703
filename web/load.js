// SPDX-License-Identifier: Apache-2.0
// A run of the load generator.
const FROM = { intended: 'from the intended send', actual: 'from the actual send', kernel: 'by the kernel\u2019s stamps' };
const PARTS = ['client_queue_ns', 'transmit_ns', 'wire_server_ns', 'receive_ns', 'wakeup_ns', 'unexplained_ns'];

function loadSection(entry) {
	const doc = entry.document, latency = object(doc.latency);
	const rows = Object.keys(FROM).filter(name => isObject(latency[name])).map(name => ({ from: FROM[name], ...latency[name] }));
	const missing = Object.keys(FROM).filter(name => latency[name] === null).map(name => FROM[name]);
	const requests = object(doc.requests), rate = object(doc.rate), histogram = object(doc.histogram);
	const [curve, over] = [overTimePlot(doc), overLoadPlot(doc)];
	return documentSection(entry, 'Load', [
		together([over, curve, distributionPlot('load', 'Latency of requests', [{
			name: FROM[histogram.of] || text(histogram.of) || 'requests', colour: 0, buckets: histogram.buckets,
			max_ns: object(latency[histogram.of]).max_ns, band: records(doc.ccdf),
		}], records(doc.ccdf).some(r => known(r.hi)) ? 'with its confidence band' : ''), partsPlot(records(doc.parts))]),
		runsOf(doc),
	], [
		verdictOf(doc), sentences(list(doc.findings), 'findings'), reasonsOf(doc),
		provenance(doc, [
			['requests completed', requests.completed, undefined, null, 'completed'],
			['failed', requests.failed, undefined, num(requests.failed) ? 'warn' : null, 'failed'],
			['unsent', requests.unsent, undefined, num(requests.unsent) ? 'warn' : null, 'unsent'],
			['rate asked for', rate.target, known(rate.target) ? `${count(rate.target)}/s` : NA],
			['rate offered', rate.offered, known(rate.offered) ? `${count(rate.offered)}/s` : NA],
			['rate reached', rate.achieved, known(rate.achieved) ? `${count(rate.achieved)}/s` : NA],
		]),
		together([neededPlot(doc)]),
		rows.length ? el('section', null, [el('h3', null, 'Quantiles with their intervals'), table(rows, [
			['from', 'latency'], ['count'], ['effective_count', 'effective'], ['mean_ns'], ...QUANTILE_COLUMNS(rows), ['max_ns'],
		], { name: 'latency' })]) : null,
		missing.length ? el('p', { class: 'quiet' }, `Not measured: ${missing.join(', ')}.`) : null,
		!records(doc.parts).length ? null : titled('Where the time went', records(doc.parts), [['of'], ['count'], ['mean_ns'], ...PARTS.map(name => [name])], { name: 'load-parts' }),
		!records(doc.gates).length ? null : titled('Gates', records(doc.gates), [['name'], ['statistic'], ['threshold'], ['p'], {
			name: 'pass', field: 'pass', value: r => r.pass, show: v => v === null || v === undefined ? NA : v ? 'pass' : 'fail',
		}], { name: 'gates' }),
		allFields(doc),
	]);
}

// Each run of several: at other rates, or again.
const runsOf = doc => records(doc.runs).length ? titled('Runs', records(doc.runs), [['rate'], ['achieved', 'reached'], ['count', 'requests'], ['p50_ns'], ['p90_ns'],
	['p99_ns'], ['p999_ns', 'p99.9'], ['lo_ns', 'interval from'], ['hi_ns', 'to'], ['verdict'], ['reasons']], { name: 'runs' }) : null;

// Parts of the mean; what is not known of one is left out of its bar, and said.
function partsPlot(parts) {
	const rows = parts.filter(r => known(object(r).mean_ns));
	const names = PARTS.filter(name => rows.some(r => known(r[name])));
	const unknown = PARTS.filter(name => !names.includes(name)).map(plain);
	return rowsPlot({
		name: 'load-parts', title: 'Mean latency by part', rows, label: r => text(r.of), key: r => text(r.of),
		note: unknown.length ? `not measured: ${unknown.join(', ')}` : '', axis: 'time',
		legend: legend(names.map(name => ({ name: plain(name), shape: 'square', colour: partColour(name) }))),
		x: p => linear(0, Math.max(...rows.map(r => num(r.mean_ns))), p.left, p.right),
		words: r => names.map(name => `${plain(name)} ${duration(r[name])}`).join('\n'),
		paint: (r, x, y) => {
			let at = 0;
			return names.filter(name => num(r[name]) > 0).map(name => {
				const from = at;
				at += num(r[name]);
				return svg('rect', { x: x(from), width: Math.max(0.5, x(at) - x(from)), y: y - 6, height: 12, fill: colour(partColour(name)) });
			});
		},
	});
}

const partColour = name => name === 'unexplained_ns' ? 8 : partColours(PARTS.indexOf(name));

const MARKS = [
	{ field: 'warmup', sign: 'w', name: 'warm-up' }, { field: 'disturbed', sign: 'g', name: 'gaps of this host' },
	{ field: 'look', sign: 'L', name: 'interim analysis', at: 'end' },
];

function overTimePlot(doc) {
	const rows = records(doc.over_time), percentile = num(object(doc.method).percentile);
	const tail = percentile === null ? 'tail' : quantile(percentile / 100);
	const lines = [{ field: 'tail_ns', name: tail, colour: TAIL }, { field: 'p50_ns', name: 'p50', colour: MEDIAN, dash: true }];
	return xyPlot({
		name: 'load-over-time', title: 'Latency over time', wide: true, rows, x: 'from_ns', end: 'to_ns', axis: 'time', showX: tickTime,
		lines, marks: MARKS,
		note: MARKS.filter(m => rows.some(r => r[m.field] === true)).map(m => `${m.sign} ${m.name}`).join(', '),
		series: lines.map(l => ({ name: l.name, shape: l.dash ? 'bar' : 'square', colour: l.colour })),
		words: r => [
			`${duration(r.from_ns)} to ${duration(r.to_ns)}: ${count(r.count)} requests${num(r.failed) ? `, ${count(r.failed)} failed` : ''}`,
			`${tail} ${duration(r.tail_ns)}, p50 ${duration(r.p50_ns)}`, `this host stood still for ${percent(r.gap_share)}`,
			...MARKS.filter(m => r[m.field] === true).map(m => m.name),
		].join('\n'),
	});
}

const BEHIND = [{ field: 'p50_ns', name: 'p50', colour: 'var(--p2)', dash: '2 3' }, { field: 'p90_ns', name: 'p90', colour: 'var(--p0)', dash: '5 3' },
	{ field: 'p99_ns', name: 'p99', colour: 'var(--p4)' }, { field: 'p999_ns', name: 'p99.9', colour: 'var(--p3)', dash: '8 3' }];

// Runs at several rates; runs at one rate have no axis.
function overLoadPlot(doc) {
	const rows = records(doc.runs), rates = new Set(rows.map(r => num(r.rate)));
	const name = rows.length ? quantile(rows[0].q) : '';
	const behind = BEHIND.filter(l => rows.some(r => num(r[l.field]) > 0) && l.name !== name);
	return rates.size < 2 ? null : xyPlot({
		name: 'load-over-load', title: 'Latency over load', rows, x: 'rate', axis: 'requests per second', showX: count,
		lines: [{ field: 'ns', name, colour: 0 }], behind, lo: 'lo_ns', hi: 'hi_ns', isBad: r => r.verdict !== 'ok',
		note: `${name} of each run with its interval`,
		series: [{ name, label: `${name}; hollow: not sound`, shape: 'circle', colour: 0 }, ...behind.map(l => ({ name: l.name, shape: 'bar', colour: l.colour }))],
		words: r => [`${count(r.rate)}/s: ${name} ${duration(r.ns)}`,
			known(r.hi_ns) ? `${known(r.lo_ns) ? `${duration(r.lo_ns)} to` : 'at most'} ${duration(r.hi_ns)}` : 'no interval',
			[text(r.verdict), text(r.reasons)].filter(Boolean).join(': ')].join('\n'),
	});
}

// The requests that each percentile's interval needs; the line is at the number that there were.
function neededPlot(doc) {
	const rows = records(doc.sampling).filter(r => num(r.needed) > 0 && num(r.count) > 0);
	const unknown = records(doc.sampling).filter(r => num(r.needed) === null).map(r => quantile(r.q)).join(', ');
	const enough = r => num(r.needed) <= num(r.count);
	return rowsPlot({
		name: 'load-needed', title: 'Requests needed for an interval', rows, label: r => quantile(r.q), key: r => quantile(r.q),
		note: rows.length ? `the line is at the ${count(rows[0].count)} that there were${unknown && `; not known for ${unknown}`}` : '',
		axis: 'requests', show: count,
		aside: r => enough(r) ? percent(num(r.needed) / num(r.count)) : 'too few', asideTitle: 'of them',
		x: p => logarithmic(1, Math.max(...rows.flatMap(r => [num(r.needed), num(r.count)])) * 1.2, p.left, p.right),
		words: r => `${quantile(r.q)} needs ${count(r.needed)} requests; there were ${count(r.count)}`,
		paint: (r, x, y) => [
			svg('rect', { x: x(1), width: Math.max(1, x(num(r.needed)) - x(1)), y: y - 6, height: 12, fill: enough(r) ? colour(0) : 'var(--bad)' }),
			svg('line', { x1: x(num(r.count)), x2: x(num(r.count)), y1: y - ROW_HEIGHT / 2, y2: y + ROW_HEIGHT / 2, stroke: 'var(--ink)', 'stroke-width': 2 }),
		],
	});
}
