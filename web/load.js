// SPDX-License-Identifier: Apache-2.0
// A run of the load generator.
const FROM = { intended: 'from the intended send', actual: 'from the actual send', kernel: 'by the kernel\u2019s stamps' };
const PARTS = ['client_queue_ns', 'transmit_ns', 'wire_server_ns', 'receive_ns', 'wakeup_ns', 'unexplained_ns'];

function loadSection(entry) {
	const doc = entry.document, latency = object(doc.latency);
	const rows = Object.keys(FROM).filter(name => isObject(latency[name])).map(name => ({ from: FROM[name], ...latency[name] }));
	const missing = Object.keys(FROM).filter(name => latency[name] === null).map(name => FROM[name]);
	const requests = object(doc.requests), rate = object(doc.rate), histogram = object(doc.histogram);
	return documentSection(entry, 'Load', [
		verdictOf(doc), sentences(list(doc.findings), 'findings'), reasonsOf(doc),
		provenance(doc, [
			['requests completed', requests.completed, undefined, null, 'completed'],
			['failed', requests.failed, undefined, num(requests.failed) ? 'warn' : null, 'failed'],
			['unsent', requests.unsent, undefined, num(requests.unsent) ? 'warn' : null, 'unsent'],
			['rate asked for', rate.target, known(rate.target) ? `${count(rate.target)}/s` : NA],
			['rate offered', rate.offered, known(rate.offered) ? `${count(rate.offered)}/s` : NA],
			['rate reached', rate.achieved, known(rate.achieved) ? `${count(rate.achieved)}/s` : NA],
		]),
		together([distributionPlot('load', 'Latency of requests', [{
			name: FROM[histogram.of] || text(histogram.of) || 'requests', colour: 0, buckets: histogram.buckets,
			max_ns: object(latency[histogram.of]).max_ns,
		}]), partsPlot(records(doc.parts))]),
		rows.length ? el('section', null, [el('h3', null, 'Quantiles with their intervals'), table(rows, [
			['from', 'latency'], ['count'], ['effective_count', 'effective'], ['mean_ns'], ...QUANTILE_COLUMNS(rows), ['max_ns'],
		], { name: 'latency' })]) : null,
		missing.length ? el('p', { class: 'quiet' }, `Not measured: ${missing.join(', ')}.`) : null,
		titled('Where the time went', records(doc.parts), [['of'], ['count'], ['mean_ns'], ...PARTS.map(name => [name])], { name: 'load-parts' }),
		titled('Gates', records(doc.gates), [['name'], ['statistic'], ['threshold'], ['p'], {
			name: 'pass', field: 'pass', value: r => r.pass, show: v => v === null || v === undefined ? NA : v ? 'pass' : 'fail',
		}], { name: 'gates' }),
		allFields(doc),
	]);
}

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

const partColour = name => name === 'unexplained_ns' ? 8 : PARTS.indexOf(name);
